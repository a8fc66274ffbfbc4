#pragma once

#include <string>

namespace paceline::files {

// Ends a command for an errno of the system's: with InputError where another path would do, else
// with BackendError: a full disk, no descriptors, a broken device. `what` is what cannot be done.
[[noreturn]] void throw_system_error(const std::string& path, const std::string& what, int error);

}  // namespace paceline::files
