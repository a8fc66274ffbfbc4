#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/claims/claim.h"
#include "scenarios/predict/attempt.h"

namespace paceline::claims {

// A claim, tried at one condition.
struct Trial {
  std::vector<std::size_t> at;  // by axis, the index of its value
  std::optional<double> value;  // of the claim's quantity; empty where the condition does not count
  std::string left_out;         // why it does not
  bool holds = false;
  double exposed_before = 0;  // the part of the step before that waits for collectives
  std::string before, after;  // which settings of several were taken
};

// Predictions of scenarios of claims, each made once: several claims ask for the same ones.
class Predictions {
 public:
  explicit Predictions(RunOptions options) : options_(std::move(options)) {}

  // Of the claim's scenario with these settings, of which the last of a path holds. Throws
  // InputError, BackendError and Stopped.
  const Attempt& of(const Claim& claim, const Settings& settings);

 private:
  RunOptions options_;
  std::map<std::string, Attempt> known_;  // by all that makes the scenario
};

// Predicts the claim at every condition, in the order of its grid, the last axis fastest. A
// condition does not count where a strategy refuses it, a step does not fit its GPU, the quantity
// is that of nothing (no communication to save), or what the claim takes as given is not so.
// Throws InputError, BackendError and Stopped.
[[nodiscard]] std::vector<Trial> put_to_test(const Claim& claim, Predictions& predictions);

// Of two steps; those that are of one are of `after`. Empty where it is undefined: a part of
// nothing. Precondition: both predicted.
[[nodiscard]] std::optional<double> value_of(Quantity quantity, const PointOutcome& before,
                                             const PointOutcome& after);

// "43 %" or "2.7x".
[[nodiscard]] std::string to_text(Quantity quantity, double value);

}  // namespace paceline::claims
