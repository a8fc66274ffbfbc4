#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "models/units/units.h"

namespace paceline {

// A throughput in a column or a line, without its unit: to a tenth, and slow ones (below 10 a
// second) to three digits.
[[nodiscard]] std::string in_digits(SamplesPerSecond throughput);

// Columns as wide as their widest cell, right-aligned but for the first `left` columns.
class TextTable {
 public:
  TextTable(std::vector<std::string> header, std::size_t left);
  void add(std::vector<std::string> row);  // as many cells as the header
  // Where the stream's lines are narrower (line_width.h), columns that have no room stand in a
  // table of their own below, behind the first ones again.
  void write(std::ostream& out) const;

 private:
  using Columns = std::vector<std::size_t>;

  [[nodiscard]] std::vector<std::size_t> widths() const;
  void write_columns(std::ostream& out, const Columns& columns,
                     std::span<const std::size_t> widths) const;

  std::vector<std::vector<std::string>> rows_;
  std::size_t left_;
};

}  // namespace paceline
