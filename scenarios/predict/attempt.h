#pragma once

#include <functional>
#include <optional>
#include <string>

#include "scenarios/predict/run_scenario.h"

namespace paceline {

// One scenario among several that are compared: where its strategy refuses the step, that is an
// answer about it and no error.
struct Attempt {
  std::optional<PointOutcome> outcome;  // with a prediction; empty: refused
  std::string refusal;                  // why

  // Nothing without an outcome. False also where nobody tells the memory of the step.
  [[nodiscard]] bool is_too_large() const;
};

// Predicts the one point of the scenario that `read` reads. Throws InputError, also where it has
// several points, BackendError where its executor fails, and Stopped. Tells no progress.
[[nodiscard]] Attempt attempt(const std::function<ScenarioFile()>& read, const RunOptions& options);

// "21.3GiB of 16.0GiB". Precondition: the memory of the step and of its device are known.
[[nodiscard]] std::string memory_text(const PointOutcome& outcome);

}  // namespace paceline
