#include "scenarios/cli/log_options.h"

#include "models/cost/nccl_tuning.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/option_values.h"

namespace paceline::cli {

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
  const std::pair<const char*, bool> given[] = {{"--collective", !collective.empty()},
                                                {"--gpus", gpus != 0},
                                                {"--nodes", nodes != 0},
                                                {"--min", !least_size.empty()}};
  for (const auto& [name, is_given] : given) {
    if (is_given) throw InputError({name, 0, 0}, "has no effect: " + why, "leave it out");
  }
}

}  // namespace paceline::cli
