#include "scenarios/outcome/step_terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "models/contract.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {
namespace {

using training::OperationId;

// Less of the step is rounding.
constexpr double shown_from = 1e-12;

// What one operation of compute takes on a rank, stage by stage of its prediction.
struct Stages {
  Seconds described, on_rank, contended;
};

class Stager {
 public:
  Stager(const Prediction& predicted, Rank rank)
      : alone_(predicted.alone->point), program_(predicted.trace.program), rank_(rank) {
    PACELINE_EXPECTS(alone_.program.operations.size() == program_.operations.size());
  }

  [[nodiscard]] Stages of(OperationId id) const {
    const training::Operation& alone = alone_.program.operations[id];
    const training::Operation& contended = program_.operations[id];
    const Seconds work = std::get<Seconds>(alone.work);
    return {work * alone.part_of(rank_), work * slowdown_of(alone_, alone, rank_),
            std::get<Seconds>(contended.work) * slowdown_of(alone_, contended, rank_)};
  }

 private:
  const ResolvedPoint& alone_;
  const training::StepProgram& program_;
  Rank rank_;
};

constexpr std::array computed{std::pair{Counted::input, TermKind::input},
                              std::pair{Counted::passes, TermKind::passes},
                              std::pair{Counted::copies, TermKind::copies},
                              std::pair{Counted::optimizer, TermKind::optimizer}};
constexpr std::array uncomputed{std::pair{Counted::engine_copy, TermKind::engine_copies},
                                std::pair{Counted::joining, TermKind::others},
                                std::pair{Counted::launch, TermKind::host},
                                std::pair{Counted::load, TermKind::load},
                                std::pair{Counted::wait, TermKind::engine_waits},
                                std::pair{Counted::idle, TermKind::idle}};

Seconds all_of(const Timeline& timeline, Counted as) {
  Seconds sum;
  for (const Stretch& one : timeline.stretches) {
    if (one.as == as) sum += one.time;
  }
  return sum;
}

class Terms {
 public:
  Terms(const Prediction& predicted, const Timeline& timeline, StepTerms& made)
      : predicted_(predicted), timeline_(timeline), made_(made) {}

  void add_compute() {
    const Stager stager(predicted_, made_.rank);
    ComputeTimes& all = made_.compute;
    all.slowdown = slowdown_of(predicted_.alone->point, made_.rank);
    for (const auto& [as, part] : computed) {
      Seconds described;
      for (const Stretch& one : timeline_.stretches) {
        if (one.as == as) described += take(stager, one);
      }
      add(part, described);
    }
    add(TermKind::slowest_rank, all.on_rank - all.described);
    add(TermKind::contention, all.contended - all.on_rank);
    add(TermKind::believed, all.believed - all.contended);
  }

  void add_calls() {
    const training::StepProgram& program = predicted_.trace.program;
    std::size_t calls = 0, exposed = 0;
    for (const training::Operation& operation : program.operations) {
      if (call_of(operation) != nullptr) ++calls;
      if (operation.kind == training::OperationKind::launch) {
        const auto& ran = timeline_.members->intervals[id_of(operation)];
        made_.launches += ran.end - ran.start;
      }
    }
    for (const Stretch& one : timeline_.stretches) {
      if (one.as != Counted::call || !counts(one.time)) continue;
      made_.terms.push_back({TermKind::exposed_call, one.time, one.operation});
      ++exposed;
    }
    made_.hidden_calls = calls - exposed;
    for (const auto& [as, part] : uncomputed) add(part, all_of(timeline_, as));
  }

 private:
  [[nodiscard]] OperationId id_of(const training::Operation& operation) const {
    return static_cast<OperationId>(&operation - predicted_.trace.program.operations.data());
  }

  // What is described of a stretch; the stages of all compute grow by its own.
  Seconds take(const Stager& stager, const Stretch& one) {
    const Stages stages = stager.of(one.operation);
    const training::Interval& ran = timeline_.members->intervals[one.operation];
    const double part = one.time / (ran.end - ran.start);  // the rest goes on beside others
    ComputeTimes& all = made_.compute;
    const Seconds described = stages.described * part;
    all.described += described;
    all.on_rank += stages.on_rank * part;
    all.contended += stages.contended * part;
    all.believed += one.time;
    const auto kind = predicted_.trace.program.operations[one.operation].kind;
    if (one.as == Counted::passes) {
      (kind == training::OperationKind::forward ? all.forward : all.backward) += described;
    }
    return described;
  }

  [[nodiscard]] bool counts(Seconds time) const {
    return std::abs(time.value()) > shown_from * timeline_.step.value();
  }

  void add(TermKind part, Seconds time) {
    if (counts(time)) made_.terms.push_back({part, time});
  }

  const Prediction& predicted_;
  const Timeline& timeline_;
  StepTerms& made_;
};

using training::LaneKind;
using training::OperationKind;

Counted counted_as(const training::Operation& operation, const training::Lane& lane) {
  if (operation.kind == OperationKind::launch) return Counted::launch;
  if (operation.kind == OperationKind::load) return Counted::load;
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

StepTerms terms_of(const PointOutcome& outcome, const Timeline& timeline) {
  PACELINE_EXPECTS(outcome.predicted && outcome.predicted->alone);
  StepTerms made;
  made.rank = timeline.members->ranks.front();
  Terms terms(*outcome.predicted, timeline, made);
  terms.add_compute();
  terms.add_calls();
  return made;
}

Seconds Timeline::time_of(Counted as, OperationId operation) const {
  for (const Stretch& one : stretches) {
    if (one.as == as && one.operation == operation) return one.time;
  }
  return Seconds(0);
}

Timeline timeline_of(const StepTrace& trace, std::uint32_t gpus_per_node) {
  Timeline made;
  made.members = &*std::ranges::max_element(trace.classes, {}, end_of);
  made.step = end_of(*made.members);
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

}  // namespace paceline
