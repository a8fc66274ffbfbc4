#pragma once

#include <map>

#include "models/run/resolved_point.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// Low and high ends, as factors of what lies between.
struct RatioRange {
  double low = 1, high = 1;
};

// A point ready for an executor, and what a report needs beside its result.
struct PreparedPoint {
  ResolvedPoint point;
  Seconds one_gpu_step;     // the plain model on one GPU, without a wrapper
  double samples_per_step;  // of all ranks
  std::vector<std::string> assumptions;
  bool compute_is_measured = false;  // or given, not modelled
  Contention contention;
  workload::Device device;
  // Of calls whose time is calibrated, by operation: the ends of a 90 % interval, as parts of it.
  std::map<training::OperationId, RatioRange> call_ranges;
  // Likewise of calls that are simulated: as NCCL chose them, and others.
  RatioRange nccl_calls, simulated_calls;
};

// Builds the step of the scenario's strategy (plain on one GPU) and names the algorithm of each
// call.
[[nodiscard]] PreparedPoint resolve(const Scenario& scenario, std::uint64_t id);

// Names the algorithm and the wire of each call that has no known time, as the scenario's library
// runs it on the scenario's cluster; says what was assumed.
void name_calls(const Scenario& scenario, PreparedPoint& prepared);

// Names the algorithms that are still to be chosen, by the closed formulas, so that a prediction
// and a measurement take the same ones; says so among the assumptions.
void name_automatic_algorithms(PreparedPoint& prepared);

// The most servers, apart from its ranks, that the plan of any call asks for.
[[nodiscard]] std::uint32_t separate_servers(const ResolvedPoint& point);

}  // namespace paceline
