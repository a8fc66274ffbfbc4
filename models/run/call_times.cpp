#include "models/run/call_times.h"

#include <algorithm>

#include "models/contract.h"

namespace paceline {

std::vector<CallTimes> calls_of(const StepTrace& trace) {
  std::vector<CallTimes> calls;
  if (trace.classes.empty()) return calls;
  for (training::OperationId id = 0; id < trace.program.operations.size(); ++id) {
    const training::Operation& operation = trace.program.operations[id];
    const auto* made = call_of(operation);
    if (made == nullptr) continue;
    const training::Interval& first = trace.classes.front().intervals[id];
    CallTimes call{operation.name, made->collective,   made->group,
                   made->size(),   made->element_size, std::string(algorithm_of(*made)),
                   first.start,    first.end,          first.end - first.start,
                   Seconds(0)};
    Seconds last_start = call.start;
    for (const RankClass& members : trace.classes) {
      const training::Interval& ran = members.intervals[id];
      call.start = std::min(call.start, ran.start);
      call.end = std::max(call.end, ran.end);
      call.transfer = std::min(call.transfer, ran.end - ran.start);
      last_start = std::max(last_start, ran.start);
    }
    call.skew = last_start - call.start;
    call.operation = id;
    calls.push_back(std::move(call));
  }
  calls.shrink_to_fit();  // reports keep those of every point
  return calls;
}

JoinedCalls::JoinedCalls(const training::StepProgram& program, std::uint32_t gpus_per_node,
                         const StepTrace& trace)
    : gpus_per_node_(gpus_per_node), last_(program.operations.size()) {
  for (training::OperationId id = 0; id < last_.size(); ++id) {
    const auto* call = call_of(program.operations[id]);
    if (call == nullptr) continue;
    for (const RankClass& members : trace.classes) {
      for (const Rank rank : members.ranks) {
        Seconds& last = last_[id].try_emplace(place_of(*call, rank)).first->second;
        last = std::max(last, members.intervals[id].start);
        if (call->group == training::Group::all) break;  // all of a class begin together
      }
    }
  }
}

std::uint32_t JoinedCalls::place_of(const training::CollectiveCall& call, Rank rank) const {
  switch (call.group) {
    case training::Group::all: return 0;
    case training::Group::node: return rank.value() / gpus_per_node_;
    case training::Group::across_nodes: return rank.value() % gpus_per_node_;
  }
  PACELINE_UNREACHABLE("a group outside the enumeration");
}

Seconds compute_spread(const StepTrace& trace) {
  if (trace.classes.empty()) return Seconds(0);
  std::vector<Seconds> computes;
  for (const RankClass& members : trace.classes) {
    computes.push_back(totals_of(trace.program, members).compute);
  }
  const auto [least, most] = std::minmax_element(computes.begin(), computes.end());
  return *most - *least;
}

}  // namespace paceline
