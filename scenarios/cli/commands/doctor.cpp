#include "scenarios/doctor/doctor.h"

#include <memory>

#include "scenarios/cli/command.h"
#include "scenarios/cli/result_output.h"

namespace paceline::cli {
Action attach_doctor(CommandOptions& app) {
  auto output = std::make_shared<ResultOutput>();
  output->add_json_to(app, "the findings");
  return [output] {
    output->write(doctor::examine());
    return exit_done;
  };
}

}  // namespace paceline::cli
