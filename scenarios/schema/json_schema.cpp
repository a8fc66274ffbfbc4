#include "scenarios/schema/json_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "models/settings/settings.h"
#include "models/shipped_file.h"
#include "models/text/json_writer.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/data_files/shipped.h"
#include "scenarios/loader/job/catalogue.h"
#include "scenarios/loader/job/job_keys.h"
#include "scenarios/loader/load_scenario.h"
#include "scenarios/schema/key_words.h"
#include "scenarios/schema/rules.h"

namespace paceline::schema {
namespace {

using settings::Form;
using settings::Key;
using Keys = std::span<const Key>;

// Where a part of the schema is.
struct Place {
  std::string path;  // of the value in a file: "cluster.network"; of list elements as an axis has
                     // it, an expression
  std::string section;         // the same from the root of its scope
  std::string pointer;         // of its schema
  bool has_axes = false;       // axes may give values here
  bool is_expression = false;  // the path is one
};

// Maps below one another without lists between: one section's keys may depend on another's.
struct Scope {
  struct Held {
    std::vector<std::string> lifted_by;      // paths of axes
    std::optional<std::string> preset_path;  // of the section whose preset may give what is missing
    Json schema;                             // of the scope's root
  };

  bool is_root = false, has_sweep = false;
  std::vector<Held> rules;
};

// Of a text: the values that YAML has beside maps, lists and nothing, without control characters.
Json scalar() {
  return {{"type", std::vector{"string", "number", "boolean"}},
          {"pattern", R"(^[^\x00-\x1f\x7f]*$)"}};
}

Json text_of(const Pattern& pattern) {
  return {
      {"type", "string"}, {"pattern", pattern.expression}, {"patternErrorMessage", pattern.hint}};
}

Json either(std::vector<Json> schemas) {
  if (schemas.size() == 1) return std::move(schemas.front());
  return {{"anyOf", Json(schemas)}};
}

std::string under(const std::string& section, const char* key) {
  return section.empty() ? key : section + "." + key;
}

// "^sweep\.path$", of any of them.
std::string any_path(const std::vector<std::string>& paths) {
  return fmt::format("^(?:{})$", fmt::join(paths, "|"));
}

Place below(const Place& place, std::string_view name, std::string_view in_schema) {
  Place inner = place;
  const std::string spelled = place.is_expression ? escaped(name) : std::string(name);
  inner.path += (place.path.empty() ? "" : place.is_expression ? "\\." : ".") + spelled;
  inner.section += (place.section.empty() ? "" : ".") + std::string(name);
  inner.pointer += fmt::format("/properties/{}", in_schema);
  return inner;
}

// Whether one value, and no list or map, may be given.
bool takes_one_value(const settings::Type& type) {
  if (std::holds_alternative<settings::Map>(type)) return false;
  const auto* structure = std::get_if<settings::Structure>(&type);
  if (structure == nullptr) return true;
  if (structure->forms == nullptr) return false;
  for (const Form& form : structure->forms()) {
    if (form.of == Form::Of::one && takes_one_value(form.type)) return true;
  }
  return false;
}

class SchemaWriter {
 public:
  explicit SchemaWriter(const Kind& kind) : kind_(kind) {}

  Json write() {
    Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", fmt::format("Paceline's {}", kind_.name)},
                {"description", fmt::format("A file of Paceline: {}.", kind_.summary)}};
    Scope scope{true, kind_.has_sweep, {}};
    schema.update(map_of(kind_.keys(), {"", "", "#", kind_.has_sweep, false}, std::nullopt, scope));
    hold(scope, schema);
    if (kind_.has_sweep) add_axes(schema);
    return schema;
  }

 private:
  Json map_of(Keys keys, const Place& place, const std::optional<std::string>& outer,
              Scope& scope) {
    const bool has_preset = std::ranges::find(keys, "preset", &Key::name) != keys.end();
    const std::optional<std::string> preset = has_preset ? place.section : outer;
    Json properties = Json::object();
    for (const Key& key : keys) {
      const auto parts = parts_of(key.name);
      if (parts.size() == 1) {
        Place inner = below(place, key.name, key.name);
        inner.has_axes = place.has_axes && inner.path != "measured";
        properties[parts[0]] = property(key, keys, inner, preset, scope);
        continue;
      }
      const std::string in_schema = parts[0] + "/properties/" + parts[1];
      Json& map = properties[parts[0]];
      map["type"] = "object";
      map["additionalProperties"] = false;
      map["properties"][parts[1]] =
          property(key, keys, below(place, key.name, in_schema), preset, scope);
    }
    add_rules(keys, place, preset, scope);
    return {
        {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  }

  // A map that is not among the sections of a scope.
  Json map_apart(Keys keys, const Place& place) {
    Scope scope;
    Place root = place;
    root.section.clear();
    Json schema = map_of(keys, root, std::nullopt, scope);
    hold(scope, schema);
    return schema;
  }

  Json property(const Key& key, Keys table, const Place& place,
                const std::optional<std::string>& preset, Scope& scope) {
    const bool is_schema = place.path == "schema";
    if (!is_schema && place.path != "name" && takes_one_value(key.type)) note_axis(place);
    Json value;
    if (is_schema) {
      value["const"] = key.example;
    } else if (says(key, settings::automatic)) {
      value = either({{{"const", settings::automatic}}, value_of(key.type, place, preset, scope)});
    } else {
      value = value_of(key.type, place, preset, scope);
    }
    Json schema{{"description", description_of(key, table)}};
    if (const auto* holds = std::get_if<settings::Value>(&key.unless_given)) {
      schema["default"] = typed(key, spelled(key, *holds));
    }
    schema.update(value);
    return schema;
  }

  Json value_of(const settings::Type& type, const Place& place,
                const std::optional<std::string>& preset, Scope& scope) {
    struct Visitor {
      SchemaWriter& writer;
      const Place& place;
      const std::optional<std::string>& preset;
      Scope& scope;

      Json operator()(settings::Flag) const { return {{"type", "boolean"}}; }
      Json operator()(settings::Count range) const {
        return {{"type", "integer"}, {"minimum", range.least}, {"maximum", range.most}};
      }
      Json operator()(settings::Number range) const {
        return {{"type", "number"}, {"minimum", range.least}, {"maximum", range.most}};
      }
      Json operator()(settings::Fraction range) const {
        const Json number{{"type", "number"}, {"minimum", range.least}, {"maximum", range.most}};
        return either({number, text_of(pattern_of(range))});
      }
      Json operator()(settings::OneOf known) const {
        return {{"enum", Json(std::vector<std::string>(known.words.begin(), known.words.end()))}};
      }
      Json operator()(settings::VersionNumber version) const {
        return either({text_of(pattern_of(version)), {{"type", "number"}}});
      }
      Json operator()(const settings::Text& text) const {
        if (!text.pattern.empty()) return {{"type", "string"}, {"pattern", text.pattern}};
        if (text.shipped == nullptr) return scalar();
        const Json known{{"enum", Json(loader::names_of(text.shipped()))}};
        if (!text.or_file) return known;
        return either({known, text_of({R"(\.ya?ml$)", "write a shipped name, or a .yaml file"})});
      }
      Json operator()(const settings::Structure& structure) const {
        if (structure.forms == nullptr) return Json::object();
        const auto forms = structure.forms();
        std::vector<Json> schemas;
        for (std::size_t i = 0; i < forms.size(); ++i) {
          Place one = place;
          if (forms.size() > 1) one.pointer += fmt::format("/anyOf/{}", i);
          schemas.push_back(writer.form_of(forms[i], one));
        }
        return either(std::move(schemas));
      }
      Json operator()(settings::Map map) const {
        return writer.map_of(map.keys(), place, preset, scope);
      }
      Json operator()(settings::Time time) const { return text_of(pattern_of(time)); }
      Json operator()(settings::Bandwidth rate) const { return text_of(pattern_of(rate)); }
      Json operator()(settings::Size size) const { return text_of(pattern_of(size)); }
      Json operator()(settings::ComputeSpeed speed) const { return text_of(pattern_of(speed)); }
      Json operator()(settings::Throughput rate) const { return text_of(pattern_of(rate)); }
    };
    return std::visit(Visitor{*this, place, preset, scope}, type);
  }

  Json form_of(const Form& form, const Place& place) {
    Scope apart;
    Place inner = place;
    if (form.of == Form::Of::one) {
      if (const auto* map = std::get_if<settings::Map>(&form.type)) {
        return map_apart(map->keys(), place);
      }
      inner.has_axes = false;  // noted with the key
      return value_of(form.type, inner, std::nullopt, apart);
    }
    // Axes reach into lists by number in a scenario's layers alone (Reader::find_list).
    const bool is_list = form.of == Form::Of::list;
    inner.has_axes = place.has_axes && (!is_list || place.path == "workload.layers");
    inner.is_expression = true;
    inner.path = escaped(place.path) + (is_list ? R"(\.[0-9]+)" : R"(\.[^.]+)");
    inner.pointer += is_list ? "/items" : "/additionalProperties";
    if (!is_list) note_axis(inner);
    const auto* map = std::get_if<settings::Map>(&form.type);
    Json element = map != nullptr ? map_apart(map->keys(), inner)
                                  : value_of(form.type, inner, std::nullopt, apart);
    if (is_list) return {{"type", "array"}, {"items", std::move(element)}, {"minItems", 1}};
    Json schema{{"type", "object"}, {"additionalProperties", std::move(element)}};
    schema["propertyNames"]["pattern"] = form.keys;
    return schema;
  }

  void add_rules(Keys keys, const Place& place, const std::optional<std::string>& preset,
                 Scope& scope) {
    for (Rule& rule : rules_of(keys, place.section)) {
      if (rule.is_of_root && !scope.is_root) continue;
      Scope::Held held{{}, preset, {}};
      const std::string prefix =
          rule.is_of_root || place.section.empty() ? "" : place.section + ".";
      for (const std::string& key : rule.keys) {
        held.lifted_by.push_back(escaped(prefix + key) + R"((?:\..*)?)");
      }
      if (preset) held.lifted_by.push_back(escaped(under(*preset, "preset")));
      held.schema = rule.is_of_root ? std::move(rule.schema)
                                    : held_at(parts_of(place.section), std::move(rule.schema));
      scope.rules.push_back(std::move(held));
    }
  }

  static void hold(const Scope& scope, Json& schema) {
    for (const Scope::Held& held : scope.rules) {
      std::vector<Json> lifted;
      if (held.preset_path) {
        lifted.push_back(required_at(parts_of(under(*held.preset_path, "preset"))));
      }
      if (scope.has_sweep) {
        Json no_such_axis, sweep = required_at(parts_of("sweep"));
        no_such_axis["propertyNames"]["not"]["pattern"] = any_path(held.lifted_by);
        sweep["properties"]["sweep"]["not"] = std::move(no_such_axis);
        lifted.push_back(std::move(sweep));
      }
      schema["allOf"].push_back(
          lifted.empty() ? held.schema
                         : Json{{"if", either(std::move(lifted))}, {"else", held.schema}});
    }
  }

  void note_axis(const Place& place) {
    if (!kind_.has_sweep || !place.has_axes) return;
    (place.is_expression ? axis_expressions_ : axes_).emplace(place.path, place.pointer);
  }

  // Of a value that stands for another one of the file: the same, or several in a list.
  void add_axes(Json& schema) const {
    Json axes = Json::object(), values = Json::object();
    const auto add = [&](const char* keyword, const std::string& path, const std::string& pointer) {
      Json one, list{{"type", "array"}, {"minItems", 1}};
      one["$ref"] = pointer;
      list["items"] = one;
      axes[keyword][path] = either({list, one});
      values[keyword][path] = one;
    };
    for (const auto& [path, pointer] : axes_) add("properties", path, pointer);
    for (const auto& [path, pointer] : axis_expressions_) {
      add("patternProperties", "^" + path + "$", pointer);
    }
    Json& sweep = schema["properties"]["sweep"];
    sweep["type"] = "object";
    sweep["additionalProperties"] = false;
    sweep.update(axes);
    Json& point = schema["properties"]["measured"]["properties"]["points"]["items"];
    for (const auto& [keyword, by_path] : values.members()) point[keyword].update(by_path);
  }

  const Kind& kind_;
  std::map<std::string, std::string> axes_, axis_expressions_;  // pointers, by path
};

constexpr std::array rows{
    Kind{"scenario", "what is predicted and measured", loader::scenario_keys, true},
    Kind{"job", "what capacity plans for", loader::job_file_keys},
    Kind{"catalogue", "machines and what they cost", loader::catalogue_keys},
    Kind{"cluster", "nodes and what joins them, as cluster.preset names it",
         loader::cluster_file_keys},
    Kind{"network", "a neural network's layers, as workload.model names it",
         loader::network_file_keys},
    Kind{"device", "a GPU, as workload.device names it", loader::device_file_keys},
};

}  // namespace

std::string json_schema(const Kind& kind) {
  std::string text;
  JsonWriter(text, 1).value(SchemaWriter(kind).write());
  return text + '\n';
}

std::span<const Kind> kinds() { return rows; }

}  // namespace paceline::schema
