#include "scenarios/loader/scenario_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <tuple>

#include "models/text/number.h"
#include "scenarios/document/document.h"
#include "scenarios/document/section.h"
#include "scenarios/loader/axis_value.h"
#include "scenarios/loader/load_scenario.h"
#include "scenarios/loader/sections.h"

namespace paceline {

using loader::axis_value;
using loader::Document;
using loader::Field;
using loader::Matched;
using loader::MeasuredRow;
using loader::Node;
using loader::Overrides;
using loader::Reader;
using loader::Section;

namespace {

ScenarioFile::Axis axis_of(const std::string& path, const Field& field) {
  const bool is_list = field.node().is_list() || field.node().is_null();
  return {path, {}, field.document()->folder, is_list ? field.list() : std::vector{field}};
}

// Field by field what is no map and no list, and those of both that are empty.
void flatten(const Field& value, std::map<std::string, ScenarioFile::Value>& into) {
  const Node& node = value.node();
  const std::string prefix = value.path().empty() ? "" : value.path() + ".";
  std::size_t number = 0;
  for (const Node& element : node.list()) {
    flatten(Field(value.document(), element, prefix + std::to_string(number++)), into);
  }
  for (const auto& [key, below] : node.entries()) {
    flatten(Field(value.document(), below, prefix + key.scalar()), into);
  }
  if (!node.list().empty() || !node.entries().empty()) return;
  const std::string text = node.is_scalar() ? node.scalar()
                           : node.is_map()  ? "\1{}"
                           : node.is_list() ? "\1[]"
                                            : "\1null";
  into.insert_or_assign(value.path(), ScenarioFile::Value{text, value.document()->folder});
}

void erase_below(const std::string& path, std::map<std::string, ScenarioFile::Value>& values) {
  values.erase(path);
  values.erase(values.lower_bound(path + "."), values.lower_bound(path + "/"));  // '.' + 1 is '/'
}

// By their numbers; behind the others where it is greater than all.
void insert_in_order(const Field& gpus, std::vector<Field>& values) {
  const auto number = [](const Field& field) { return number_of<double>(field.node().scalar()); };
  values.insert(std::ranges::find_if(
                    values, [&](const Field& other) { return number(other) > number(gpus); }),
                gpus);
}

// A value that stands twice would be run twice.
void refuse_values_twice(const ScenarioFile::Axis& axis) {
  std::vector<std::pair<AxisValue, const Field*>> values;
  for (const Field& field : axis.fields) {
    if (field.node().is_scalar()) values.emplace_back(axis_value(axis.path, field), &field);
  }
  // Beside each other those that are the same, in their order.
  std::ranges::stable_sort(values, {}, [](const auto& one) {
    return std::tie(one.first.unit, one.first.value, one.first.text);
  });
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (!loader::is_twice(values[i - 1].first, values[i].first)) continue;
    values[i].second->fail("is twice in its axis", "leave one of them out");
  }
}

// As a point has it, one of several where its axis has others.
Field value_of(const ScenarioFile::Axis& axis, std::size_t index) {
  const Field& value = axis.fields[index];
  return axis.fields.size() > 1 ? value.of_several() : value;
}

}  // namespace

void ScenarioFile::read_sweep() {
  Reader sweep = Reader(document_).map("sweep");
  for (const auto& [key, field] : sweep.entries()) {
    loader::check_path(field.location(), key);
    axes_.push_back(axis_of(key, field));
  }
  sweep.finish();
}

// A setting replaces an axis of its path, becomes one when it says so, or stands in for a value.
void ScenarioFile::apply(const Setting& setting) {
  if (setting.value.empty()) return;
  if (setting.is_known) return known_rows_.push_back(loader::known_row(setting.value));
  const Field field = loader::setting_field(setting);
  loader::check_path(field.location(), setting.path);
  if (setting.path == "sweep" || setting.path == "measured" ||
      setting.path.starts_with("measured.")) {
    field.fail("cannot be set", "set an axis: --set sweep.gpus=[1, 8]");
  }
  constexpr std::string_view sweep_prefix = "sweep.";
  const bool names_sweep = setting.path.starts_with(sweep_prefix);
  const std::string target = names_sweep ? setting.path.substr(sweep_prefix.size()) : setting.path;
  const auto axis = std::ranges::find(axes_, target, &Axis::path);
  if (axis != axes_.end()) {
    *axis = axis_of(target, field);
  } else if (names_sweep || (target == "gpus" && field.node().is_list())) {
    axes_.push_back(axis_of(target, field));
  } else {
    if (changed_by_.empty() && loader::is_of_another_run(document_, target, field)) {
      changed_by_ = fmt::format("{}={}", target, field.node().is_scalar() ? field.text() : "...");
    }
    settings_.insert_or_assign(target, setting.is_of_several ? field.of_several() : field);
  }
}

// An axis is meant by its path, too.
void ScenarioFile::leave_out(const Setting& setting) {
  const bool is_axis = bool(document_->root["sweep"][setting.path]);
  const Field was = loader::take_out(document_, setting, is_axis ? "sweep." : "");
  if (setting.path.starts_with("measured") || !changed_by_.empty()) return;
  if (is_axis || loader::is_of_another_run(document_, setting.path, was)) {
    changed_by_ = setting.path + "=";
  }
}

// The sections, and the settings over them.
Overrides ScenarioFile::given() const {
  Overrides all = settings_;
  all.insert(sections_.begin(), sections_.end());
  return all;
}

// What the file says of nodes is its cluster's size, which gpus changes; here it would be nothing.
void ScenarioFile::refuse_nodes_beside_gpus() const {
  Overrides said = given();
  for (const Axis& axis : axes_) said.emplace(axis.path, axis.fields.front());
  const auto nodes = said.find("cluster.nodes");
  if (!said.contains("gpus") || nodes == said.end()) return;
  nodes->second.fail("has no effect: gpus says how many nodes there are",
                     "leave one of the two out");
}

// Where no axis says them: those of the scenario.
Field ScenarioFile::gpus_as_they_are(const Field& asked) const {
  Overrides first = given();
  for (const Axis& axis : axes_) {
    const bool resizes = axis.path == "cluster" || axis.path == "cluster.preset" ||
                         axis.path == "cluster.nodes" || axis.path == "cluster.gpus_per_node";
    if (resizes && axis.fields.size() > 1) {
      asked.fail(
          fmt::format("is not a value of this sweep, where {} says how many there are", axis.path),
          fmt::format("name its {} instead", axis.path));
    }
    first.insert_or_assign(axis.path, value_of(axis, 0));
  }
  const auto ranks = loader::load_scenario(document_, first).cluster.ranks();
  return loader::setting_field({"gpus", std::to_string(ranks.value())});
}

// So that the grid has a point of as many GPUs.
void ScenarioFile::add_gpus_of(const Field& known_row) {
  Reader row(known_row);
  const auto gpus = row.find("gpus");
  if (!gpus) return;
  const std::uint64_t count = gpus->count(1, 1'000'000);
  if (count == 1) loader::refuse_one_gpu(known_row.location(), row.find("throughput"));
  auto axis = std::ranges::find(axes_, "gpus", &Axis::path);
  if (axis == axes_.end()) {
    const Field as_they_are = gpus_as_they_are(*gpus);
    if (as_they_are.text() == std::to_string(count)) return;
    settings_.erase("gpus");
    axis = axes_.insert(axes_.end(), axis_of("gpus", as_they_are));
  }
  const AxisValue asked = axis_value("gpus", *gpus);
  const bool is_there = std::ranges::any_of(axis->fields, [&](const Field& value) {
    return value.node().is_scalar() && loader::same(axis_value("gpus", value), asked);
  });
  if (is_there) return;
  if (axis->fields.size() == 1) gpus_unless_named_ = axis_value("gpus", axis->fields.front());
  insert_in_order(*gpus, axis->fields);
}

void ScenarioFile::make_grid(std::size_t most) {
  std::vector<std::size_t> sizes;
  for (const Axis& axis : axes_) sizes.push_back(axis.fields.size());
  for (Axis& axis : axes_) {
    if (axis.fields.size() > most / point_count_) {
      axis.fields.front().fail(
          fmt::format("makes a sweep of {} points", fmt::join(sizes, " x ")),
          fmt::format("{} at most {} points{}", most == points_max ? "run takes" : "a grid has",
                      most, most == points_max ? "; paceline sweep takes more" : ""));
    }
    point_count_ *= axis.fields.size();
    for (const Field& field : axis.fields) axis.values.push_back(axis_value(axis.path, field));
  }
}

std::vector<std::size_t> ScenarioFile::indices_of(std::size_t point) const {
  std::vector<std::size_t> indices(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    indices[i] = point % axes_[i].values.size();
    point /= axes_[i].values.size();
  }
  return indices;
}

std::vector<AxisValue> ScenarioFile::axes_of(std::size_t point) const {
  const std::vector<std::size_t> indices = indices_of(point);
  std::vector<AxisValue> values;
  for (std::size_t i = 0; i < indices.size(); ++i) values.push_back(axes_[i].values[indices[i]]);
  return values;
}

// A setting or an axis has other links than what the file says was measured.
bool ScenarioFile::changes_links() const {
  return !changed_by_.empty() || std::ranges::any_of(axes_, [](const Axis& axis) {
    return axis.path.starts_with("cluster.network.") ||
           axis.path.starts_with("cluster.intra_node.");
  });
}

Scenario ScenarioFile::scenario(std::size_t point) const {
  Overrides overrides = given();
  const std::vector<std::size_t> indices = indices_of(point);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    overrides.insert_or_assign(axes_[i].path, value_of(axes_[i], indices[i]));
  }
  Scenario made = loader::load_scenario(document_, overrides);
  for (const auto& [target, field] : sections_) {
    if (!settings_.contains(target)) made.set_paths.erase(target);
  }
  made.network_is_measured = network_given_ == NetworkKnowledge::measured && !changes_links();
  return made;
}

MeasuredPoint ScenarioFile::measured_at(std::size_t point, const MeasuredRow& row) const {
  MeasuredPoint found{row.where, {}, row.known, row.deviation, row.step.has_value()};
  if (row.step) {
    const Scenario at = scenario(point);
    found.throughput = SamplesPerSecond(static_cast<double>(at.workload.batch_per_gpu) *
                                        at.training.gradient_accumulation *
                                        at.cluster.ranks().value() / row.step->value());
  } else {
    const bool is_of_tokens = row.throughput->text().ends_with("tokens/s");
    found.throughput = is_of_tokens
                           ? loader::throughput_of(*row.throughput, scenario(point).network.get())
                           : row.throughput->throughput();
  }
  return found;
}

// Whether two points of the grid are one run under two names: their axes say something else of
// networks that one node does not use, or of a strategy's step, which is the same.
bool ScenarioFile::are_one_run(std::size_t a, std::size_t b) const {
  const Scenario one = scenario(a), other = scenario(b);
  const std::vector<std::size_t> of_one = indices_of(a), of_other = indices_of(b);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::string& path = axes_[i].path;
    const bool is_unused = path.starts_with("cluster.network.") && one.cluster.nodes == 1;
    if (of_one[i] != of_other[i] && !is_unused && !path.starts_with("training.")) return false;
  }
  const auto step = [](const Scenario& of) {
    return build_step(*of.strategy, strategy_request(of)).program;
  };
  return are_alike(step(one), step(other), Seconds(1e-12));
}

// Throws where the row may be of several runs; of points that are one run the first has it.
Matched ScenarioFile::matched(const MeasuredRow& row) const {
  Matched found = loader::matched(row, axes_, gpus_unless_named_);
  constexpr std::size_t most = 64;  // are compared
  const bool is_one = found.count > 1 && found.count <= most &&
                      std::ranges::all_of(found.points(axes_), [&](std::size_t point) {
                        return are_one_run(found.first, point);
                      });
  if (!is_one) found.expect_one(row.where);
  return found;
}

void ScenarioFile::match(const MeasuredRow& row) {
  const Matched found = matched(row);
  if (found.count == 0 || !changed_by_.empty()) return unmatched_.push_back(row.where);
  if (!measured_.emplace(found.first, measured_at(found.first, row)).second) {
    throw InputError(row.where, "a second measured point for the same point of the grid",
                     "keep one of them");
  }
}

// In place of what the file says was measured there.
void ScenarioFile::take_known_rows() {
  std::set<std::size_t> taken;
  for (const Field& known_row : known_rows_) {
    const MeasuredRow row = loader::row_of_command_line(known_row, axes_);
    loader::expect_values(row, axes_);
    const Matched found = matched(row);
    if (scenario(found.first).cluster.ranks().value() == 1) {
      loader::refuse_one_gpu(row.where, row.throughput);
    }
    if (!taken.insert(found.first).second) {
      throw InputError(row.where, "is of the same point as another --known", "keep one of them");
    }
    measured_.insert_or_assign(found.first, measured_at(found.first, row));
  }
  if (known_rows_.empty()) return;
  const bool is_alone = measured_.size() == taken.size();
  measured_source_ = is_alone ? "--known" : measured_source_ + "; --known";
}

void ScenarioFile::read_measured() {
  Reader file(document_);
  if (!file.has("measured")) return;
  Section section(file.map("measured"), loader::measured_keys());
  measured_source_ = section.text("source");
  measured_by_ = section.text("by");
  network_given_ = section.find<NetworkKnowledge>("network");
  for (const Field& entry : section.require("points").list()) {
    // A row of another run may name an axis that a setting leaves out.
    changed_by_.empty() ? match(loader::row_of_file(entry, axes_))
                        : unmatched_.push_back(entry.location());
  }
  section.finish();
}

ScenarioFile ScenarioFile::read(const std::string& path, const std::vector<Setting>& settings,
                                std::size_t most) {
  ScenarioFile file;
  file.document_ = loader::read_document(path);
  file.path_ = file.document_->name;
  file.load(settings, most);
  return file;
}

ScenarioFile ScenarioFile::of_values(const std::string& name, const ScenarioValues& values,
                                     const std::vector<Setting>& settings) {
  ScenarioFile file;
  auto by_path = values.by_path;
  by_path.emplace("schema", "paceline/1");
  file.document_ = loader::make_document(name, by_path, values.lists, values.yaml);
  file.path_ = name;
  file.load(settings, points_max);
  if (values.measured) {
    file.measured_source_ = values.measured->source;
    file.match({{name}, {}, std::nullopt, values.measured->step});
  }
  return file;
}

ScenarioFile ScenarioFile::of_sections(const std::string& name,
                                       const std::map<std::string, Field>& sections,
                                       const std::vector<Setting>& settings) {
  ScenarioFile file;
  auto document = *loader::make_document(name, {{"schema", "paceline/1"}});
  std::map<std::string, Value> values;
  for (const auto& [path, section] : sections) {
    erase_below(path, values);
    flatten(Field(section.document(), section.node(), path), values);
  }
  for (const auto& [path, value] : values) document.text += path + ": " + value.text + "\n";
  file.document_ = std::make_shared<Document>(std::move(document));
  file.path_ = name;
  file.sections_ = sections;
  file.load(settings, points_max);
  return file;
}

void ScenarioFile::load(const std::vector<Setting>& settings, std::size_t most) {
  sha256_ = loader::sha256_of(document_->text);
  given_settings_ = settings;
  if (!document_->root.is_map()) {
    throw InputError({path_}, "is not a scenario", "write schema: paceline/1 and its keys");
  }
  for (const Setting& setting : settings) {
    if (setting.value.empty()) leave_out(setting);
  }
  read_sweep();
  for (const Setting& setting : settings) apply(setting);
  for (const Axis& axis : axes_) refuse_values_twice(axis);
  refuse_nodes_beside_gpus();
  for (const Field& row : known_rows_) add_gpus_of(row);
  make_grid(most);
  const Scenario first = scenario(0);
  name_ = first.name;
  seed_ = first.seed;
  has_calibration_ = !first.calibration.empty() || !first.learnt.empty();
  read_measured();
  take_known_rows();
}

std::size_t ScenarioFile::point_named(const std::string& values) const {
  return loader::point_named(values, axes_);
}

std::vector<ScenarioFile::Setting> ScenarioFile::settings_of(const std::string& values) const {
  std::vector<Setting> made = without_known(given_settings_);
  for (const AxisValue& axis : axes_of(point_named(values))) {
    std::erase_if(made, [&](const Setting& one) { return one.path == axis.path; });
    made.push_back({axis.path, axis.text});
  }
  return made;
}

std::optional<Location> ScenarioFile::place_of(const std::string& path) const {
  if (!document_->has_lines) return std::nullopt;
  Node node = document_->root;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    node = node[key];
    if (!node) return std::nullopt;
  }
  return loader::location_of(*document_, node);
}

std::map<std::string, ScenarioFile::Value> ScenarioFile::values() const {
  std::map<std::string, Value> all;
  flatten(Field(document_, document_->root, ""), all);
  for (const char* path : {"sweep", "measured"}) erase_below(path, all);
  for (const Axis& axis : axes_) erase_below(axis.path, all);
  // One below another path is behind it.
  for (const auto& [path, field] : given()) {
    erase_below(path, all);
    flatten(Field(field.document(), field.node(), path), all);
  }
  all.erase("name");
  return all;
}

NetworkKnowledge ScenarioFile::network() const {
  if (network_given_) return *network_given_;
  if (has_calibration_) return NetworkKnowledge::measured;
  const auto nodes = [&](std::size_t point) { return scenario(point).cluster.nodes; };
  const std::vector<std::size_t> known = known_points();
  // A row of one node says nothing of what joins several.
  const bool is_known = std::ranges::any_of(
      known, [&](std::size_t point) { return nodes(point) > 1 || nodes(point_count() - 1) == 1; });
  return is_known ? NetworkKnowledge::measured : NetworkKnowledge::described;
}

std::optional<MeasuredPoint> ScenarioFile::measured(std::size_t point) const {
  const auto found = measured_.find(point);
  return found == measured_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::size_t> ScenarioFile::known_points() const {
  std::vector<std::size_t> points;
  for (const auto& [point, measured] : measured_) {
    if (measured.known) points.push_back(point);
  }
  return points;
}

std::vector<ScenarioFile::Setting> without_known(std::vector<ScenarioFile::Setting> settings) {
  std::erase_if(settings, [](const ScenarioFile::Setting& one) { return one.is_known; });
  return settings;
}

std::vector<std::string> spelled(const std::vector<ScenarioFile::Setting>& settings) {
  std::vector<std::string> all;
  for (const ScenarioFile::Setting& one : settings) all.push_back(one.path + "=" + one.value);
  return all;
}

std::string in_words(const std::vector<ScenarioFile::Setting>& settings) {
  std::vector<std::string> words;
  for (const ScenarioFile::Setting& setting : settings) {
    const std::string& path = setting.path;
    words.push_back(fmt::format("{}={}", path.substr(path.rfind('.') + 1), setting.value));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string in_words(const std::vector<AxisValue>& axes) {
  std::string words;
  for (const AxisValue& axis : axes) {
    if (axis.path == "gpus") continue;
    words += fmt::format("{}{}={}", words.empty() ? "" : ", ", axis.path, axis.text);
  }
  return words;
}

Scenario scenario_of_options(const ScenarioValues& values,
                             const std::vector<ScenarioFile::Setting>& settings) {
  const std::string name = "command line";
  const auto made = ScenarioFile::of_values(name, values, settings);
  if (made.point_count() > 1) {
    throw InputError({name}, fmt::format("makes a sweep of {} points", made.point_count()),
                     "give one value of each");
  }
  return made.scenario(0);
}

}  // namespace paceline
