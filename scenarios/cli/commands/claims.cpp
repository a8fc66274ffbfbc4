#include <fmt/format.h>

#include <memory>

#include "scenarios/claims/verdict.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/data_files/shipped.h"
#include "scenarios/files/input_file.h"
#include "scenarios/process/stop_request.h"

namespace paceline::cli {
namespace claims_command {

struct Options {
  std::vector<std::string> names;
  ResultOutput output;
};

// Of all of them, or, when it is to stop, of those that were put to the test whole by then.
std::vector<claims::Finding> findings_of(const std::vector<claims::Claim>& chosen,
                                         const TellProgress& tell) {
  claims::Predictions predictions(RunOptions{});
  const ProgressEnd end(tell);
  std::vector<claims::Finding> findings;
  try {
    for (const claims::Claim& claim : chosen) {
      if (tell) tell({findings.size(), chosen.size(), "claims", claim.name});
      findings.push_back(judge(claim, put_to_test(claim, predictions)));
    }
  } catch (const Stopped&) {
    if (findings.empty()) throw;
  }
  return findings;
}

int run(Options& options) {
  files::expect_each_once(options.names);
  std::vector<claims::Claim> chosen;
  for (const std::string& name : options.names) chosen.push_back(claims::load_claim(name));
  if (options.names.empty()) chosen = claims::load_shipped_claims();
  const StopRequest stop;
  const std::vector<claims::Finding> findings = findings_of(chosen, tell_on_terminal());
  const bool is_complete = findings.size() == chosen.size();
  options.output.write(
      [&](std::ostream& out) { write_text(out, findings, !options.names.empty()); },
      [&](std::ostream& out) { write_json(out, findings, is_complete); });
  if (is_complete) return exit_done;
  return say_stopped(fmt::format("{} of {} claims", findings.size(), chosen.size()));
}

}  // namespace claims_command

Action attach_claims(CommandOptions& app) {
  using namespace claims_command;
  auto options = std::make_shared<Options>();
  app.add_option("claim", options->names,
                 "Shipped claims by their names, or claim files, each with a table of the "
                 "conditions (default: a summary of all shipped claims).")
      .reads_files("")
      .suggests([] { return loader::names_of(shipped_claims()); });
  options->output.add_json_to(app, "the verdicts");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
