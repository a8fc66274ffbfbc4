#include "scenarios/loader/scenario_text.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/loader/load_scenario.h"

namespace paceline {

void ScenarioText::set(std::string_view path, const std::string& value) {
  if (!value.empty()) values_.insert_or_assign(std::string(path), value);
}

Scenario ScenarioText::scenario() const {
  const auto base = loader::parse_document(
      "command line",
      "{schema: paceline/1, name: command line, cluster: {}, training: {strategy: ddp},"
      " workload: {model: resnet50, batch_per_gpu: 1, device: a100-sxm4-40gb}}");
  loader::Overrides overrides;
  for (const auto& [path, value] : values_) {
    auto document = std::make_shared<loader::Document>();
    document->name = "command line";
    document->root = YAML::Node(value);
    document->has_lines = false;
    const YAML::Node root = document->root;
    overrides.insert_or_assign(path, loader::Field(std::move(document), root, path));
  }
  return loader::load_scenario(base, overrides);
}

}  // namespace paceline
