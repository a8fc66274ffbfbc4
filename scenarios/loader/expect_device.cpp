#include "scenarios/loader/expect_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scenarios/warnings.h"

namespace paceline::loader {

void expect_device(const PresetDevices& known, Section& workload, Scenario& scenario) {
  const auto field = workload.field("device");
  if (!field || scenario.cluster.ranks().value() == 1) return;
  const std::string device = field->text();
  if (!is_shipped_device(device) || std::ranges::find(known.devices, device) != known.devices.end())
    return;
  const std::string all = fmt::format("{}", fmt::join(known.devices, ", "));
  warn(field->location(),
       fmt::format("device \"{}\" is not one that {} contains ({}); the links are used unchanged",
                   device, known.preset, all),
       "name another preset or give cluster.intra_node");
  scenario.assumptions.add({links_of_other_device, "links", {known.preset, all, device}});
}

}  // namespace paceline::loader
