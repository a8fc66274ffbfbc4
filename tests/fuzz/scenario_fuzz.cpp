// Scenario files: every text is a scenario, whose prediction is a finite time, or throws
// InputError. Lines that start with "#set " (comments to YAML) are read as --set arguments.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/effort.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/resolve.h"
#include "sim/folded/predicted_point.h"
#include "tests/fuzz/memory_file.h"

namespace paceline {
namespace {

std::vector<ScenarioFile::Setting> settings_of(std::string_view text) {
  constexpr std::string_view prefix = "#set ";
  std::vector<ScenarioFile::Setting> settings;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto equals = line.find('=');
    if (!line.starts_with(prefix) || equals == std::string_view::npos) continue;
    settings.push_back({std::string(line.substr(prefix.size(), equals - prefix.size())),
                        std::string(line.substr(equals + 1))});
  }
  return settings;
}

// All points of a grid take the same road; a step of many ranks takes time and tells no more.
constexpr std::size_t points_max = 3;
constexpr std::uint32_t ranks_max = 64;
constexpr std::size_t layers_max = 1000;
constexpr double transfers_max = 1e5;

void predict(const ResolvedPoint& point) {
  if (cost::work_about(point).transfers > transfers_max) return;
  try {
    const double step = sim::predict_folded(point).totals.step.value();
    if (std::isfinite(step) && step >= 0) return;
    std::fprintf(stderr, "a step of %g seconds\n", step);
    std::abort();
  } catch (const sim::NeedsFlow&) {
  }
}

void read_and_predict(const std::string& path, std::string_view text) {
  const auto file = ScenarioFile::read(path, settings_of(text));
  for (std::size_t i = 0; i < std::min(file.point_count(), points_max); ++i) {
    (void)file.measured(i);
    const Scenario scenario = file.scenario(i);
    if (scenario.cluster.ranks().value() > ranks_max) continue;
    if (scenario.workload.layers.size() > layers_max) continue;
    predict(resolve(scenario, i, nullptr).point);
  }
}

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const paceline::MemoryFile file("scenario");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  file.set(text);
  try {
    paceline::read_and_predict(file.path(), text);
  } catch (const paceline::InputError&) {  // what bad input gets; anything else is a finding
  }
  return 0;
}
