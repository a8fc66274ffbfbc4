#pragma once

#include <string>

#include "scenarios/calibration/log_file.h"
#include "scenarios/cli/command_options.h"

namespace paceline::cli {

// Whether an input that may be a log or a scenario is one of these: by its name.
[[nodiscard]] bool is_scenario(const std::string& path);

// What commands that read logs of collectives may be told of them.
struct LogCommandOptions {
  std::string collective, least_size;
  std::uint32_t gpus = 0, nodes = 0;

  void add_to(CommandOptions& app);
  [[nodiscard]] LogOptions parsed() const;  // throws InputError
  // Throws InputError where one of them is given, as it would do nothing.
  void refuse(const std::string& why) const;
};

}  // namespace paceline::cli
