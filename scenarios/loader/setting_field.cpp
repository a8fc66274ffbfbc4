#include "scenarios/loader/setting_field.h"

#include <fmt/format.h>

namespace paceline::loader {

Field setting_field(const ScenarioFile::Setting& setting) {
  auto document = std::make_shared<Document>(
      *parse_document(fmt::format("--set {}={}", setting.path, setting.value), setting.value));
  document->has_lines = false;
  const YAML::Node root = document->root;
  return Field(std::move(document), root, setting.path);
}

void check_path(const Location& where, const std::string& path) {
  if (("." + path + ".").find("..") == std::string::npos) return;
  throw InputError(where, fmt::format("path \"{:.60}\" has an empty part", path),
                   "write it as cluster.network.latency");
}

}  // namespace paceline::loader
