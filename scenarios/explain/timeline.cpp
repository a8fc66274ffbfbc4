#include "scenarios/explain/timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace paceline::explain {
namespace {

using training::LaneKind;
using training::OperationId;
using training::OperationKind;

Seconds end_of_class(const RankClass& members) {
  Seconds end;
  for (const training::Interval& ran : members.intervals) end = std::max(end, ran.end);
  return end;
}

Counted counted_as(const training::Operation& operation, const training::Lane& lane) {
  if (operation.kind == OperationKind::launch) return Counted::launch;
  if (lane.kind == LaneKind::compute) {
    switch (operation.kind) {
      case OperationKind::optimizer: return Counted::optimizer;
      case OperationKind::copy: return Counted::copies;
      case OperationKind::input: return Counted::input;
      default: return Counted::passes;
    }
  }
  if (call_of(operation) != nullptr) return Counted::call;
  return operation.kind == OperationKind::copy ? Counted::engine_copy : Counted::wait;
}

// What goes on, and what of it counts: the least.
using Going = std::pair<Counted, OperationId>;

struct Edge {
  Seconds at;
  Going going;
  bool begins;
};

class Sweep {
 public:
  void add(Counted as, OperationId operation, Seconds start, Seconds end) {
    if (start >= end) return;
    edges_.push_back({start, {as, operation}, true});
    edges_.push_back({end, {as, operation}, false});
  }

  [[nodiscard]] std::map<Going, Seconds> times(Seconds step) {
    std::ranges::stable_sort(edges_, {}, &Edge::at);
    std::map<Going, Seconds> times;
    std::set<Going> going;
    Seconds now;
    const auto go_on = [&](Seconds until) {
      const Going counts = going.empty() ? Going{Counted::idle, 0} : *going.begin();
      if (until > now) times[counts] += until - now;
      now = std::max(now, until);
    };
    for (const Edge& edge : edges_) {
      go_on(edge.at);
      if (edge.begins) {
        going.insert(edge.going);
      } else {
        going.erase(edge.going);
      }
    }
    go_on(step);
    return times;
  }

 private:
  std::vector<Edge> edges_;
};

}  // namespace

Seconds Timeline::time_of(Counted as, OperationId operation) const {
  for (const Stretch& one : stretches) {
    if (one.as == as && one.operation == operation) return one.time;
  }
  return Seconds(0);
}

Timeline timeline_of(const StepTrace& trace, std::uint32_t gpus_per_node) {
  Timeline made;
  made.members = &*std::ranges::max_element(trace.classes, {}, end_of_class);
  made.step = end_of_class(*made.members);
  const training::StepProgram& program = trace.program;
  const JoinedCalls joined(program, gpus_per_node, trace);
  made.joined.resize(program.operations.size());
  Sweep sweep;
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    const training::Operation& operation = program.operations[id];
    const training::Interval& ran = made.members->intervals[id];
    Seconds start = ran.start;
    if (const auto* call = call_of(operation)) {
      made.joined[id] = joined.by(*call, id, made.members->ranks.front());
      const Seconds all_in = std::clamp(made.joined[id], ran.start, ran.end);
      sweep.add(Counted::joining, id, ran.start, all_in);
      start = all_in;
    }
    sweep.add(counted_as(operation, program.lanes[operation.lane]), id, start, ran.end);
  }
  for (const auto& [going, time] : sweep.times(made.step)) {
    made.stretches.push_back({going.first, going.second, time});
  }
  return made;
}

}  // namespace paceline::explain
