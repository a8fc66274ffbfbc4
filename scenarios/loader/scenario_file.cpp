#include "scenarios/loader/scenario_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "models/text/number.h"
#include "scenarios/loader/axis_value.h"
#include "scenarios/loader/document/sha256.h"
#include "scenarios/loader/known_row.h"
#include "scenarios/loader/load_scenario.h"
#include "scenarios/loader/measured_row.h"
#include "scenarios/loader/point_named.h"
#include "scenarios/loader/sections.h"
#include "scenarios/loader/setting_field.h"

namespace paceline {

using loader::check_path;
using loader::Document;
using loader::DocumentPtr;
using loader::Field;
using loader::Matched;
using loader::MeasuredRow;
using loader::Overrides;
using loader::Reader;
using loader::Section;
using loader::setting_field;

namespace {

// An axis as it stands in a text.
struct RawAxis {
  std::string path;
  std::vector<Field> values;
};

std::vector<Field> fields_of(const Field& field) {
  if (field.node().IsSequence() || field.node().IsNull()) return field.list();
  return {field};
}

// Field by field what is no map and no list, and those of both that are empty.
void flatten(const Field& value, std::map<std::string, ScenarioFile::Value>& into) {
  const YAML::Node& node = value.node();
  const auto put = [&](const std::string& text) {
    into.insert_or_assign(value.path(), ScenarioFile::Value{text, value.document()->folder});
  };
  if (node.IsScalar()) return put(node.Scalar());
  if (node.IsNull()) return put("\1null");
  if (node.size() == 0) return put(node.IsMap() ? "\1{}" : "\1[]");
  std::size_t number = 0;
  for (const auto& entry : node) {
    const std::string key = node.IsMap() ? entry.first.as<std::string>("") : std::to_string(number);
    const std::string path = value.path().empty() ? key : value.path() + "." + key;
    flatten(Field(value.document(), node.IsMap() ? entry.second : YAML::Node(entry), path), into);
    ++number;
  }
}

void erase_below(const std::string& path, std::map<std::string, ScenarioFile::Value>& values) {
  values.erase(path);
  values.erase(values.lower_bound(path + "."), values.lower_bound(path + "/"));  // '.' + 1 is '/'
}

// By their numbers; behind the others where it is greater than all.
void insert_in_order(const Field& gpus, std::vector<Field>& values) {
  const auto number = [](const Field& field) {
    return field.node().IsScalar() ? number_of<double>(field.node().Scalar()) : std::nullopt;
  };
  values.insert(std::ranges::find_if(
                    values, [&](const Field& other) { return number(other) > number(gpus); }),
                gpus);
}

}  // namespace

struct ScenarioFile::State {
  DocumentPtr document;
  std::string path, name, sha256;
  std::uint64_t seed = 1;
  std::vector<Setting> given_settings;
  Overrides sections;  // that have texts of their own
  Overrides settings;
  std::vector<Field> known_rows;  // of settings
  std::vector<RawAxis> raw_axes;
  // The GPUs of measured points that name none, where the axis is a known row's.
  std::optional<AxisValue> gpus_unless_named;
  std::vector<Axis> axes;
  std::size_t point_count = 1;
  std::string measured_source, measured_by;
  std::optional<NetworkKnowledge> network_given;
  bool has_calibration = false;  // the first point
  std::map<std::size_t, MeasuredPoint> measured;
  std::vector<Location> unmatched;
  bool changes_the_measured = false;  // by a setting

  void apply(const std::vector<Setting>& list);
  [[nodiscard]] Overrides given() const;
  void read_sweep();
  void refuse_values_twice() const;
  void refuse_nodes_beside_gpus() const;
  void add_gpus_of(const Field& known_row);
  [[nodiscard]] Field gpus_as_they_are(const Field& asked) const;
  void make_grid(std::size_t most);
  void read_measured();
  void match(const MeasuredRow& row);
  void take_known_rows();
  [[nodiscard]] MeasuredPoint measured_at(std::size_t point, const MeasuredRow& row) const;
  [[nodiscard]] std::vector<std::size_t> indices_of(std::size_t point) const;
  [[nodiscard]] Scenario scenario(std::size_t point) const;
  [[nodiscard]] bool changes_links() const;
};

void ScenarioFile::State::read_sweep() {
  Overrides none;
  Reader file(document, document->root, "", none);
  Reader sweep = file.map("sweep");
  for (const auto& [key, field] : sweep.entries()) {
    check_path(field.location(), key);
    raw_axes.push_back({key, fields_of(field)});
  }
  sweep.finish();
}

// A setting replaces an axis of its path, becomes one when it says so, or stands in for a value.
void ScenarioFile::State::apply(const std::vector<Setting>& list) {
  constexpr std::string_view sweep_prefix = "sweep.";
  for (const Setting& setting : list) {
    if (setting.is_known) {
      known_rows.push_back(loader::known_row(setting.value));
      continue;
    }
    Field field = setting_field(setting);
    check_path(field.location(), setting.path);
    if (setting.path == "sweep" || setting.path == "measured" ||
        setting.path.rfind("measured.", 0) == 0) {
      field.fail("cannot be set", "set an axis: --set sweep.gpus=[1, 8]");
    }
    const bool names_sweep = setting.path.rfind(sweep_prefix, 0) == 0;
    const std::string target =
        names_sweep ? setting.path.substr(sweep_prefix.size()) : setting.path;
    const auto axis = std::find_if(raw_axes.begin(), raw_axes.end(),
                                   [&](const RawAxis& known) { return known.path == target; });
    if (axis != raw_axes.end()) {
      axis->values = fields_of(field);
    } else if (names_sweep || (target == "gpus" && field.node().IsSequence())) {
      raw_axes.push_back({target, fields_of(field)});
    } else {
      // What was measured is not this any more, whatever the value; but for how it is predicted.
      constexpr std::string_view of_prediction[] = {"contention", "call_contention", "ranks.spread",
                                                    "cluster.calibration"};
      if (target.rfind("simulation.", 0) != 0 &&
          std::ranges::find(of_prediction, target) == std::end(of_prediction)) {
        changes_the_measured = true;
      }
      settings.insert_or_assign(target, setting.is_of_several ? field.of_several() : field);
    }
  }
}

// The sections, and the settings over them.
Overrides ScenarioFile::State::given() const {
  Overrides all = sections;
  for (const auto& [target, field] : settings) all.insert_or_assign(target, field);
  return all;
}

// A value that stands twice would be run twice.
void ScenarioFile::State::refuse_values_twice() const {
  for (const RawAxis& axis : raw_axes) {
    std::vector<std::pair<AxisValue, const Field*>> values;
    for (const Field& field : axis.values) {
      if (field.node().IsScalar())
        values.emplace_back(loader::axis_value(axis.path, field), &field);
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
}

// What the file says of nodes is its cluster's size, which gpus changes; here it would be nothing.
void ScenarioFile::State::refuse_nodes_beside_gpus() const {
  constexpr std::string_view gpus = "gpus", nodes = "cluster.nodes";
  std::map<std::string_view, const Field*> said;
  for (const Overrides* part : {&settings, &sections}) {
    for (const auto& [target, field] : *part) said.emplace(target, &field);
  }
  for (const RawAxis& axis : raw_axes) said.emplace(axis.path, &axis.values.front());
  if (!said.contains(gpus) || !said.contains(nodes)) return;
  said.at(nodes)->fail("has no effect: gpus says how many nodes there are",
                       "leave one of the two out");
}

// Where no axis says them: those of the scenario.
Field ScenarioFile::State::gpus_as_they_are(const Field& asked) const {
  Overrides first = given();
  for (const RawAxis& axis : raw_axes) {
    const bool resizes = axis.path == "cluster" || axis.path == "cluster.preset" ||
                         axis.path == "cluster.nodes" || axis.path == "cluster.gpus_per_node";
    if (resizes && axis.values.size() > 1) {
      asked.fail(
          fmt::format("is not a value of this sweep, where {} says how many there are", axis.path),
          fmt::format("name its {} instead", axis.path));
    }
    const Field& value = axis.values.front();
    first.insert_or_assign(axis.path, axis.values.size() > 1 ? value.of_several() : value);
  }
  const auto ranks = loader::load_scenario(document, first).cluster.ranks();
  return setting_field({"gpus", std::to_string(ranks.value())});
}

// So that the grid has a point of as many GPUs.
void ScenarioFile::State::add_gpus_of(const Field& known_row) {
  Overrides none;
  Reader row(known_row, none);
  const auto gpus = row.find("gpus");
  if (!gpus) return;
  const std::uint64_t count = gpus->count(1, 1'000'000);
  if (count == 1) loader::refuse_one_gpu(known_row.location(), row.find("throughput"));
  auto axis = std::ranges::find(raw_axes, "gpus", &RawAxis::path);
  if (axis == raw_axes.end()) {
    const Field as_they_are = gpus_as_they_are(*gpus);
    if (as_they_are.text() == std::to_string(count)) return;
    settings.erase("gpus");
    axis = raw_axes.insert(raw_axes.end(), {"gpus", {as_they_are}});
  }
  const AxisValue asked = loader::axis_value("gpus", *gpus);
  const bool is_there = std::ranges::any_of(axis->values, [&](const Field& value) {
    return value.node().IsScalar() && loader::same(loader::axis_value("gpus", value), asked);
  });
  if (is_there) return;
  if (axis->values.size() == 1)
    gpus_unless_named = loader::axis_value("gpus", axis->values.front());
  insert_in_order(*gpus, axis->values);
}

void ScenarioFile::State::make_grid(std::size_t most) {
  for (const RawAxis& axis : raw_axes) {
    if (axis.values.size() > most / point_count) {
      std::string sizes;
      for (const RawAxis& each : raw_axes) {
        sizes += fmt::format("{}{}", sizes.empty() ? "" : " x ", each.values.size());
      }
      axis.values.front().fail(
          fmt::format("makes a sweep of {} points", sizes),
          fmt::format("{} at most {} points{}", most == points_max ? "run takes" : "a grid has",
                      most, most == points_max ? "; paceline sweep takes more" : ""));
    }
    point_count *= axis.values.size();
    Axis typed{axis.path, {}, axis.values.front().document()->folder};
    for (const Field& field : axis.values)
      typed.values.push_back(loader::axis_value(axis.path, field));
    axes.push_back(std::move(typed));
  }
}

std::vector<std::size_t> ScenarioFile::State::indices_of(std::size_t point) const {
  std::vector<std::size_t> indices(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    indices[i] = point % axes[i].values.size();
    point /= axes[i].values.size();
  }
  return indices;
}

// A setting or an axis has other links than what the file says was measured.
bool ScenarioFile::State::changes_links() const {
  return changes_the_measured || std::ranges::any_of(axes, [](const Axis& axis) {
           return axis.path.starts_with("cluster.network.") ||
                  axis.path.starts_with("cluster.intra_node.");
         });
}

Scenario ScenarioFile::State::scenario(std::size_t point) const {
  Overrides overrides = given();
  const std::vector<std::size_t> indices = indices_of(point);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Field& value = raw_axes[i].values[indices[i]];
    overrides.insert_or_assign(axes[i].path,
                               axes[i].values.size() > 1 ? value.of_several() : value);
  }
  Scenario made = loader::load_scenario(document, overrides);
  for (const auto& [target, field] : sections) {
    if (!settings.contains(target)) made.set_paths.erase(target);
  }
  made.network_is_measured = network_given == NetworkKnowledge::measured && !changes_links();
  return made;
}

MeasuredPoint ScenarioFile::State::measured_at(std::size_t point, const MeasuredRow& row) const {
  MeasuredPoint found{row.where, {}, row.known};
  if (row.step) {
    const Scenario at = scenario(point);
    found.throughput = SamplesPerSecond(static_cast<double>(at.workload.batch_per_gpu) *
                                        at.training.gradient_accumulation *
                                        at.cluster.ranks().value() / row.step->value());
  } else {
    const bool is_of_tokens = row.throughput->text().ends_with("tokens/s");
    found.throughput = is_of_tokens ? loader::throughput_of(*row.throughput, scenario(point))
                                    : row.throughput->throughput();
  }
  return found;
}

void ScenarioFile::State::match(const MeasuredRow& row) {
  const Matched found = loader::matched(row, axes, gpus_unless_named);
  if (found.count == 0 || changes_the_measured) {
    unmatched.push_back(row.where);
    return;
  }
  found.expect_one(row.where);
  if (!measured.emplace(found.first, measured_at(found.first, row)).second) {
    throw InputError(row.where, "a second measured point for the same point of the grid",
                     "keep one of them");
  }
}

// In place of what the file says was measured there.
void ScenarioFile::State::take_known_rows() {
  std::set<std::size_t> taken;
  for (const Field& known_row : known_rows) {
    const MeasuredRow row = loader::row_of_command_line(known_row, axes);
    loader::expect_values(row, axes);
    const Matched found = loader::matched(row, axes, gpus_unless_named);
    found.expect_one(row.where);
    if (scenario(found.first).cluster.ranks().value() == 1) {
      loader::refuse_one_gpu(row.where, row.throughput);
    }
    if (!taken.insert(found.first).second) {
      throw InputError(row.where, "is of the same point as another --known", "keep one of them");
    }
    measured.insert_or_assign(found.first, measured_at(found.first, row));
  }
  if (known_rows.empty()) return;
  const bool is_alone = measured.size() == taken.size();
  measured_source = is_alone ? "--known" : measured_source + "; --known";
}

void ScenarioFile::State::read_measured() {
  Overrides none;
  Reader file(document, document->root, "", none);
  if (!file.has("measured")) return;
  Section section(file.map("measured"), loader::measured_keys());
  measured_source = section.require("source").text();
  if (const auto by = section.field("by")) measured_by = by->text();
  network_given = section.find<NetworkKnowledge>("network");
  for (const Field& entry : section.require("points").list())
    match(loader::row_of_file(entry, axes));
  section.finish();
}

ScenarioFile::ScenarioFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
ScenarioFile::ScenarioFile(ScenarioFile&&) noexcept = default;
ScenarioFile& ScenarioFile::operator=(ScenarioFile&&) noexcept = default;
ScenarioFile::~ScenarioFile() = default;

ScenarioFile ScenarioFile::read(const std::string& path, const std::vector<Setting>& settings) {
  return read(path, settings, points_max);
}

ScenarioFile ScenarioFile::read(const std::string& path, const std::vector<Setting>& settings,
                                std::size_t most) {
  auto state = std::make_unique<State>();
  state->document = loader::read_document(path);
  state->path = state->document->name;
  return of_state(std::move(state), settings, most);
}

ScenarioFile ScenarioFile::of_values(const std::string& name, const ScenarioValues& values,
                                     const std::vector<Setting>& settings) {
  auto state = std::make_unique<State>();
  auto by_path = values.by_path;
  by_path.emplace("schema", "paceline/1");
  state->document = loader::make_document(name, by_path, values.lists, values.yaml);
  state->path = name;
  ScenarioFile made = of_state(std::move(state), settings, points_max);
  if (values.measured) {
    made.state_->measured_source = values.measured->source;
    made.state_->match({{name, 0, 0}, {}, std::nullopt, values.measured->step});
  }
  return made;
}

ScenarioFile ScenarioFile::of_sections(const std::string& name,
                                       const std::map<std::string, Field>& sections,
                                       const std::vector<Setting>& settings) {
  auto state = std::make_unique<State>();
  auto document = *loader::make_document(name, {{"schema", "paceline/1"}});
  std::map<std::string, Value> values;
  for (const auto& [path, section] : sections) {
    erase_below(path, values);
    flatten(Field(section.document(), section.node(), path), values);
  }
  for (const auto& [path, value] : values) document.text += path + ": " + value.text + "\n";
  state->document = std::make_shared<Document>(std::move(document));
  state->path = name;
  state->sections = sections;
  return of_state(std::move(state), settings, points_max);
}

ScenarioFile ScenarioFile::of_state(std::unique_ptr<State> state,
                                    const std::vector<Setting>& settings, std::size_t most) {
  state->sha256 = loader::sha256_of(state->document->text);
  state->given_settings = settings;
  if (!state->document->root.IsMap()) {
    throw InputError({state->path, 0, 0}, "is not a scenario",
                     "write schema: paceline/1 and its keys");
  }
  state->read_sweep();
  state->apply(settings);
  state->refuse_values_twice();
  state->refuse_nodes_beside_gpus();
  for (const Field& row : state->known_rows) state->add_gpus_of(row);
  state->make_grid(most);
  const Scenario first = state->scenario(0);
  state->name = first.name;
  state->seed = first.seed;
  state->has_calibration = !first.calibration.empty() || !first.learnt.empty();
  state->read_measured();
  state->take_known_rows();
  return ScenarioFile(std::move(state));
}

const std::string& ScenarioFile::path() const { return state_->path; }
const std::string& ScenarioFile::name() const { return state_->name; }
std::uint64_t ScenarioFile::seed() const { return state_->seed; }
const std::string& ScenarioFile::text() const { return state_->document->text; }
std::string ScenarioFile::sha256() const { return state_->sha256; }
const std::vector<ScenarioFile::Setting>& ScenarioFile::settings() const {
  return state_->given_settings;
}
const std::vector<ScenarioFile::Axis>& ScenarioFile::axes() const { return state_->axes; }
std::size_t ScenarioFile::point_count() const { return state_->point_count; }
std::vector<std::size_t> ScenarioFile::indices_of(std::size_t point) const {
  return state_->indices_of(point);
}
Scenario ScenarioFile::scenario(std::size_t point) const { return state_->scenario(point); }
const std::string& ScenarioFile::measured_source() const { return state_->measured_source; }
const std::vector<Location>& ScenarioFile::unmatched() const { return state_->unmatched; }

std::vector<AxisValue> ScenarioFile::axes_of(std::size_t point) const {
  const std::vector<std::size_t> indices = indices_of(point);
  std::vector<AxisValue> values;
  for (std::size_t i = 0; i < indices.size(); ++i) values.push_back(axes()[i].values[indices[i]]);
  return values;
}

std::size_t ScenarioFile::point_named(const std::string& values) const {
  return loader::point_named(values, state_->axes);
}

std::optional<Location> ScenarioFile::place_of(const std::string& path) const {
  if (!state_->document->has_lines) return std::nullopt;
  YAML::Node node = state_->document->root;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    if (!node.IsMap()) return std::nullopt;
    const YAML::Node below = std::as_const(node)[key];
    if (!below.IsDefined()) return std::nullopt;
    node.reset(below);
  }
  return loader::location_of(*state_->document, node);
}

std::map<std::string, ScenarioFile::Value> ScenarioFile::values() const {
  std::map<std::string, Value> all;
  flatten(Field(state_->document, state_->document->root, ""), all);
  for (const char* path : {"sweep", "measured"}) erase_below(path, all);
  for (const Axis& axis : axes()) erase_below(axis.path, all);
  // One below another path is behind it.
  for (const auto& [path, field] : state_->given()) {
    erase_below(path, all);
    flatten(Field(field.document(), field.node(), path), all);
  }
  all.erase("name");
  return all;
}

const std::string& ScenarioFile::measured_by() const { return state_->measured_by; }

NetworkKnowledge ScenarioFile::network() const {
  if (state_->network_given) return *state_->network_given;
  if (state_->has_calibration) return NetworkKnowledge::measured;
  const auto nodes = [&](std::size_t point) { return scenario(point).cluster.nodes; };
  const std::vector<std::size_t> known = known_points();
  // A row of one node says nothing of what joins several.
  const bool is_known = std::ranges::any_of(
      known, [&](std::size_t point) { return nodes(point) > 1 || nodes(point_count() - 1) == 1; });
  return is_known ? NetworkKnowledge::measured : NetworkKnowledge::described;
}

std::optional<MeasuredPoint> ScenarioFile::measured(std::size_t point) const {
  const auto found = state_->measured.find(point);
  if (found == state_->measured.end()) return std::nullopt;
  return found->second;
}

std::vector<std::size_t> ScenarioFile::known_points() const {
  std::vector<std::size_t> points;
  for (const auto& [point, measured] : state_->measured) {
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

Scenario scenario_of_options(const ScenarioValues& values,
                             const std::vector<ScenarioFile::Setting>& settings) {
  const std::string name = "command line";
  const auto made = ScenarioFile::of_values(name, values, settings);
  if (made.point_count() > 1) {
    throw InputError({name, 0, 0}, fmt::format("makes a sweep of {} points", made.point_count()),
                     "give one value of each");
  }
  return made.scenario(0);
}

}  // namespace paceline
