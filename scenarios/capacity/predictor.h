#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/capacity/search.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::capacity {

// Predicts setups of a job, folded: each once, of all machines of the same hardware.
class Predictor {
 public:
  // `options`: jobs, force, and a belief, which is not conditioned. The job outlives it.
  Predictor(const PlannedJob& job, RunOptions options);

  // A bound that no prediction is below (bounds.h); infinite for a setup that cannot run.
  [[nodiscard]] StepBound step_at_least(const Setup& setup);

  // Several at once. Throws BackendError and Stopped.
  [[nodiscard]] std::vector<std::optional<Speed>> speeds(std::span<const Setup> setups);

  // The prediction of a setup; null: it cannot run. Precondition: it was asked for.
  [[nodiscard]] const PointOutcome* outcome(const Setup& setup) const;
  // Why the first setup that cannot run cannot; empty: all can.
  [[nodiscard]] const std::string& first_refusal() const { return first_refusal_; }

 private:
  struct Prepared {
    std::shared_ptr<const PreparedPoint> point;
    PointOutcome outcome;
    std::string refusal;
  };
  struct Known {
    std::optional<PointOutcome> outcome;
    std::string refusal;
  };

  [[nodiscard]] Setup on_first(Setup setup) const;
  [[nodiscard]] Prepared prepare(const Setup& setup) const;
  [[nodiscard]] Prepared take_prepared(const Setup& setup);
  [[nodiscard]] Known predicted(const Setup& setup);

  const PlannedJob& job_;
  RunOptions options_;
  std::string first_refusal_;
  // Setups that have bounds and no prediction yet; the oldest are dropped, and prepared again.
  std::deque<std::pair<Setup, Prepared>> prepared_;
  std::mutex mutex_;  // of those
  // By setups on the first machine of their hardware.
  std::map<Setup, Known> known_;
  std::map<Setup, StepBound> bounds_;
};

// What a setup's prediction and its input say of its steps.
[[nodiscard]] Speed speed_of(const PlannedJob& job, const Setup& setup,
                             const PointOutcome& outcome);

}  // namespace paceline::capacity
