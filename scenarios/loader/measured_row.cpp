#include "scenarios/loader/measured_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "scenarios/loader/axis_value.h"

namespace paceline::loader {
namespace {

constexpr const char* known_row_example = "write --known \"gpus=2,throughput=350 samples/s\"";

// Asks for the rest of the row, which has nothing else: of a misspelt figure the slip is told, not
// that there is none.
void read_axes(Reader& reader, Axes axes, MeasuredRow& row) {
  for (const ScenarioFile::Axis& axis : axes) {
    if (const auto value = reader.find(axis.path)) {
      row.axes.push_back(axis_value(axis.path, *value));
    }
  }
  if (const auto step = reader.find("step")) row.step = step->positive_seconds();
  if (!row.step) (void)reader.has("throughput");
  reader.finish();
}

void read_figure(Reader& reader, MeasuredRow& row) {
  if (!row.step) row.throughput = reader.require("throughput", "921.3 samples/s");
  if (row.throughput && !row.throughput->text().ends_with("tokens/s")) {
    (void)row.throughput->throughput();
  }
}

const AxisValue* named_in(const MeasuredRow& row, const std::string& path) {
  const auto named = std::ranges::find(row.axes, path, &AxisValue::path);
  return named == row.axes.end() ? nullptr : &*named;
}

}  // namespace

MeasuredRow row_of_file(const Field& entry, Axes axes) {
  Reader reader(entry);
  MeasuredRow row;
  row.where = entry.location();
  if (const auto known = reader.find("known")) row.known = known->boolean();
  read_axes(reader, axes, row);
  read_figure(reader, row);
  return row;
}

Field known_row(const std::string& text) {
  const Location where{"--known " + text};
  std::vector<Node::Entry> values;
  for (const auto& [path, value] : pairs_of(text, where, known_row_example)) {
    values.emplace_back(Node(path), parse_document(where.file, value)->root);
    if (!values.back().second.is_null()) continue;
    throw InputError(where, fmt::format("{:.60} has no value", path), known_row_example);
  }
  Node row(std::move(values));
  if (row["throughput"] && row["step"]) {
    throw InputError(where, "gives both throughput and step", "leave one of them out");
  }
  return {std::make_shared<Document>(Document{where.file, "", text, row, false}), row, ""};
}

MeasuredRow row_of_command_line(const Field& known_row, Axes axes) {
  Reader reader(known_row);
  MeasuredRow row;
  row.where = known_row.location();
  row.known = true;
  (void)reader.has("gpus");
  read_axes(reader, axes, row);
  if (!row.step && !reader.has("throughput")) {
    throw InputError(row.where, "has no figure", known_row_example);
  }
  read_figure(reader, row);
  return row;
}

void Matched::expect_one(const Location& where) const {
  if (count <= 1) return;
  throw InputError(where, fmt::format("measured point matches {} points of the grid", count),
                   not_named.empty() ? "an axis has a value twice"
                                     : fmt::format("name its {}", fmt::join(not_named, ", ")));
}

Matched matched(const MeasuredRow& row, Axes axes, const std::optional<AxisValue>& gpus) {
  Matched found;
  for (const ScenarioFile::Axis& axis : axes) {
    const AxisValue* named = named_in(row, axis.path);
    if (named == nullptr && axis.path == "gpus" && gpus) named = &*gpus;
    const auto fits = [&](const AxisValue& value) {
      return named == nullptr || same(value, *named);
    };
    const auto first = std::ranges::find_if(axis.values, fits);
    found.first =
        found.first * axis.values.size() + static_cast<std::size_t>(first - axis.values.begin());
    found.count *= static_cast<std::size_t>(std::ranges::count_if(axis.values, fits));
    if (named == nullptr && axis.values.size() > 1) found.not_named.push_back(axis.path);
  }
  return found;
}

void expect_values(const MeasuredRow& row, Axes axes) {
  for (const ScenarioFile::Axis& axis : axes) {
    const AxisValue* named = named_in(row, axis.path);
    const auto is_named = [&](const AxisValue& value) { return same(value, *named); };
    if (named == nullptr || std::ranges::any_of(axis.values, is_named)) continue;
    throw InputError(
        row.where, fmt::format("{} \"{:.60}\" is not a value of its axis", axis.path, named->text),
        "it has " + first_of(axis.values));
  }
}

void refuse_one_gpu(const Location& where, const std::optional<Field>& throughput) {
  throw InputError(where, "is of one GPU, whose speed is an input",
                   fmt::format("write --set \"workload.single_gpu_throughput={}\"",
                               throughput ? throughput->text() : "..."));
}

}  // namespace paceline::loader
