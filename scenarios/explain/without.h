#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/explain/calls.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::explain {

using Settings = std::vector<ScenarioFile::Setting>;

// The step predicted again without something.
struct Without {
  std::string what;             // "latency of links"
  Settings settings;            // beyond those of the point; empty: the step that ran, changed
  std::optional<Seconds> step;  // nullopt: refused
  std::string refusal;          // why
};

// A point of a scenario, as it was predicted.
struct ExplainedPoint {
  std::string path;
  Settings settings;  // that make it
  const Scenario& scenario;
  const PointOutcome& outcome;
  const std::vector<ExplainedCall>& calls;
};

// Without each of what the point has: latency of links, bandwidth of the busiest link of the
// longest exposed call, contention, stragglers, the host's cost; by another algorithm; and the step
// that ran where compute waits for no call, and where calls take no time. Throws BackendError and
// Stopped.
[[nodiscard]] std::vector<Without> without_each(const ExplainedPoint& point,
                                                const RunOptions& options);

}  // namespace paceline::explain
