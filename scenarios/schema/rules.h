#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/settings/key.h"
#include "scenarios/schema/json_tree.h"

// What keys of a table require of each other, as JSON Schema.
namespace paceline::schema {

// What must hold of a section, unless an axis gives one of the keys, or a preset may.
struct Rule {
  std::vector<std::string> keys;  // of the section
  Json schema;                    // of the section; where `is_of_root` of the file
  bool is_of_root = false;
};

// Required keys, and those that need others beside them.
[[nodiscard]] std::vector<Rule> rules_of(std::span<const settings::Key> table,
                                         const std::string& section);

// As files spell a value of the key, typed as YAML types it.
[[nodiscard]] Json typed(const settings::Key& key, std::string_view spelled);

// That the value at the end of a path of maps is there.
[[nodiscard]] Json required_at(std::span<const std::string> path);
// What holds of it, where it is there.
[[nodiscard]] Json held_at(std::span<const std::string> path, Json schema);

[[nodiscard]] std::vector<std::string> parts_of(std::string_view path);

}  // namespace paceline::schema
