#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/text/fields.h"
#include "models/uncertain/contradiction.h"
#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// Measured rows that lie outside their 90 % intervals, and what would explain all rows of the file,
// those that lie inside among them. Where a row is outside beyond doubt it contradicts.
struct FoundContradiction {
  struct Row {
    std::string point;  // PointOutcome::name
    bool known = false;
    double times = 1;   // measured over described step
    double beyond = 1;  // measured step over its interval's end: above 1 where it is slower
    bool contradicts = false;
    // Of a known row that no quantity within 99 % of its prior reaches: what it is taken for.
    std::optional<double> counted = std::nullopt;
  };
  struct Cause {
    uncertain::Cause kind = uncertain::Cause::unit;
    double value = 1;     // uncertain::Explanation
    double evidence = 0;  // likewise
    std::string words;    // "a network that carries 30Gbps, not 10Gbps"
  };
  std::vector<Row> rows;
  std::vector<Cause> explained_by;  // the likelier first; step times do not tell them apart
  std::string told_apart_by;        // what to run for that; empty without causes

  [[nodiscard]] bool is_beyond_doubt() const;
  // The first cause is likelier than that rows lie outside by chance.
  [[nodiscard]] bool is_claimed() const;
  // One line, which names the first of many rows: "contradiction: ..." or "outside: ...".
  [[nodiscard]] std::string sentence() const;
};

constexpr auto fields_of(const FoundContradiction::Row*) {
  using Row = FoundContradiction::Row;
  return Fields(field("point", &Row::point), field("known", &Row::known),
                field("times", &Row::times), field("beyond", &Row::beyond),
                field("contradicts", &Row::contradicts), field("counted", &Row::counted));
}
constexpr auto fields_of(const FoundContradiction::Cause*) {
  using Cause = FoundContradiction::Cause;
  return Fields(field("cause", &Cause::kind), field("value", &Cause::value),
                field("evidence", &Cause::evidence), field("words", &Cause::words));
}
constexpr auto fields_of(const FoundContradiction*) {
  return Fields(field("rows", &FoundContradiction::rows),
                field("explained_by", &FoundContradiction::explained_by),
                field("told_apart_by", &FoundContradiction::told_apart_by),
                field("sentence", &FoundContradiction::sentence));
}

// Looks at a run of one file: nullopt where no point of several GPUs that is predicted and measured
// lies outside. Known rows are judged by the description alone.
[[nodiscard]] std::optional<FoundContradiction> contradiction_of(
    const std::vector<PointOutcome>& outcomes);

}  // namespace paceline
