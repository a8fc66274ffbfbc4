#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/units/units.h"
#include "scenarios/text_form.h"

namespace paceline {

// A throughput in a column or a line, without its unit: to a tenth; slow ones (below 10 a second)
// to three digits, fast ones (from 100,000 on) whole.
[[nodiscard]] std::string in_digits(SamplesPerSecond throughput);

// Columns as wide as their widest cell, right-aligned but for the first `left` columns.
class TextTable {
 public:
  TextTable(std::vector<std::string> header, std::size_t left);
  void add(std::vector<std::string> row);  // as many cells as the header
  // Of the row that was added last: how good a cell is, for streams with colours.
  void mark(std::size_t column, Paint with);
  // And a bar, `part` (0 to 1) of a full one, in a last column of that name: for streams with bars
  // whose lines have room for it.
  void add_bar(std::string column, double part);
  // As the stream's form is (text_form.h). Where its lines are narrower, columns
  // that have no room stand in a table of their own below, behind the first ones again.
  void write(std::ostream& out) const;

 private:
  using Columns = std::vector<std::size_t>;
  struct Row {
    std::vector<std::string> cells;
    std::vector<Paint> paints;  // of the first cells, the others are normal
    std::optional<double> bar = std::nullopt;
  };

  [[nodiscard]] std::vector<std::size_t> widths() const;
  // With bars as cells, where they have `room` characters.
  [[nodiscard]] TextTable with_bars(std::size_t room, bool has_blocks) const;
  [[nodiscard]] bool is_left(std::size_t column) const;
  void write_markdown(std::ostream& out) const;
  void write_text(std::ostream& out) const;
  void write_columns(std::ostream& out, const Columns& columns,
                     std::span<const std::size_t> widths) const;
  void write_row(std::ostream& out, const Row& row, const Columns& columns,
                 std::span<const std::size_t> widths) const;

  std::vector<Row> rows_;  // the first is the header
  std::size_t left_;
  std::string bars_;                // their column's name; empty: none
  bool has_bars_as_cells_ = false;  // in the last column
};

}  // namespace paceline
