#include "scenarios/loader/known_row.h"

#include <fmt/format.h>

#include <memory>
#include <sstream>

namespace paceline::loader {
namespace {

std::string without_spaces_around(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace

Field known_row(const std::string& text) {
  const std::string name = "--known " + text;
  auto row = std::make_shared<Document>(Document{name, "", text, YAML::Node(YAML::NodeType::Map)});
  row->has_lines = false;
  std::istringstream pairs(text);
  for (std::string pair; std::getline(pairs, pair, ',');) {
    const auto equals = pair.find('=');
    const std::string path = without_spaces_around(pair.substr(0, equals));
    if (equals == std::string::npos || path.empty()) {
      throw InputError({name, 0, 0}, fmt::format("\"{:.60}\" is not path=value", pair),
                       known_row_example);
    }
    if (row->root[path]) {
      throw InputError({name, 0, 0}, fmt::format("{:.60} is named twice", path), "name it once");
    }
    const YAML::Node value = parse_document(name, pair.substr(equals + 1))->root;
    if (!value || value.IsNull()) {
      throw InputError({name, 0, 0}, fmt::format("{:.60} has no value", path), known_row_example);
    }
    row->root[path] = value;
  }
  if (row->root["throughput"] && row->root["step"]) {
    throw InputError({name, 0, 0}, "gives both throughput and step", "leave one of them out");
  }
  const YAML::Node root = row->root;
  return Field(std::move(row), root, "");
}

}  // namespace paceline::loader
