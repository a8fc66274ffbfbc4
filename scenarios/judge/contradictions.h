#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/text/fields.h"
#include "models/uncertain/contradiction.h"
#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// Measured rows that contradict their file's description beyond doubt, and what would explain them.
struct FoundContradiction {
  struct Row {
    std::string point;  // PointOutcome::name
    bool known = false;
    double times = 1;  // measured over described step
    // Of a known row that no quantity within 99 % of its prior reaches: what it is taken for.
    std::optional<double> counted = std::nullopt;
  };
  struct Cause {
    uncertain::Cause kind = uncertain::Cause::batch;
    double value = 1;   // uncertain::Explanation
    std::string words;  // "a network that carries 30Gbps, not 10Gbps"
  };
  std::vector<Row> rows;
  std::vector<Cause> explained_by;  // at most two, the likelier first

  // One line, which names the first of many rows.
  [[nodiscard]] std::string sentence() const;
};

constexpr auto fields_of(const FoundContradiction::Row*) {
  using Row = FoundContradiction::Row;
  return Fields(field("point", &Row::point), field("known", &Row::known),
                field("times", &Row::times), field("counted", &Row::counted));
}
constexpr auto fields_of(const FoundContradiction::Cause*) {
  using Cause = FoundContradiction::Cause;
  return Fields(field("cause", &Cause::kind), field("value", &Cause::value),
                field("words", &Cause::words));
}
constexpr auto fields_of(const FoundContradiction*) {
  return Fields(field("rows", &FoundContradiction::rows),
                field("explained_by", &FoundContradiction::explained_by));
}

// Looks at a run of one file; only points of several GPUs that are predicted and measured count.
// Known rows, too, are judged by the description alone.
[[nodiscard]] std::vector<FoundContradiction> contradictions_of(
    const std::vector<PointOutcome>& outcomes);

}  // namespace paceline
