#pragma once

#include <string>
#include <vector>

#include "scenarios/outcome/point_outcome.h"
#include "scenarios/report/fields.h"

namespace paceline::sweep {

// What the store has of a point beside its key and its place in a grid.
struct Row {
  std::string axes;         // a JSON object: path to value, in SI units where it has one
  std::vector<Cell> cells;  // by point_columns()
  std::string cause;        // of a failure: "failed" or "refused"; empty: there is a prediction
  std::string assumed;      // a JSON list of sentences

  [[nodiscard]] bool is_done() const { return cause.empty(); }
};

// Of an outcome that was not stopped.
[[nodiscard]] Row row_of(const PointOutcome& outcome);

// A row as one text, and back: for other processes. Throws std::exception for what is none.
[[nodiscard]] std::string to_text(const Row& row);
[[nodiscard]] Row row_from(const std::string& text);

// Empty where it is no text.
[[nodiscard]] std::string text_in(const Cell& cell);

// SQL's type of a column.
[[nodiscard]] const char* type_of(const PointColumn& column);
// The number of the column of that name. Precondition: there is one.
[[nodiscard]] std::size_t column_of(std::string_view name);

}  // namespace paceline::sweep
