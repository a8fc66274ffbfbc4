#pragma once

#include <string>

namespace paceline {

// A program that lies in the folder of this one, whatever link this one was called by, so that a
// build or an installation is moved as a whole. Throws BackendError where this build was made
// without it, with what works without.
[[nodiscard]] std::string executor_path(const std::string& name);

}  // namespace paceline
