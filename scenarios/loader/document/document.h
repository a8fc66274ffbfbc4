#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/errors.h"

namespace paceline::loader {

// A YAML text and the name that messages give it.
struct Document {
  std::string name;
  std::string folder;  // where its relative paths start; empty: the working directory
  std::string text;
  YAML::Node root;
  bool has_lines = true;  // false: a command-line value; messages give no line
};

using DocumentPtr = std::shared_ptr<const Document>;

// Both throw InputError: a file that is missing, unreadable, above 1 MiB, or not text; YAML that
// does not parse or is more than one document; and YAML whose aliases stand for more than 100,000
// values (an "alias bomb"). The file may be a pipe.
[[nodiscard]] DocumentPtr read_document(const std::string& path);
[[nodiscard]] DocumentPtr parse_document(std::string name, std::string_view text);

// A document that no text has: the single values of its maps, by path ("cluster.nodes"), lists of
// such, and parts that are YAML. No path is below another one. Messages give no line. Its text, for
// a hash, is a line for each value. Throws InputError for a value that is no UTF-8.
[[nodiscard]] DocumentPtr make_document(
    std::string name, const std::map<std::string, std::string>& values,
    const std::map<std::string, std::vector<std::string>>& lists = {},
    const std::map<std::string, std::string>& yaml = {});

[[nodiscard]] Location location_of(const Document& document, const YAML::Node& node);

}  // namespace paceline::loader
