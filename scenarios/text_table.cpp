#include "scenarios/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <utility>

#include "models/contract.h"

namespace paceline {
namespace {

constexpr std::size_t gap = 2;  // between columns

// Characters of a full bar: fewer tell too little, more take room from nothing but the eye.
constexpr std::size_t bar_least = 8, bar_most = 20;

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
  if (throughput.value() < 10) return fmt::format("{:#.3g}", throughput.value());
  return fmt::format("{:.{}f}", throughput.value(), throughput.value() < 1e5 ? 1 : 0);
}

TextTable::TextTable(std::vector<std::string> header, std::size_t left) : left_(left) {
  const std::size_t columns = header.size();
  rows_.push_back({std::move(header), std::vector<Paint>(columns, Paint::header)});
}

void TextTable::add(std::vector<std::string> row) {
  PACELINE_EXPECTS(row.size() == rows_.front().cells.size());
  rows_.push_back({std::move(row), {}});
}

void TextTable::mark(std::size_t column, Paint with) {
  PACELINE_EXPECTS(rows_.size() > 1 && column < rows_.front().cells.size());
  rows_.back().paints.resize(std::max(rows_.back().paints.size(), column + 1));
  rows_.back().paints[column] = with;
}

void TextTable::add_bar(std::string column, double part) {
  PACELINE_EXPECTS(rows_.size() > 1);
  bars_ = std::move(column);
  rows_.back().bar = part;
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(rows_.front().cells.size());
  for (const Row& row : rows_) {
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      widths[c] = std::max(widths[c], characters_in(row.cells[c]));
    }
  }
  return widths;
}

bool TextTable::is_left(std::size_t column) const {
  return column < left_ || (has_bars_as_cells_ && column + 1 == rows_.front().cells.size());
}

TextTable TextTable::with_bars(std::size_t room, bool has_blocks) const {
  TextTable made = *this;
  const std::size_t name = characters_in(bars_);
  if (room < std::max(bar_least, name)) return made;
  const std::size_t width = std::min(bar_most, room);
  made.has_bars_as_cells_ = true;
  for (Row& row : made.rows_) {
    row.cells.push_back(row.bar ? bar_text(*row.bar, width, has_blocks) : "");
  }
  Row& header = made.rows_.front();
  header.cells.back() = bars_ + std::string(width - std::min(width, name), ' ');
  header.paints.push_back(Paint::header);
  return made;
}

void TextTable::write(std::ostream& out) const {
  const TextForm form = text_form(out);
  if (form.is_markdown) return write_markdown(out);
  if (!form.has_bars || bars_.empty()) return write_text(out);
  const std::size_t limit = line_width(out);
  std::vector<std::size_t> all(rows_.front().cells.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::size_t taken = width_of(all, widths()) + gap;
  const std::size_t room = limit == 0 ? bar_most : limit - std::min(limit, taken);
  with_bars(room, form.has_blocks).write_text(out);
}

// GitHub Flavored Markdown Spec 0.29, 4.10: tables.
void TextTable::write_markdown(std::ostream& out) const {
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    out << '|';
    for (const std::string& cell : rows_[r].cells) out << ' ' << in_markdown(cell) << " |";
    out << '\n';
    if (r > 0) continue;
    out << '|';
    for (std::size_t c = 0; c < rows_[0].cells.size(); ++c) out << (is_left(c) ? ":--|" : "--:|");
    out << '\n';
  }
}

void TextTable::write_text(std::ostream& out) const {
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
    write_row(out, rows_[r], columns, widths);
    if (r == 0) out << std::string(width_of(columns, widths), '-') << '\n';
  }
}

// Without blanks at the end of the line.
void TextTable::write_row(std::ostream& out, const Row& row, const Columns& columns,
                          std::span<const std::size_t> widths) const {
  std::string blanks;
  for (const std::size_t column : columns) {
    const std::string& cell = row.cells[column];
    const std::size_t end = cell.find_last_not_of(' ') + 1;
    const std::size_t room = widths[column] - characters_in(cell);
    if (column != columns.front()) blanks.append(gap, ' ');
    if (!is_left(column)) blanks.append(room, ' ');
    if (end > 0) {
      const Paint with = column < row.paints.size() ? row.paints[column] : Paint::normal;
      out << std::exchange(blanks, "");
      if (with != Paint::normal) paint(out, with);
      out << cell.substr(0, end);
      if (with != Paint::normal) paint(out, Paint::normal);
    }
    blanks.append(cell.size() - end, ' ');
    if (is_left(column)) blanks.append(room, ' ');
  }
  out << '\n';
}

}  // namespace paceline
