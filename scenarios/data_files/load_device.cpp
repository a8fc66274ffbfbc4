#include <array>
#include <cmath>
#include <utility>

#include "models/shipped_file.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/data_files/shipped.h"

namespace paceline::loader {

namespace {

constexpr std::array peak_table{
    Key{"fp32", ComputeSpeed{}, "no such arithmetic", "without tensor cores"},
    Key{"tf32", ComputeSpeed{}, "no such arithmetic", "without sparsity"},
    Key{"fp16", ComputeSpeed{}, "no such arithmetic", "without sparsity; amp's, too"},
    Key{"bf16", ComputeSpeed{}, "no such arithmetic", "without sparsity"},
};

constexpr std::array attained_compute_table{
    Key{"fp32", Number{0.01, 1}, "what measured steps say", "part of that peak"},
    Key{"tf32", Number{0.01, 1}, "what measured steps say", "part of that peak"},
    Key{"fp16", Number{0.01, 1}, "what measured steps say", "part of that peak"},
    Key{"bf16", Number{0.01, 1}, "what measured steps say", "part of that peak"},
};

constexpr std::array attained_table{
    Key{"compute", Map{rows<attained_compute_table>}, "", "parts of the peaks"},
    Key{"memory", Number{0.01, 1}, "what measured steps say", "part of `memory_bandwidth`"},
};

constexpr std::array driver_names_forms{Form{Text{"a name"}, Form::Of::list}};

constexpr std::array device_table{
    schema_key("paceline.device/1"),
    Key{"name", Text{"text"}, required, "what reports call it", "my-device"},
    Key{"compute_capability", Number{1, 100}, "not told", "CUDA's, as 8.6"},
    Key{"memory_bandwidth", Bandwidth{}, required, "of its memory", "900GBps"},
    Key{"small_kernel_time", Time{}, required,
        "of a wrapper's small kernels, with what is between them", "5us"},
    Key{"multiprocessors", Number{1, 10'000}, "not told", "that NCCL's channels hold some of"},
    Key{"fp32_lanes", Number{1, 1024}, "by `compute_capability`",
        "fp32 products and sums of a multiprocessor a clock"},
    Key{"peak", Map{rows<peak_table>}, "", "floating-point operations a second, by type"},
    Key{"attained", Map{rows<attained_table>}, "", "what training reaches of that"},
    Key{"memory", Size{}, "not told", "how much there is"},
    Key{"driver_names", Structure{"a list of names", rows<driver_names_forms>}, "its name",
        "what drivers call a shipped one, where that is another", "[NVIDIA H200]"},
};

// fp32 products and sums of a multiprocessor a clock: CUDA C++ Programming Guide 12 and 13,
// "Throughput of Native Arithmetic Instructions", by compute capability; 3.x by version 11.
double fp32_lanes_of(double compute_capability) {
  const auto tenths = std::lround(10 * compute_capability);
  if (tenths < 50) return 192;
  const bool has_64 = tenths == 60 || (tenths >= 70 && tenths <= 80);
  return has_64 ? 64 : 128;
}

}  // namespace

std::span<const Key> device_file_keys() { return device_table; }

workload::Device load_device(const Field& name) {
  const DocumentPtr document = named_document(name, shipped_devices(), device_table);
  Section file(Reader(document), device_table);
  workload::Device device;
  device.name = file.text("name");
  const auto take = [&](const char* key, double& value) {
    value = file.find<double>(key).value_or(value);
  };
  take("compute_capability", device.compute_capability);
  device.fp32_lanes = fp32_lanes_of(device.compute_capability);
  take("fp32_lanes", device.fp32_lanes);
  device.memory_bandwidth = file.get<BytesPerSecond>("memory_bandwidth");
  device.small_kernel_time = file.get<Seconds>("small_kernel_time");
  take("multiprocessors", device.multiprocessors);
  if (const auto memory = file.find<Bytes>("memory")) device.memory = *memory;
  if (const auto names = file.field("driver_names")) (void)names->list();
  Section peak = file.below("peak"), attained = file.below("attained");
  Section attained_compute = attained.below("compute");
  if (const auto part = attained.find<double>("memory")) device.attained_memory = *part;
  const std::pair<const char*, workload::Device::Speed*> speeds[] = {{"fp32", &device.fp32},
                                                                     {"tf32", &device.tf32},
                                                                     {"fp16", &device.fp16},
                                                                     {"bf16", &device.bf16}};
  for (const auto& [key, speed] : speeds) {
    const auto given = peak.find<FlopsPerSecond>(key);
    if (!given) continue;
    speed->peak = *given;
    if (const auto part = attained_compute.find<double>(key)) speed->attained = *part;
  }
  peak.finish();
  attained_compute.finish();
  attained.finish();
  file.finish();
  return device;
}

}  // namespace paceline::loader
