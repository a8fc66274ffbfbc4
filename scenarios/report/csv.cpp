#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "scenarios/report/fields.h"
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

namespace {

std::string cell(const PointField& field, const PointOutcome& outcome) {
  const auto text_of = [&](auto value_of) -> std::string {
    const auto value = value_of(outcome);
    if (!value) return "";
    const bool is_number = std::is_arithmetic_v<typename decltype(value)::value_type>;
    return is_number ? fmt::format("{}", *value) : csv_cell(fmt::format("{}", *value));
  };
  return std::visit(text_of, field.value);
}

}  // namespace

void write_csv(std::ostream& out, const std::vector<PointOutcome>& outcomes) {
  std::vector<std::string> header;
  for (const AxisValue& axis : outcomes.front().axes) {
    const std::string unit = axis.unit.size() > 0 && axis.unit != "1" ? " (" + axis.unit + ")" : "";
    header.push_back(csv_cell("axis " + axis.path + unit));
  }
  for (const PointField& field : point_columns()) header.emplace_back(field.column);
  fmt::print(out, "{}\n", fmt::join(header, ","));
  for (const PointOutcome& outcome : outcomes) {
    std::vector<std::string> line;
    for (const AxisValue& axis : outcome.axes) {
      const auto* value = std::get_if<double>(&axis.value);
      line.push_back(value ? fmt::format("{}", *value)
                           : csv_cell(std::get<std::string>(axis.value)));
    }
    for (const PointField& field : point_columns()) line.push_back(cell(field, outcome));
    fmt::print(out, "{}\n", fmt::join(line, ","));
  }
}

}  // namespace paceline
