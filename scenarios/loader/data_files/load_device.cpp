#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "models/shipped_file.h"
#include "scenarios/loader/data_files/data_files.h"
#include "scenarios/loader/data_files/shipped.h"

namespace paceline::loader {

namespace {

constexpr std::array<std::string_view, 10> device_keys{"schema",
                                                       "name",
                                                       "compute_capability",
                                                       "memory_bandwidth",
                                                       "small_kernel_time",
                                                       "multiprocessors",
                                                       "fp32_lanes",
                                                       "peak",
                                                       "attained",
                                                       "memory"};
constexpr std::array<std::string_view, 2> attained_keys{"compute", "memory"};
constexpr std::array<std::string_view, 4> precision_keys{"fp32", "tf32", "fp16", "bf16"};

// fp32 products and sums of a multiprocessor a clock: CUDA C++ Programming Guide 12 and 13,
// "Throughput of Native Arithmetic Instructions", by compute capability; 3.x by version 11.
double fp32_lanes_of(double compute_capability) {
  const auto tenths = std::lround(10 * compute_capability);
  if (tenths < 50) return 192;
  const bool has_64 = tenths == 60 || (tenths >= 70 && tenths <= 80);
  return has_64 ? 64 : 128;
}

}  // namespace

workload::Device load_device(const Field& name) {
  static const Overrides none;
  const DocumentPtr document =
      named_document(name, shipped_devices(), {"paceline.device/1", device_keys});
  Reader file(document, document->root, "", none);
  (void)file.find("schema");
  workload::Device device;
  device.name = file.require("name", "my-device").text();
  if (const auto capability = file.find("compute_capability")) {
    device.compute_capability = capability->number(1, 100);
  }
  const auto lanes = file.find("fp32_lanes");
  device.fp32_lanes = lanes ? lanes->number(1, 1024) : fp32_lanes_of(device.compute_capability);
  device.memory_bandwidth = file.require("memory_bandwidth", "900GBps").bandwidth();
  device.small_kernel_time = file.require("small_kernel_time", "5us").seconds();
  if (const auto multiprocessors = file.find("multiprocessors")) {
    device.multiprocessors = multiprocessors->number(1, 10'000);
  }
  if (const auto memory = file.find("memory")) device.memory = memory->bytes();
  Reader peak = file.map("peak");
  Reader attained = file.map("attained");
  Reader attained_compute = attained.map("compute");
  attained.expect_only(attained_keys);
  attained_compute.expect_only(precision_keys);
  if (const auto part = attained.find("memory")) device.attained_memory = part->number(0.01, 1);
  const std::pair<const char*, workload::Device::Speed*> speeds[] = {{"fp32", &device.fp32},
                                                                     {"tf32", &device.tf32},
                                                                     {"fp16", &device.fp16},
                                                                     {"bf16", &device.bf16}};
  for (const auto& [key, speed] : speeds) {
    const auto given = peak.find(key);
    if (!given) continue;
    speed->peak = given->flops_per_second();
    if (const auto part = attained_compute.find(key)) speed->attained = part->number(0.01, 1);
  }
  peak.finish();
  attained_compute.finish();
  attained.finish();
  file.finish();
  return device;
}

}  // namespace paceline::loader
