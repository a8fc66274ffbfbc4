#include "scenarios/loader/measured_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "models/shipped_file.h"
#include "scenarios/loader/data_files/data_files.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

using settings::Key;

constexpr std::array measured_device_table{
    Key{"device", settings::Text{"a name, or a file", shipped_devices}, settings::required,
        "as `workload.device`", "v100-sxm2-16gb"},
    Key{"batch", settings::Count{1, 100'000'000}, settings::required, "samples of a pass", "32"},
    Key{"throughput", settings::Throughput{.or_tokens = true}, settings::required, "of one GPU",
        "119.6 samples/s"},
    Key{"precision", settings::OneOf{settings::texts_of<workload::Precision>}, "the scenario's",
        "that was measured"},
};

MeasuredOn read_entry(const Field& entry, const Scenario& scenario) {
  const Overrides none;
  Section section(Reader(entry, none), measured_device_table);
  const Field device = section.require("device");
  const auto precision = section.field("precision");
  MeasuredOn read{entry, load_device(device),
                  section.find<workload::Precision>("precision").value_or(scenario.precision),
                  section.get<std::uint32_t>("batch"), section.require("throughput")};
  section.finish();
  (void)throughput_of(read.throughput, scenario);
  if (scenario.network) {
    require_arithmetic(precision.value_or(device), read.device, read.precision);
  } else if (!read.is_own(scenario)) {
    const bool is_of_other_device = read.device.name != scenario.workload.device.name;
    (is_of_other_device ? device : *precision)
        .fail("is not the scenario's, and times of layers are of their own",
              "leave it out, or give a model instead of layers");
  }
  return read;
}

bool are_the_same(const MeasuredOn& one, const MeasuredOn& other) {
  return one.device.name == other.device.name && one.precision == other.precision &&
         one.batch == other.batch;
}

}  // namespace

std::span<const Key> measured_device_keys() { return measured_device_table; }

bool MeasuredOn::is_own(const Scenario& scenario) const {
  return device.name == scenario.workload.device.name && precision == scenario.precision;
}

std::string MeasuredOn::text(const Scenario& scenario) const {
  const std::string in =
      precision == scenario.precision ? "" : fmt::format(" in {}", to_text(precision));
  return fmt::format("{} on {}{}", throughput.text(), device.name, in);
}

std::vector<MeasuredOn> read_measured_on(const Field& list, const Scenario& scenario) {
  if (scenario.traced) {
    list.fail("is of devices, and a trace does not say its own", "write single_gpu_throughput");
  }
  std::vector<MeasuredOn> all;
  for (const Field& entry : list.list()) {
    MeasuredOn one = read_entry(entry, scenario);
    if (std::ranges::any_of(all, [&](const auto& other) { return are_the_same(one, other); })) {
      entry.fail("repeats a device, batch and precision of the list", "leave one of them out");
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace paceline::loader
