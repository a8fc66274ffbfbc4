#pragma once

#include <string>
#include <vector>

namespace paceline::cli {

// The command line of this process, the program first; empty where the system does not say.
[[nodiscard]] std::vector<std::string> own_arguments();

}  // namespace paceline::cli
