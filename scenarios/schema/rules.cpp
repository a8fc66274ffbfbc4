#include "scenarios/schema/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/settings/settings.h"
#include "models/text/number.h"

namespace paceline::schema {
namespace {

using settings::Key;
using settings::Needs;
using settings::OneOf;
using Keys = std::span<const Key>;

using Names = std::vector<std::string>;

// {"keyword": value}
Json holding(const char* keyword, const Json& value) { return {{keyword, value}}; }

Json require(const Names& names) { return holding("required", Json(names)); }

Json any_of(const std::vector<Json>& schemas) { return holding("anyOf", Json(schemas)); }

// Where the key is there, this holds of the map.
Json depend(const std::string& key, const Json& schema) {
  return holding("dependencies", holding(key.c_str(), schema));
}

Json if_then(const Json& condition, const Json& consequence) {
  return {{"if", condition}, {"then", consequence}};
}

bool is_in_table(Keys table, std::string_view name) {
  return std::ranges::find(table, name, &Key::name) != table.end();
}

const Key& key_of(Keys table, std::string_view name) {
  return *std::ranges::find(table, name, &Key::name);
}

bool is_among(const Needs& needs, std::string_view word) {
  return std::ranges::find(needs.values, word) != needs.values.end();
}

// What the key needs, and what that needs in turn, within its table.
std::vector<Needs> needs_in_turn(const Key& key, Keys table) {
  std::vector<Needs> all;
  for (Needs needs = key.needs; is_in_table(table, needs.key);
       needs = key_of(table, needs.key).needs) {
    all.push_back(needs);
  }
  return all;
}

Json all_words(const Needs& needs, const Key& needed) {
  std::vector<Json> words;
  for (const std::string_view value : needs.values) {
    if (!value.empty()) words.push_back(typed(needed, value));
  }
  return words;
}

// Where the needed key has one of these values, or is left out and they hold.
Json where(const Key& needed, const Json& words) {
  const auto* holds = std::get_if<settings::Value>(&needed.unless_given);
  const bool may_be_left_out =
      holds != nullptr &&
      std::ranges::find(words.elements(), typed(needed, spelled(needed, *holds))) !=
          words.elements().end();
  const std::string name(needed.name);
  Json condition = held_at(Names{name}, holding("enum", words));
  if (!may_be_left_out) condition.update(require({name}));
  return condition;
}

// What follows of a word of a key that decides which others there may be.
struct Consequence {
  std::vector<std::string_view> words;
  std::map<std::string_view, std::string> refused;  // keys, and why
  std::set<std::string_view> required;
};

// Of words alike: which keys they forbid and ask for.
std::vector<Consequence> consequences_of(const Key& decides, Keys table) {
  auto words = std::vector(std::get<OneOf>(decides.type).words.begin(),
                           std::get<OneOf>(decides.type).words.end());
  if (says(decides, settings::automatic)) words.push_back(settings::automatic);
  std::vector<Consequence> all;
  for (const std::string_view word : words) {
    Consequence one{{word}, {}, {}};
    for (const Key& key : table) {
      for (const Needs& needs : needs_in_turn(key, table)) {
        if (needs.key != decides.name || needs.values.front().empty()) continue;
        if (!is_among(needs, word)) {
          one.refused.emplace(key.name, fmt::format("{} belongs to {}: {}", key.name, needs.key,
                                                    needs.values.front()));
        } else if (key.needs.key == decides.name && says(key, settings::required)) {
          one.required.insert(key.name);
        }
      }
    }
    const auto alike = std::ranges::find_if(all, [&](const Consequence& other) {
      return other.refused == one.refused && other.required == one.required;
    });
    if (alike != all.end()) {
      alike->words.push_back(word);
    } else if (!one.refused.empty() || !one.required.empty()) {
      all.push_back(std::move(one));
    }
  }
  return all;
}

void add_choices(Keys table, std::vector<Rule>& rules) {
  for (const Key& decides : table) {
    if (!std::holds_alternative<OneOf>(decides.type)) continue;
    for (const Consequence& one : consequences_of(decides, table)) {
      Names keys{std::string(decides.name)};
      Json then = Json::object();
      for (const auto& [key, why] : one.refused) {
        Json& none = then["properties"][std::string(key)];
        none["not"] = Json::object();
        none["errorMessage"] = why;
      }
      for (const std::string_view key : one.required) {
        then["required"].push_back(std::string(key));
        keys.emplace_back(key);
      }
      rules.push_back({keys, if_then(where(decides, Json(one.words)), then)});
    }
  }
}

// Of a key that must be there at all, or is no word: of two flags one needs the other.
void add_need(const Key& key, Keys table, std::vector<Rule>& rules) {
  const Needs& needs = key.needs;
  if (!is_in_table(table, needs.key)) return;
  const Key& needed = key_of(table, needs.key);
  const bool has_values = !needs.values.front().empty();
  if (has_values && std::holds_alternative<OneOf>(needed.type)) return;  // a choice
  const std::string name(key.name), other(needs.key);
  const bool is_required = says(key, settings::required);
  if (has_values) {
    const Json condition = where(needed, all_words(needs, needed));
    rules.push_back({{other}, depend(name, condition)});
    if (is_required) rules.push_back({{name, other}, if_then(condition, require({name}))});
  } else if (needs.or_key.empty()) {
    rules.push_back({{other}, depend(name, Json(Names{other}))});
    if (is_required) rules.push_back({{name, other}, depend(other, Json(Names{name}))});
  } else {
    const std::string either(needs.or_key);
    rules.push_back({{other, either}, depend(name, any_of({require({other}), require({either})}))});
  }
}

void add_requirement(const Key& key, const std::string& section, std::vector<Rule>& rules) {
  if (key.needs.key.empty() && says(key, settings::required)) {
    rules.push_back({{std::string(key.name)}, require({std::string(key.name)})});
  }
  if (key.required_without.front().empty()) return;
  const auto is_elsewhere = [](std::string_view other) { return other.find('.') != other.npos; };
  const bool is_of_root = std::ranges::any_of(key.required_without, is_elsewhere);
  const auto whole = [&](std::string_view other) {
    const bool is_below = is_of_root && !section.empty() && !is_elsewhere(other);
    return is_below ? fmt::format("{}.{}", section, other) : std::string(other);
  };
  Names keys{whole(key.name)};
  for (const std::string_view other : key.required_without) {
    if (!other.empty()) keys.push_back(whole(other));
  }
  std::vector<Json> either;
  for (const std::string& one : keys) either.push_back(required_at(parts_of(one)));
  rules.push_back({keys, any_of(either), is_of_root});
}

}  // namespace

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    parts.emplace_back(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return parts;
}

Json required_at(std::span<const std::string> path) {
  Json schema = require({path.front()});
  if (path.size() > 1) schema["properties"][path.front()] = required_at(path.subspan(1));
  return schema;
}

Json held_at(std::span<const std::string> path, Json schema) {
  for (auto part = path.rbegin(); part != path.rend(); ++part) {
    schema = holding("properties", holding(part->c_str(), schema));
  }
  return schema;
}

Json typed(const Key& key, std::string_view spelled) {
  if (std::holds_alternative<settings::Flag>(key.type)) return spelled == "true";
  const bool is_number = std::holds_alternative<settings::Count>(key.type) ||
                         std::holds_alternative<settings::Number>(key.type) ||
                         std::holds_alternative<settings::Fraction>(key.type);
  if (const auto whole = number_of<std::uint64_t>(spelled); is_number && whole) return *whole;
  if (const auto number = number_of<double>(spelled); is_number && number) return *number;
  return spelled;
}

std::vector<Rule> rules_of(Keys table, const std::string& section) {
  std::vector<Rule> rules;
  for (const Key& key : table) {
    add_requirement(key, section, rules);
    add_need(key, table, rules);
  }
  add_choices(table, rules);
  return rules;
}

}  // namespace paceline::schema
