#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <ostream>

#include "scenarios/report/fields.h"
#include "scenarios/report/report.h"

namespace paceline {
namespace {

// RFC 4180: quoted where a comma, a quote or a line break would mislead. A text that a spreadsheet
// would take for a formula gets an apostrophe in front (OWASP, "CSV Injection").
std::string cell(const std::string& text) {
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

std::string cell(const PointField& field, const PointOutcome& outcome) {
  const auto text_of = [&](auto value_of) -> std::string {
    const auto value = value_of(outcome);
    if (!value) return "";
    const bool is_number = std::is_arithmetic_v<typename decltype(value)::value_type>;
    return is_number ? fmt::format("{}", *value) : cell(fmt::format("{}", *value));
  };
  return std::visit(text_of, field.value);
}

std::vector<PointField> columns() {
  std::vector<PointField> fields;
  std::ranges::copy_if(point_fields(), std::back_inserter(fields),
                       [](const PointField& field) { return field.column_number > 0; });
  std::ranges::sort(fields, {}, &PointField::column_number);
  return fields;
}

}  // namespace

void write_csv(std::ostream& out, const std::vector<PointOutcome>& outcomes) {
  const std::vector<PointField> fields = columns();
  std::vector<std::string> header;
  for (const AxisValue& axis : outcomes.front().axes) {
    const std::string unit = axis.unit.size() > 0 && axis.unit != "1" ? " (" + axis.unit + ")" : "";
    header.push_back(cell("axis " + axis.path + unit));
  }
  for (const PointField& field : fields) header.emplace_back(field.column);
  fmt::print(out, "{}\n", fmt::join(header, ","));
  for (const PointOutcome& outcome : outcomes) {
    std::vector<std::string> line;
    for (const AxisValue& axis : outcome.axes) {
      const auto* value = std::get_if<double>(&axis.value);
      line.push_back(value ? fmt::format("{}", *value) : cell(std::get<std::string>(axis.value)));
    }
    for (const PointField& field : fields) line.push_back(cell(field, outcome));
    fmt::print(out, "{}\n", fmt::join(line, ","));
  }
}

}  // namespace paceline
