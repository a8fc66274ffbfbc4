#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/explain/calls.h"
#include "scenarios/outcome/step_terms.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::explain {

// A row of the table whose times add up to the step.
struct Term {
  std::string name;
  Seconds time;         // below 0 where it makes the step shorter
  double share = 0;     // of the step
  std::string formula;  // with its numbers filled in
  std::string source;   // of these numbers: a line of the scenario, a preset, a constant's name
  bool is_call = false;
};

// What makes the interval wide: how far the step is at either end of what one quantity may be.
struct Width {
  std::string quantity;
  double low = 0, high = 0;  // of the step: -0.1 for a tenth less
  double share = 0;          // of all squares
};

struct Explanation {
  std::string name;  // of the scenario
  std::string path;
  Settings point;  // the settings that make its one point
  PointOutcome outcome;
  Rank rank;                // whose step is explained: the first that ends last
  std::vector<Term> terms;  // together the step
  std::vector<ExplainedCall> calls;
  std::vector<Without> without;
  std::vector<Width> widths;  // the widest first
};

// So many exposed calls have a term of their own; others share one.
inline constexpr std::size_t call_terms_most = 12;

// A number to four digits.
[[nodiscard]] std::string factor_text(double factor);

// Where the prediction of one point of a scenario comes from. `point`: "gpus=32" or
// "gpus=32,training.bucket_cap=25MiB", values of axes as the file or the settings spell them; of
// axes that it does not name, and if it is empty, the last value. Throws InputError, also for a
// point that the sweep does not contain and for a strategy that refuses the step, BackendError and
// Stopped.
[[nodiscard]] Explanation explain(const std::string& path, const Settings& settings,
                                  const std::string& point, const RunOptions& options);

void write_text(std::ostream& out, const Explanation& explanation);

// paceline.explanation/1: SI base units, the unit in the key. One object, ends with a line break.
void write_json(std::ostream& out, const Explanation& explanation);

}  // namespace paceline::explain
