#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/cost/auto_choice.h"
#include "models/run/resolved_point.h"
#include "models/topology/fabric.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/outcome/step_terms.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::explain {

// The link that most of a call's time would be due to if only bytes took time.
struct BusiestLink {
  topology::LinkKind kind;
  std::string name;          // "NIC"
  std::string shared_by;     // "8 GPUs": by what stands on it, of this call or not
  BytesPerSecond bandwidth;  // one way, of flows
  Seconds busy;              // what the call's bytes on it take at that bandwidth
};

// What a call takes by itself, predicted alone, all ranks starting together: together `time`.
struct CallParts {
  Seconds time;
  Seconds start;             // of its library, before the first message (topology::Wire::start)
  Seconds latency;           // what it takes less where links and protocols have none
  Seconds bandwidth;         // the rest
  std::uint64_t rounds = 0;  // of its plan, one after the other
  std::optional<BusiestLink> link;
};

struct ExplainedCall {
  training::OperationId operation = 0;
  std::string name;
  collectives::Collective collective{};
  Bytes size;
  training::Group group{};
  std::string algorithm;  // or where a known time is from
  std::string chosen_by;
  // The best of those that were chosen from, by what chose, and the next one; either may be empty.
  // A library's own model is no clock: its times are not those of the prediction.
  std::optional<cost::RankedAlgorithm> chosen, next;
  // On the rank that ends last. `ready`: all that it comes after is done.
  Seconds ready, start, joined, end;
  std::string waited_for;  // what released it; empty: the start of the step
  Seconds exposed;
  Seconds together;  // from when all ranks have joined it until all are done
  Seconds held;      // of that: by compute beside it
  // nullopt: its time is known, or more calls of other sizes are exposed for longer (parts_most).
  std::optional<CallParts> parts;
};

// So many different calls are predicted alone, the longest exposed first.
inline constexpr std::size_t parts_most = 24;

// In the program's order. Precondition: the outcome is predicted of that scenario, and its trace is
// kept. Throws what predictions of single calls do.
[[nodiscard]] std::vector<ExplainedCall> calls_of_step(const Scenario& scenario,
                                                       const PointOutcome& outcome,
                                                       const Timeline& timeline);

// Predicts a call of a point by itself: as it is, and without latencies. nullopt: its time is
// known, or it is refused. Throws BackendError and Stopped.
[[nodiscard]] std::optional<CallParts> parts_of(const ResolvedPoint& point,
                                                const training::CollectiveCall& call);

using Settings = std::vector<ScenarioFile::Setting>;

struct Without {
  std::string what;             // "latency of links"
  Settings settings;            // beyond those of the point; empty: the step that ran, changed
  std::optional<Seconds> step;  // nullopt: refused
  std::string refusal;          // why
};

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
