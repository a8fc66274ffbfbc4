#include "scenarios/import/import.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/cli/command.h"
#include "scenarios/cli/run_options.h"

namespace paceline::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string json;
};

int run(const Options& options) {
  const Import import = import_traces(options.paths);
  if (options.json != "-") write_summary(std::cout, import);
  if (!options.json.empty()) {
    write_to(options.json, [&](std::ostream& out) { write_json(out, import); });
  }
  return exit_done;
}

}  // namespace

Action attach_import(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option(
         "paths", options->paths,
         "traces of PyTorch's profiler (Kineto), its execution traces or Chakra's, a file a rank; "
         "compressed, packed or in folders as they come")
      ->required();
  app.add_option("--json", options->json, "write it as JSON; - is standard output");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
