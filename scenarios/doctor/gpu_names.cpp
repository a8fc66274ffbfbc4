#include <stdexcept>

#include "scenarios/doctor/doctor.h"
#include "scenarios/process/line_process.h"

namespace paceline::doctor {
namespace {

// The first query of a driver that is not loaded takes some seconds.
constexpr Seconds patience_of_driver(20.0);

std::vector<std::string> names_of_driver(const std::string& nvidia_smi) {
  const BrokenPipesIgnored ignored;
  std::vector<std::string> names;
  try {
    LineProcess process(
        {"nvidia-smi", {nvidia_smi, "--query-gpu=name", "--format=csv,noheader"}, true});
    auto answer = process.listen(patience_of_driver);
    for (; answer.line; answer = process.listen(patience_of_driver)) names.push_back(*answer.line);
    if (answer.too_late) process.kill();
    if (process.end() != 0) names.clear();  // no driver
  } catch (const std::runtime_error&) {
    names.clear();
  }
  return names;
}

}  // namespace

std::vector<std::string> gpu_names(const Examination& machine) {
  if (machine.tracing.nvidia_smi) {
    auto names = names_of_driver(*machine.tracing.nvidia_smi);
    if (!names.empty()) return names;
  }
  return devices_of(machine);
}

}  // namespace paceline::doctor
