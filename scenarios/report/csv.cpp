#include "scenarios/report/csv.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "scenarios/report/report.h"

namespace paceline {

// RFC 4180: quoted where a comma, a quote or a line break would mislead. A text that a spreadsheet
// would take for a formula gets an apostrophe in front (OWASP, "CSV Injection").
std::string csv_cell(const std::string& text) {
  const std::size_t first =
      std::min(text.find_first_not_of(' '), text.size());  // blanks are trimmed
  const bool is_formula = text.find_first_of("=+-@\t\r", first) == first;
  if (!is_formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = is_formula ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_cell(const AxisValue& axis) {
  const auto* number = std::get_if<double>(&axis.value);
  return number ? fmt::format("{}", *number) : csv_cell(std::get<std::string>(axis.value));
}

std::string csv_cell(const Cell& cell, PointColumn::Type type) {
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_cell(*text);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  const auto* whole = std::get_if<std::int64_t>(&cell);
  if (whole == nullptr) return "";
  if (type == PointColumn::Type::truth) return *whole == 0 ? "false" : "true";
  return std::to_string(*whole);
}

std::string csv_axis(const std::string& path, const std::string& unit) {
  const bool has_unit = !unit.empty() && unit != "1";
  return csv_cell("axis " + path + (has_unit ? " (" + unit + ")" : ""));
}

void write_csv_header(std::ostream& out, std::vector<std::string> first) {
  for (const PointColumn& column : point_columns()) first.emplace_back(column.name);
  fmt::print(out, "{}\n", fmt::join(first, ","));
}

void write_csv_line(std::ostream& out, std::vector<std::string> first,
                    const std::vector<Cell>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    first.push_back(csv_cell(cells[i], point_columns()[i].type));
  }
  fmt::print(out, "{}\n", fmt::join(first, ","));
}

void write_csv(std::ostream& out, const std::vector<PointOutcome>& outcomes) {
  std::vector<std::string> header;
  for (const AxisValue& axis : outcomes.front().axes) {
    header.push_back(csv_axis(axis.path, axis.unit));
  }
  write_csv_header(out, std::move(header));
  for (const PointOutcome& outcome : outcomes) {
    std::vector<std::string> axes;
    for (const AxisValue& axis : outcome.axes) axes.push_back(csv_cell(axis));
    std::vector<Cell> cells;
    for (const PointColumn& column : point_columns()) cells.push_back(column.cell(outcome));
    write_csv_line(out, std::move(axes), cells);
  }
}

}  // namespace paceline
