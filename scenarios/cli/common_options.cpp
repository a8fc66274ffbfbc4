#include "scenarios/cli/common_options.h"

#include <algorithm>

#include "models/collectives/registry.h"
#include "models/cost/nccl_tuning.h"
#include "models/training/strategy.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/data_files/shipped.h"
#include "scenarios/loader/backend_kind.h"

namespace paceline::cli {

Option add_json(CommandOptions app, files::OutputFile& json, const std::string& what) {
  return app.in_group("Output").add_output(
      "--json", json, "Write " + what + " as JSON to this file; - is standard output.");
}

void add_device(CommandOptions& app, std::string& device) {
  app.add_option("--device", device,
                 "The GPU, which NCCL's choice depends on (default: the cluster's, else "
                 "a100-sxm4-40gb).")
      .suggests(shipped_device_names);
}

void add_point(CommandOptions& app, std::string& point) {
  app.add_option("--point", point,
                 "The point to look at, by values of the sweep's axes: gpus=32 or "
                 "gpus=32,path=value (default: the last value of each axis).");
}

Option add_secret_file(CommandOptions& app, std::string& path) {
  return app
      .add_option("--secret-file", path,
                  "The file of a secret that all ranks of a launcher share and prove to each other "
                  "when they meet (default: $PACELINE_SECRET_FILE).")
      .reads_files("");
}

std::vector<std::string> shipped_models() { return loader::names_of(shipped_networks()); }
std::vector<std::string> shipped_presets() { return loader::names_of(shipped_clusters()); }
std::vector<std::string> shipped_device_names() { return loader::names_of(shipped_devices()); }

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

using collectives::Collective;

bool is_scenario(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

void LogCommandOptions::add_to(CommandOptions& app) {
  CommandOptions logs = app.in_group("Logs of collectives");
  logs.add_option("--collective", collective,
                  "The collective of logs that do not say which one they measured.")
      .suggests(collective_names);
  logs.add_option("--gpus", gpus, "The number of GPUs of a log that does not list them.");
  logs.add_option("--nodes", nodes, "The number of nodes of a log that does not list its hosts.");
  logs.add_option("--min", least_size, "Ignore sizes smaller than this (default: 1KiB).");
}

LogOptions LogCommandOptions::parsed() const {
  Words<Collective> known;
  for (const auto& [one, text] : words_of(Collective{})) {
    if (cost::nccl::has_algorithms(one)) known.emplace_back(text, one);  // are fitted
  }
  LogOptions options;
  if (!collective.empty()) options.collective = word("--collective", collective, known);
  options.gpus = gpus;
  options.nodes = nodes;
  options.least_size = quantity("--min", least_size.empty() ? "1KiB" : least_size, parse_bytes);
  return options;
}

void LogCommandOptions::refuse(const std::string& why) const {
  const auto unless_0 = [](std::uint32_t number) { return number > 0 ? "given" : ""; };
  refuse_given(why, {{"--collective", collective},
                     {"--gpus", unless_0(gpus)},
                     {"--nodes", unless_0(nodes)},
                     {"--min", least_size}});
}

}  // namespace paceline::cli
