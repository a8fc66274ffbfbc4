#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/run/step_trace.h"

namespace paceline::traces {

// When one operation ran on one rank, and not what it waited for.
struct TracedSpan {
  std::string name;
  training::OperationKind kind;
  training::LaneId lane;
  Seconds start;
  Seconds end;
  Bytes size;             // of a collective's buffer; 0 for compute
  std::string algorithm;  // of a collective, as the trace calls it
  // Of a collective, where they are known.
  std::optional<collectives::Collective> collective = std::nullopt;
  ElementSize element_size{0};
  bool is_waited_for = false;  // of a collective: known, by the compute behind it
  // Of compute: of each gradient that is ready when it ends, the elements, 0 where not recorded.
  std::vector<ElementCount> gradients = {};
};

struct TracedRanks {
  std::vector<Rank> ranks;        // ascending, at least one
  std::vector<TracedSpan> spans;  // in the order of the host, the same operations on all ranks
};

// The step that such spans belong to: the only place that infers dependencies from times;
// everything else reads Operation::after.
//
// A collective starts when the compute before it is done. Compute waits
//   - for collectives known to be waited for, right behind them;
//   - for other collectives but all-reduces before it that had ended when it began, on every rank;
//   - for all-reduces likewise, where on some rank one ended between the beginnings of the compute
//     before and this one, or this one makes no gradient ready and follows the last call. Where it
//     makes one ready, the rank must have idled for 20 us, and it have begun within 20 us.
//
// Compute takes what it took (as_it_ran), calls are known, those without a kind or a size untold.
// Precondition: at least one class; spans lie on the lanes.
[[nodiscard]] StepTrace inferred_step(std::vector<training::Lane> lanes,
                                      const std::vector<TracedRanks>& ranks);

}  // namespace paceline::traces
