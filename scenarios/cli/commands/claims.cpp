#include <iostream>
#include <memory>

#include "scenarios/claims/write_claims.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/run_options.h"

namespace paceline::cli {
namespace claims_command {

struct Options {
  std::vector<std::string> names;
  files::OutputFile json;
};

int run(Options& options) {
  std::vector<claims::Claim> chosen;
  for (const std::string& name : options.names) chosen.push_back(claims::load_claim(name));
  if (options.names.empty()) chosen = claims::load_shipped_claims();
  claims::Predictions predictions(RunOptions{});
  std::vector<claims::Finding> findings;
  for (claims::Claim& claim : chosen) {
    auto trials = put_to_test(claim, predictions);
    findings.push_back(judge(std::move(claim), std::move(trials)));
  }
  if (!options.json.is_standard_output()) {
    write_text(std::cout, findings, !options.names.empty());
  }
  if (options.json.is_asked()) {
    options.json.write([&](std::ostream& out) { write_json(out, findings); });
  }
  return exit_done;
}

}  // namespace claims_command

Action attach_claims(CommandOptions& app) {
  using namespace claims_command;
  auto options = std::make_shared<Options>();
  app.add_option(
      "claim", options->names,
      "shipped ones by name, or files, with a table of conditions; default: all shipped");
  app.add_output("--json", options->json, "write it as JSON; - is standard output");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
