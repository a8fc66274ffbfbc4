#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/predict/run_scenario.h"

namespace paceline {

// A network as its collectives see it: a message's cost beyond its bytes, and a link's bandwidth.
struct NetworkFit {
  std::string section;  // cluster.network, or cluster.intra_node where all ranks share a node
  Seconds latency;
  BytesPerSecond bandwidth;
  double residual = 0;    // of the calls, relative: a standard deviation
  std::size_t calls = 0;  // that were fitted

  // As settings of a scenario.
  [[nodiscard]] std::vector<ScenarioFile::Setting> settings() const;
};

// Fits latency and bandwidth of a scenario's network to the calls that were measured at its points:
// from when the last rank has joined a call until all are done, by logarithms; what the scenario
// says is a weak prior. Precondition: `measured` are these points, in order, with calls.
[[nodiscard]] NetworkFit fit_network(Preparer& points, const RunOptions& options,
                                     const std::vector<PointOutcome>& measured);

struct LoopResult {
  std::optional<NetworkFit> fit;  // empty: it was stopped before
  // The points that were fitted, marked so, then the others: measured and predicted by the fit.
  std::vector<PointOutcome> outcomes;
  bool is_complete = false;  // no point is missing, and none has not all
};

struct LoopOptions {
  std::vector<std::uint32_t> fitted;  // numbers of GPUs of the sweep; empty: the two least above 1
  RunOptions run;
};

// Measures points with few GPUs, fits the network to their collective calls, predicts the points
// with more, then measures those. A stop (stop_request.h) returns what was measured.
//
// Throws InputError when the sweep lacks GPUs to fit or to predict, or a measurement makes no
// calls; and as run_scenario and measure_scenario do.
[[nodiscard]] LoopResult validate_by_loop(const std::string& path,
                                          const std::vector<ScenarioFile::Setting>& settings,
                                          const LoopOptions& options);

}  // namespace paceline
