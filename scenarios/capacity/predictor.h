#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/capacity/search.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::capacity {

// Predicts setups of a job, each once, with fidelity closed: what folded finds, in this process.
class Predictor {
 public:
  // `options`: jobs, force, and a belief, which is not conditioned. The job outlives it.
  Predictor(const PlannedJob& job, RunOptions options);

  // Several at once. Throws BackendError and Stopped.
  [[nodiscard]] std::vector<std::optional<Speed>> speeds(std::span<const Setup> setups);

  // Of a setup that was predicted; null: it cannot run.
  [[nodiscard]] const PointOutcome* outcome(const Setup& setup) const;
  // Why a setup that was predicted cannot run.
  [[nodiscard]] const std::string& refusal(const Setup& setup) const;

 private:
  struct Known {
    std::optional<PointOutcome> outcome;
    std::string refusal;
  };

  [[nodiscard]] Known predicted(const Setup& setup);
  [[nodiscard]] const Known& known(const Setup& setup) const;

  const PlannedJob& job_;
  RunOptions options_;
  std::mutex loading_;  // documents are read by one thread at a time
  std::vector<std::pair<Setup, Known>> known_;
};

// What a prediction says of its steps.
[[nodiscard]] Speed speed_of(const PointOutcome& outcome);

}  // namespace paceline::capacity
