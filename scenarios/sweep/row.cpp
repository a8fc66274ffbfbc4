#include "scenarios/sweep/row.h"

#include <algorithm>
#include <cmath>

#include "models/contract.h"
#include "models/text/json_writer.h"
#include "traces/json/json_value.h"

namespace paceline::sweep {
namespace {

std::string dumped(const std::vector<std::string>& texts) {
  std::string text;
  JsonWriter(text).value(texts);
  return text;
}

// Whole numbers without a fraction.
std::string dumped(const std::vector<AxisValue>& axes) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    for (const AxisValue& axis : axes) {
      const auto* number = std::get_if<double>(&axis.value);
      const bool is_whole =
          number != nullptr && *number == std::floor(*number) && std::abs(*number) < 1e15;
      json.key(axis.path);
      is_whole ? json.value(static_cast<std::int64_t>(*number)) : json.value(axis.value);
    }
  });
  return text;
}

Cell cell_from(const traces::JsonValue& in) {
  if (in.is_null()) return {};
  if (const auto whole = in.if_whole()) return static_cast<std::int64_t>(*whole);
  if (const auto number = in.if_number()) return *number;
  return in.get<std::string>();
}

}  // namespace

Row row_of(const PointOutcome& outcome) {
  PACELINE_EXPECTS(!outcome.failure || outcome.failure->cause != FailureCause::stopped);
  Row row;
  row.axes = dumped(outcome.axes);
  // One that was not even prepared has its failure and nothing else.
  const bool is_prepared = outcome.samples_per_step > 0;
  for (const PointColumn& column : point_columns()) {
    const bool is_known = is_prepared || column.name == "failure";
    row.cells.push_back(is_known ? column.cell(outcome) : Cell());
  }
  if (outcome.failure) {
    row.cause = outcome.failure->cause == FailureCause::refused ? "refused" : "failed";
  }
  row.assumed = dumped(outcome.assumptions);
  return row;
}

constexpr auto fields_of(const Row*) {
  return Fields(field("axes", &Row::axes), field("cause", &Row::cause),
                field("assumed", &Row::assumed), field("cells", &Row::cells));
}

std::string to_text(const Row& row) {
  std::string text;
  JsonWriter(text).value(row);
  return text;
}

Row row_from(const std::string& text) {
  const traces::JsonValue in = traces::parse_json(text, "");
  Row row{in["axes"].text(), {}, in["cause"].text(), in["assumed"].text()};
  for (const traces::JsonValue& cell : in["cells"].list()) row.cells.push_back(cell_from(cell));
  if (row.cells.size() != point_columns().size())
    throw std::runtime_error("a row of other columns");
  return row;
}

std::string text_in(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? "" : *text;
}

const char* type_of(const PointColumn& column) {
  switch (column.type) {
    case PointColumn::Type::truth:
    case PointColumn::Type::whole: return "INTEGER";
    case PointColumn::Type::real: return "REAL";
    case PointColumn::Type::text: return "TEXT";
  }
  PACELINE_UNREACHABLE("a type outside the enumeration");
}

std::size_t column_of(std::string_view name) {
  const auto columns = point_columns();
  const auto found = std::ranges::find(columns, name, &PointColumn::name);
  PACELINE_EXPECTS(found != columns.end());
  return static_cast<std::size_t>(found - columns.begin());
}

}  // namespace paceline::sweep
