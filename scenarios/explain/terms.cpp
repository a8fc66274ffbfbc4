#include "scenarios/explain/terms.h"

#include <array>
#include <cmath>
#include <utility>

#include "models/contract.h"
#include "scenarios/prepare/resolve.h"

namespace paceline::explain {
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

constexpr std::array computed{
    std::pair{Counted::input, Part::input}, std::pair{Counted::passes, Part::passes},
    std::pair{Counted::copies, Part::copies}, std::pair{Counted::optimizer, Part::optimizer}};
constexpr std::array uncomputed{
    std::pair{Counted::engine_copy, Part::engine_copies}, std::pair{Counted::joining, Part::others},
    std::pair{Counted::launch, Part::host}, std::pair{Counted::wait, Part::engine_waits},
    std::pair{Counted::idle, Part::idle}};

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
    add(Part::slowest_rank, all.on_rank - all.described);
    add(Part::contention, all.contended - all.on_rank);
    add(Part::believed, all.believed - all.contended);
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
      made_.terms.push_back({Part::exposed_call, one.time, one.operation});
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

  void add(Part part, Seconds time) {
    if (counts(time)) made_.terms.push_back({part, time});
  }

  const Prediction& predicted_;
  const Timeline& timeline_;
  StepTerms& made_;
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

}  // namespace paceline::explain
