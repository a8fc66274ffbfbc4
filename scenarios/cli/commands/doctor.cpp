#include <memory>
#include <ostream>

#include "scenarios/cli/command.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/doctor/write_examination.h"

namespace paceline::cli {
namespace doctor_command {

struct Options {
  std::string json;
};

int run(const Options& options) {
  const auto machine = doctor::examine();
  if (options.json != "-") {
    write_to("-", [&](std::ostream& out) { doctor::write_text(out, machine); });
  }
  if (!options.json.empty()) {
    write_to(options.json, [&](std::ostream& out) { doctor::write_json(out, machine); });
  }
  return exit_done;
}

}  // namespace doctor_command

Action attach_doctor(CommandOptions& app) {
  using namespace doctor_command;
  auto options = std::make_shared<Options>();
  app.add_option("--json", options->json, "write it as JSON; - is standard output");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
