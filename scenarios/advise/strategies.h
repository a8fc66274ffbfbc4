#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/advise/search.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::advise {

// A point of a scenario with every strategy of the registry that builds its own step, each with the
// file's keys of it, or what holds without them.
struct StrategyComparison {
  struct Row {
    std::string_view strategy;
    Attempt attempt;
  };

  std::string scenario;         // its name
  std::vector<AxisValue> axes;  // of its sweep, but for the strategy
  std::vector<Row> rows;        // in the registry's order
  bool is_complete = false;     // no strategy is missing
};

// Of each point of each scenario's sweep, of which an axis `training.strategy` counts as one value.
// When it is to stop (stop_request.h), those begun by then, the last of them not complete. Throws
// InputError and BackendError.
[[nodiscard]] std::vector<StrategyComparison> compare_strategies(
    const std::vector<std::string>& paths, const Settings& settings, const RunOptions& options);

[[nodiscard]] bool are_complete(const std::vector<StrategyComparison>& comparisons);

// One table of all, a row a strategy; what is refused or does not fit its GPU says why.
void write_text(std::ostream& out, const std::vector<StrategyComparison>& comparisons);

// paceline.strategies/1: SI base units, the unit in the key. One object, ends with a line break.
void write_json(std::ostream& out, const std::vector<StrategyComparison>& comparisons);

}  // namespace paceline::advise
