#include "scenarios/advise/strategies.h"

#include <iostream>
#include <memory>

#include "scenarios/cli/command.h"
#include "scenarios/cli/run_options.h"

namespace paceline::cli {
namespace strategies_command {

struct Options {
  std::vector<std::string> scenarios;
  files::OutputFile json;
  SharedOptions shared;
};

int run(Options& options) {
  std::vector<advise::StrategyComparison> all;
  for (const std::string& path : options.scenarios) {
    for (auto& one : advise::compare_strategies(path, options.shared.parsed_settings(),
                                                options.shared.run_options())) {
      all.push_back(std::move(one));
    }
  }
  if (!options.json.is_standard_output()) {
    write_table(std::cout, all);
  }
  if (options.json.is_asked()) {
    options.json.write([&](std::ostream& out) { write_json(out, all); });
  }
  return exit_done;
}

}  // namespace strategies_command

Action attach_strategies(CommandOptions& app) {
  using namespace strategies_command;
  auto options = std::make_shared<Options>();
  app.add_option("scenario", options->scenarios, "scenario files (YAML)").required();
  options->shared.add_to(app);
  app.add_output("--json", options->json, "write it as JSON; - is standard output");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
