#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/advise/limits.h"
#include "scenarios/advise/search.h"

namespace paceline::advise {

// Less than this of the throughput is not worth a change.
inline constexpr double worth = 0.01;

// Of throughput, as a part of it: 0.1 for a tenth more, with a 90 % interval.
//
// Both scenarios share what a machine's description leaves open, so the gain is found again with
// each quantity (models/uncertain/quantities.h) of both at the ends of its interval. What no
// quantity has is shared, too, unless the strategies differ.
struct Gain {
  double value = 0, low = 0, high = 0;

  [[nodiscard]] bool is_worth_it() const { return value >= worth; }
  [[nodiscard]] bool may_be_nothing() const { return low <= 0; }
};

// Precondition: both are predicted.
[[nodiscard]] Gain gain_of(const PointOutcome& before, const PointOutcome& after,
                           bool is_another_strategy);

struct Suggestion {
  std::optional<Option> option;  // empty: several together
  bool alters_training = false;
  Settings settings;    // that change, beyond those of the point
  std::string command;  // that predicts it
  PointOutcome outcome;
  Gain gain;
};

struct Advice {
  std::string name;  // of the scenario
  std::string path;
  Settings point;  // the settings that make its one point
  PointOutcome outcome;
  Limits limits;
  // Worth it, the largest gain first: the best of each option by itself; the best of several
  // together of those that leave training as it is; the best of all together.
  std::vector<Suggestion> suggestions;
  Gain most;                  // of any option, where none is worth it
  std::size_t predicted = 0;  // variants
  bool is_complete = false;   // no variant is missing
};

// On a point of a scenario: the one with `gpus` GPUs, else the last number of its sweep; of other
// axes the first value. When it is to stop (stop_request.h), with the suggestions that were found
// by then. Throws InputError, also where it does not fit `gpus`, BackendError, and Stopped before
// the point itself is predicted.
[[nodiscard]] Advice advise(const std::string& path, const Settings& settings,
                            std::optional<std::uint32_t> gpus, const RunOptions& options);

void write_text(std::ostream& out, const Advice& advice);

// paceline.advice/1: SI base units, the unit in the key. One object, ends with a line break.
void write_json(std::ostream& out, const Advice& advice);

}  // namespace paceline::advise
