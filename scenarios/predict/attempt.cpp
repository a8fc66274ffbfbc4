#include "scenarios/predict/attempt.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/process/stop_request.h"

namespace paceline {

bool Attempt::is_too_large() const {
  return outcome && outcome->memory && outcome->device_memory &&
         outcome->memory->total() > *outcome->device_memory;
}

Attempt attempt(const std::function<ScenarioFile()>& read, const RunOptions& options) {
  try {
    const ScenarioFile file = read();
    if (file.point_count() > 1) {
      throw InputError({file.path(), 0, 0}, fmt::format("has {} points", file.point_count()),
                       "give one value of each axis: --set gpus=8");
    }
    RunOptions quietly = options;
    quietly.progress = nullptr;
    std::vector<PointOutcome> outcomes = run_scenario(file, quietly);
    const PointOutcome& outcome = outcomes.front();
    if (outcome.failure && outcome.failure->cause == FailureCause::stopped) throw Stopped();
    if (outcome.failure) throw BackendError("paceline-sim", outcome.failure->why);
    return {std::move(outcomes.front()), ""};
  } catch (const StrategyRefusal& refusal) {
    return {std::nullopt, refusal.reason()};
  }
}

std::string memory_text(const PointOutcome& outcome) {
  return in_gibibytes(outcome.memory->total()) + " of " + in_gibibytes(*outcome.device_memory);
}

}  // namespace paceline
