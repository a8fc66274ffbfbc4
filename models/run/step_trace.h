#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/training/scheduler.h"
#include "models/training/step_program.h"
#include "models/units/units.h"

namespace paceline {

// Ranks whose operations ran at the same times.
struct RankClass {
  std::vector<Rank> ranks;                    // ascending, at least one
  std::vector<training::Interval> intervals;  // by operation of the program
};

// When each class of ranks ran each operation of a step: predicted, measured or imported.
struct StepTrace {
  training::StepProgram program;   // calls as they were carried out
  std::vector<RankClass> classes;  // by first rank
};

// An operation and when one rank ran it: a view into a trace, which must outlive it.
struct Span {
  const training::Operation& operation;
  const training::Interval& ran;

  [[nodiscard]] Seconds start() const { return ran.start; }
  [[nodiscard]] Seconds end() const { return ran.end; }
  [[nodiscard]] Seconds duration() const { return ran.end - ran.start; }
  // Of a collective; null, 0 and empty for compute.
  [[nodiscard]] const training::CollectiveCall* call() const { return call_of(operation); }
  [[nodiscard]] Bytes size() const { return call() == nullptr ? Bytes(0) : call()->size(); }
  [[nodiscard]] std::string_view algorithm() const {
    return call() == nullptr ? std::string_view() : algorithm_of(*call());
  }
};

// In the program's order.
[[nodiscard]] std::vector<Span> spans_of(const StepTrace& trace, const RankClass& members);

// When the last of their operations ended.
[[nodiscard]] Seconds end_of(const RankClass& members);
[[nodiscard]] std::uint32_t rank_count(const StepTrace& trace);

struct StepTotals {
  Seconds step;                   // from 0 to the end of the last rank
  Seconds compute;                // time in which the compute lane is busy, but for launches
  Seconds communication;          // time in which a collective is in flight
  Seconds exposed_communication;  // the part of it during which compute is idle
};

// The step is the maximum over ranks; the other totals are those of the first rank that ends last.
[[nodiscard]] StepTotals totals_of(const StepTrace& trace);
[[nodiscard]] StepTotals totals_of(const training::StepProgram& program, const RankClass& members);

// Joins classes of equal intervals: same times to a billionth of the step.
[[nodiscard]] std::vector<RankClass> joined(std::vector<RankClass> classes);

// The same of single ranks. `intervals[r]` are rank r's.
[[nodiscard]] std::vector<RankClass> classes_of(
    std::vector<std::vector<training::Interval>> intervals);

}  // namespace paceline
