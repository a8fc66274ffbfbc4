#include "models/cost/composed_step.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/run/call_times.h"

namespace paceline::cost {

ResolvedPoint composed_step(const ResolvedPoint& simulated, const Result& predicted) {
  PACELINE_EXPECTS(predicted.trace.program.operations.size() ==
                   simulated.program.operations.size());
  ResolvedPoint point;
  point.fidelity = Fidelity::closed;
  point.program = simulated.program;
  point.cluster.gpus_per_node = static_cast<std::uint32_t>(predicted.trace.classes.size());
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);  // of links that nothing crosses
  for (const RankClass& members : predicted.trace.classes) {
    point.slowdown.push_back(slowdown_of(simulated, members.ranks.front()));
  }
  const auto calls = calls_of(predicted.trace);
  std::size_t next = 0;
  for (training::Operation& operation : point.program.operations) {
    if (!operation.rank_parts.empty()) {
      std::vector<double> parts;
      for (const RankClass& members : predicted.trace.classes) {
        parts.push_back(operation.part_of(members.ranks.front()));
      }
      operation.rank_parts = std::move(parts);
    }
    auto* call = call_of(operation);
    if (call == nullptr) continue;
    call->how = training::KnownCall{calls[next++].together(), "predicted"};
    call->held = Seconds(0);  // in that time
    call->root = Rank(0);
  }
  return point;
}

}  // namespace paceline::cost
