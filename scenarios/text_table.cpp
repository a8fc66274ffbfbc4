#include "scenarios/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <utility>

#include "models/contract.h"
#include "scenarios/line_width.h"

namespace paceline {
namespace {

constexpr std::size_t gap = 2;  // between columns

// Of UTF-8: bytes that begin one.
std::size_t characters_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

std::size_t width_of(std::span<const std::size_t> columns, std::span<const std::size_t> widths) {
  std::size_t total = columns.empty() ? 0 : gap * (columns.size() - 1);
  for (const std::size_t column : columns) total += widths[column];
  return total;
}

// The first columns, which say what a row is, stand in every part unless they take half of its
// room; each part has a column beyond them, however wide.
std::vector<std::vector<std::size_t>> parts_within(std::size_t limit, std::size_t names,
                                                   std::span<const std::size_t> widths) {
  std::vector<std::size_t> all(widths.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (limit == 0 || width_of(all, widths) <= limit) return {all};
  while (names > 0 && width_of(std::span(all).first(names), widths) > limit / 2) --names;
  std::vector<std::vector<std::size_t>> parts;
  std::vector<std::size_t> part(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(names));
  for (std::size_t column = names; column < all.size(); ++column) {
    part.push_back(column);
    if (part.size() <= names + 1 || width_of(part, widths) <= limit) continue;
    part.pop_back();
    parts.push_back(part);
    part.resize(names);
    part.push_back(column);
  }
  parts.push_back(std::move(part));
  return parts;
}

}  // namespace

std::string in_digits(SamplesPerSecond throughput) {
  return throughput.value() < 10 ? fmt::format("{:#.3g}", throughput.value())
                                 : fmt::format("{:.1f}", throughput.value());
}

TextTable::TextTable(std::vector<std::string> header, std::size_t left) : left_(left) {
  rows_.push_back(std::move(header));
}

void TextTable::add(std::vector<std::string> row) {
  PACELINE_EXPECTS(row.size() == rows_.front().size());
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], characters_in(row[c]));
    }
  }
  return widths;
}

void TextTable::write(std::ostream& out) const {
  const std::vector<std::size_t> widths = this->widths();
  const std::size_t names = std::max<std::size_t>(left_, 1);
  bool is_first = true;
  for (const Columns& part : parts_within(line_width(out), names, widths)) {
    if (!std::exchange(is_first, false)) out << '\n';
    write_columns(out, part, widths);
  }
}

void TextTable::write_columns(std::ostream& out, const Columns& columns,
                              std::span<const std::size_t> widths) const {
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (const std::size_t column : columns) {
      const std::string& cell = rows_[r][column];
      const std::string room(widths[column] - characters_in(cell), ' ');
      if (column != columns.front()) line.append(gap, ' ');
      line += column < left_ ? cell + room : room + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
    if (r == 0) out << std::string(width_of(columns, widths), '-') << '\n';
  }
}

}  // namespace paceline
