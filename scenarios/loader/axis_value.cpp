#include "scenarios/loader/axis_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <sstream>

#include "models/text/number.h"
#include "models/units/parse.h"

namespace paceline::loader {

AxisValue axis_value(const std::string& path, const Field& field) {
  const std::string text = field.text();
  if (const auto number = number_of<double>(text)) return {path, text, "1", *number};
  const auto try_unit = [&]<class T>(const Parsed<T>& parsed, const char* unit) {
    const auto* value = std::get_if<T>(&parsed);
    return value ? std::optional(AxisValue{path, text, unit, static_cast<double>(value->value())})
                 : std::nullopt;
  };
  if (auto value = try_unit(parse_seconds(text), "s")) return *value;
  if (auto value = try_unit(parse_bytes(text), "B")) return *value;
  if (auto value = try_unit(parse_bandwidth(text), "B/s")) return *value;
  if (auto value = try_unit(parse_throughput(text), "1/s")) return *value;
  return {path, text, "", text};
}

bool same(const AxisValue& a, const AxisValue& b) {
  const auto* x = std::get_if<double>(&a.value);
  const auto* y = std::get_if<double>(&b.value);
  if (x == nullptr || y == nullptr || a.unit != b.unit)
    return a.unit == b.unit && a.value == b.value;
  return std::abs(*x - *y) <= 1e-12 * std::max(std::abs(*x), std::abs(*y));
}

bool is_twice(const AxisValue& a, const AxisValue& b) {
  return a.unit == "1" && b.unit == "1" ? a.text == b.text : same(a, b);
}

std::string first_of(std::span<const AxisValue> values) {
  constexpr std::size_t most = 5;
  std::string all;
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i) {
    all += (i == 0 ? "" : ", ") + values[i].text;
  }
  return values.size() > most ? all + ", ..." : all;
}

Field setting_field(const ScenarioFile::Setting& setting) {
  auto document = std::make_shared<Document>(*parse_document(setting.as_typed(), setting.value));
  document->has_lines = false;
  const Node root = document->root;
  return Field(std::move(document), root, setting.path);
}

void check_path(const Location& where, const std::string& path) {
  if (("." + path + ".").find("..") == std::string::npos) return;
  throw InputError(where, fmt::format("path \"{:.60}\" has an empty part", path),
                   "write it as cluster.network.latency");
}

std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& text,
                                                          const Location& where,
                                                          const char* example) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto equals = part.find('=');
    std::string path = part.substr(0, equals);
    path.erase(0, path.find_first_not_of(' '));
    path.erase(path.find_last_not_of(' ') + 1);
    if (equals == part.npos || path.empty()) {
      throw InputError(where, fmt::format("\"{:.60}\" is not path=value", part), example);
    }
    if (std::ranges::find(pairs, path, &std::pair<std::string, std::string>::first) !=
        pairs.end()) {
      throw InputError(where, fmt::format("{:.60} is named twice", path), "name it once");
    }
    pairs.emplace_back(std::move(path), part.substr(equals + 1));
  }
  return pairs;
}

namespace {

// Nothing where the map does not have it. Keys may have dots, as those of a sweep.
Node take_out(Node& map, std::string_view path) {
  std::vector<Node::Entry> entries = map.entries();
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    const std::string key = entry->first.scalar();
    Node out;
    if (path == key) {
      out = entry->second;
      entries.erase(entry);
    } else if (path.starts_with(key + ".")) {
      out = take_out(entry->second, path.substr(key.size() + 1));
    }
    if (!out) continue;
    map = Node(std::move(entries), map.place());
    return out;
  }
  return {};
}

std::string axes_in_words(std::span<const ScenarioFile::Axis> axes) {
  std::vector<std::string> words;
  for (const ScenarioFile::Axis& axis : axes) {
    words.push_back(fmt::format("{}: {}", axis.path, first_of(axis.values)));
  }
  return words.empty() ? "it has one point: leave --point out"
                       : fmt::format("it has {}", fmt::join(words, "; "));
}

}  // namespace

Field take_out(DocumentPtr& document, const ScenarioFile::Setting& setting,
               const std::string& prefix) {
  const auto rest = std::make_shared<Document>(*document);
  const Node out = take_out(rest->root, prefix + setting.path);
  if (!out) {
    throw InputError({setting.as_typed()}, "leaves out what " + document->name + " does not have",
                     "write a value behind =, or leave the option out");
  }
  return {std::exchange(document, rest), out, setting.path};
}

std::size_t point_named(const std::string& text, std::span<const ScenarioFile::Axis> axes) {
  const Location where{"--point " + text};
  std::vector<std::size_t> indices;
  for (const ScenarioFile::Axis& axis : axes) indices.push_back(axis.values.size() - 1);
  for (const auto& [path, value] : pairs_of(text, where, "write --point gpus=8")) {
    const auto axis = std::ranges::find(axes, path, &ScenarioFile::Axis::path);
    if (axis == axes.end()) {
      throw InputError(where, fmt::format("the sweep has no axis {:.60}", path),
                       axes_in_words(axes));
    }
    const AxisValue asked = axis_value(path, setting_field({path, value}));
    const auto found = std::ranges::find_if(
        axis->values, [&](const AxisValue& known) { return same(known, asked); });
    if (found == axis->values.end()) {
      throw InputError(where, fmt::format("{} \"{:.60}\" is no value of its axis", path, value),
                       "it has " + first_of(axis->values));
    }
    indices[static_cast<std::size_t>(axis - axes.begin())] =
        static_cast<std::size_t>(found - axis->values.begin());
  }
  std::size_t point = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) point = point * axes[i].values.size() + indices[i];
  return point;
}

namespace {

constexpr const char* known_row_example = "write --known \"gpus=2,throughput=350 samples/s\"";

// Asks for the rest of the row, so that a misspelt figure is reported as such, not as missing.
void read_axes(Reader& reader, Axes axes, MeasuredRow& row) {
  for (const ScenarioFile::Axis& axis : axes) {
    if (const auto value = reader.find(axis.path)) {
      row.axes.push_back(axis_value(axis.path, *value));
    }
  }
  if (const auto deviation = reader.find("std")) {
    if (!row.known) deviation->fail("counts for a known row", "add known: true");
    row.deviation = deviation->number(0.001, 0.5);
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

std::vector<std::size_t> Matched::points(Axes axes) const {
  std::vector<std::size_t> all{0};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::vector<std::size_t> longer;
    for (const std::size_t point : all) {
      for (const std::size_t number : fits[i]) {
        longer.push_back(point * axes[i].values.size() + number);
      }
    }
    all = std::move(longer);
  }
  return all;
}

Matched matched(const MeasuredRow& row, Axes axes, const std::optional<AxisValue>& gpus) {
  Matched found;
  for (const ScenarioFile::Axis& axis : axes) {
    const AxisValue* named = named_in(row, axis.path);
    if (named == nullptr && axis.path == "gpus" && gpus) named = &*gpus;
    const auto fits = [&](const AxisValue& value) {
      return named == nullptr || same(value, *named);
    };
    std::vector<std::size_t>& numbers = found.fits.emplace_back();
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      if (fits(axis.values[i])) numbers.push_back(i);
    }
    found.first = found.first * axis.values.size() + (numbers.empty() ? 0 : numbers.front());
    found.count *= numbers.size();
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
