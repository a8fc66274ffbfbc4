#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scenarios/loader/load_scenario.h"

namespace paceline::test {

// A key that is no map, the table it is in, and its path in a file.
struct Row {
  const settings::Key* key;
  std::span<const settings::Key> table;
  std::string prefix;

  [[nodiscard]] std::string path() const { return prefix + std::string(key->name); }
  [[nodiscard]] const settings::Key& of_table(std::string_view name) const {
    return *std::ranges::find(table, name, &settings::Key::name);
  }
};

inline void add_rows(std::span<const settings::Key> table, const std::string& prefix,
                     std::vector<Row>& rows) {
  for (const settings::Key& key : table) {
    if (const auto* map = std::get_if<settings::Map>(&key.type)) {
      add_rows(map->keys(), fmt::format("{}{}.", prefix, key.name), rows);
    } else {
      rows.push_back({&key, table, prefix});
    }
  }
}

inline std::vector<Row> all_rows() {
  std::vector<Row> rows;
  add_rows(loader::scenario_keys(), "", rows);
  return rows;
}

}  // namespace paceline::test
