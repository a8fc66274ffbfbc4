#include "scenarios/cli/common_options.h"

#include <algorithm>

#include "models/collectives/registry.h"
#include "models/training/strategy.h"
#include "scenarios/loader/backend_kind.h"

namespace paceline::cli {

Option add_json(CommandOptions app, files::OutputFile& json, const std::string& what) {
  return app.in_group("Output").add_output(
      "--json", json, "Write " + what + " as JSON to this file; - is standard output.");
}

Option add_secret_file(CommandOptions& app, std::string& path) {
  const Option option =
      app.add_option("--secret-file", path,
                     "The file of a secret that all ranks of a launcher share and prove to each "
                     "other when they meet (default: $PACELINE_SECRET_FILE).");
  option.reads_files("");
  return option;
}

std::vector<std::string> names_of(std::span<const ShippedFile> files) {
  std::vector<std::string> names;
  for (const ShippedFile& file : files) names.emplace_back(file.name);
  return names;
}

std::vector<std::string> shipped_models() { return names_of(shipped_networks()); }
std::vector<std::string> shipped_presets() { return names_of(shipped_clusters()); }
std::vector<std::string> shipped_device_names() { return names_of(shipped_devices()); }

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const loader::BackendKind& kind : loader::backend_kinds()) names.emplace_back(kind.name);
  return names;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names{std::string(collectives::automatic)};
  for (const collectives::Algorithm& row : collectives::algorithms()) {
    if (std::ranges::find(names, row.name) == names.end()) names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const training::Strategy* one : training::strategies()) names.emplace_back(one->name);
  return names;
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const auto& [value, name] : words_of(collectives::Collective{})) names.emplace_back(name);
  return names;
}

}  // namespace paceline::cli
