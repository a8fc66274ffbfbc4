#include "scenarios/text_table.h"

#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "models/contract.h"

namespace paceline {

TextTable::TextTable(std::vector<std::string> header, std::size_t left) : left_(left) {
  rows_.push_back(std::move(header));
}

void TextTable::add(std::vector<std::string> row) {
  PACELINE_EXPECTS(row.size() == rows_.front().size());
  rows_.push_back(std::move(row));
}

void TextTable::write(std::ostream& out) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const auto& cell = rows_[r][c];
      line += c < left_ ? fmt::format("{:<{}}", cell, widths[c])
                        : fmt::format("{:>{}}", cell, widths[c]);
      if (c + 1 < widths.size()) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
    if (r > 0) continue;
    std::size_t total = 2 * (widths.size() - 1);
    for (const std::size_t width : widths) total += width;
    out << std::string(total, '-') << '\n';
  }
}

}  // namespace paceline
