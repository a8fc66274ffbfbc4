#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/advise/search.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::advise {

// A part of a step, of the rank that ends last: terms of one kind (scenarios/outcome/step_terms.h).
struct StepPart {
  std::string name;
  Seconds time;
};

// A collective call, and how much of the time in which it is in flight nothing hides it.
struct ExposedCall {
  std::string name;
  Bytes size;
  Seconds in_flight, exposed;
};

struct Limits {
  std::vector<StepPart> parts;     // that take any time, the longest first; together the step
  std::vector<ExposedCall> calls;  // that are exposed, the most first
  std::size_t call_count = 0;
  Seconds launches;  // of the host's thread, most of it hidden unless `host` is a part
  Seconds skew;      // of compute: the slowest rank's over the quickest's; 0 where it is rounding
  std::optional<Bytes> memory, device_memory;

  // The largest part of what several GPUs lose; one GPU's step where they lose next to nothing.
  std::string by;
};

// Precondition: the outcome has its prediction, with its trace.
[[nodiscard]] Limits limits_of(const PointOutcome& outcome);

// Less than this of the throughput is not worth a change.
inline constexpr double worth = 0.01;

// Of throughput, as a part of it: 0.1 for a tenth more, with a 90 % interval.
//
// Both scenarios share what a machine's description leaves open, so the gain is found again with
// each quantity (models/uncertain/quantities.h) of both at the same end of its interval, but for
// those of which one number says nothing of the other (uncertain::covariance), such as the speed of
// one GPU in two precisions. What no quantity has is shared, too, unless the strategies differ.
struct Gain {
  double value = 0, low = 0, high = 0;
  std::optional<uncertain::Unknown> hangs_on = std::nullopt;  // lowers it most; empty: no quantity

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
  std::string measure;  // what tells first whether it gains anything; empty: it most likely does
};

struct Advice {
  std::string name;  // of the scenario
  std::string path;
  Settings point;  // the settings that make its one point
  PointOutcome outcome;
  Limits limits;
  // Worth it, the largest gain first: the best of each option by itself, of a strategy's settings
  // the best of each; the best of several together of those that leave training as it is; the best
  // of all together.
  std::vector<Suggestion> suggestions;
  Gain most;                  // of any option, where none is worth it
  std::size_t predicted = 0;  // variants
  bool is_complete = false;   // no variant is missing
};

// On a point of a scenario (ScenarioFile::point_named). When it is to stop (stop_request.h), with
// the best of what was predicted by then. Throws InputError, BackendError, and Stopped before the
// point itself is predicted.
[[nodiscard]] Advice advise(const std::string& path, const Settings& settings,
                            const std::string& point, Strategies strategies,
                            const RunOptions& options);

void write_text(std::ostream& out, const Advice& advice);

// paceline.advice/1: SI base units, the unit in the key. One object, ends with a line break.
void write_json(std::ostream& out, const Advice& advice);

}  // namespace paceline::advise
