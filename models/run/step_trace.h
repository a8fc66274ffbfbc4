#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/training/step_program.h"
#include "models/units/units.h"

namespace paceline {

// One span of one rank: when an operation ran. Predicted, measured and imported runs share it.
struct Span {
  std::string name;
  training::OperationKind kind;
  training::LaneId lane;
  Seconds start;
  Seconds end;
  Bytes size;             // of a collective's buffer; 0 for compute
  std::string algorithm;  // of a collective; empty for compute
  // Of a collective, where they are known; an import may not tell.
  std::optional<collectives::Collective> collective = std::nullopt;
  ElementSize element_size{0};
  // Of compute: of each gradient that is ready when it ends, the elements, 0 where they are not
  // told. Only imported runs have them.
  std::vector<ElementCount> gradients = {};

  friend bool operator==(const Span&, const Span&) = default;
};

[[nodiscard]] Span span_of(const training::Operation& operation, Seconds start, Seconds end);

// Ranks that did the same at the same times.
struct RankClass {
  std::vector<Rank> ranks;  // ascending, at least one
  std::vector<Span> spans;  // in program order
};

struct StepTrace {
  std::vector<training::Lane> lanes;
  std::vector<RankClass> classes;  // by first rank
};

[[nodiscard]] std::uint32_t rank_count(const StepTrace& trace);

struct StepTotals {
  Seconds step;                   // from 0 to the end of the last rank
  Seconds compute;                // time in which the compute lane is busy
  Seconds communication;          // time in which a collective is under way
  Seconds exposed_communication;  // the part of it during which compute is idle
};

// The step is the maximum over ranks; the other totals are those of the first rank that ends last.
[[nodiscard]] StepTotals totals_of(const StepTrace& trace);

// Joins classes of equal spans: same times to a billionth of the step.
[[nodiscard]] std::vector<RankClass> joined(std::vector<RankClass> classes);

// The same of single ranks. `spans[r]` are rank r's.
[[nodiscard]] std::vector<RankClass> classes_of(std::vector<std::vector<Span>> spans);

}  // namespace paceline
