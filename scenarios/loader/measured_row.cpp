#include "scenarios/loader/measured_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scenarios/loader/axis_value.h"
#include "scenarios/loader/known_row.h"

namespace paceline::loader {
namespace {

// `fitted` is the older spelling of `known`.
bool is_known(Reader& point) {
  const auto known = point.find("known"), fitted = point.find("fitted");
  if (known && fitted) fitted->fail("is the older spelling of known", "leave it out");
  if (known) return known->boolean();
  return fitted && fitted->boolean();
}

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
  const Overrides none;
  Reader reader(entry.document(), entry.node(), "measured.points", none);
  MeasuredRow row;
  row.where = entry.location();
  row.known = is_known(reader);
  read_axes(reader, axes, row);
  read_figure(reader, row);
  return row;
}

MeasuredRow row_of_command_line(const Field& known_row, Axes axes) {
  const Overrides none;
  Reader reader(known_row, none);
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
