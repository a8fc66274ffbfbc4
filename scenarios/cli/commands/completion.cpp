#include "scenarios/cli/completion.h"

#include <iostream>
#include <memory>
#include <string>

#include "scenarios/cli/command.h"

namespace paceline::cli {

Action attach_completion(CommandOptions& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell,
                 "The shell: bash, zsh or fish. source <(paceline completion bash) completes in "
                 "this shell from then on; an installed paceline completes without that.")
      .required()
      .one_of({std::begin(completed_shells), std::end(completed_shells)});
  return [shell] {
    std::cout << completion_script(*shell, describe_commands(), describe_options(nullptr));
    return exit_done;
  };
}

}  // namespace paceline::cli
