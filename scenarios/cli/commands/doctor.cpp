#include <iostream>
#include <memory>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/doctor/write_examination.h"

namespace paceline::cli {
namespace doctor_command {

struct Options {
  files::OutputFile json;
};

int run(Options& options) {
  const auto machine = doctor::examine();
  if (!options.json.is_standard_output()) doctor::write_text(std::cout, machine);
  options.json.write_if_asked([&](std::ostream& out) { doctor::write_json(out, machine); });
  return exit_done;
}

}  // namespace doctor_command

Action attach_doctor(CommandOptions& app) {
  using namespace doctor_command;
  auto options = std::make_shared<Options>();
  add_json(app, options->json, "the findings");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
