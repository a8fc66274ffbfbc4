#pragma once

#include <functional>
#include <string>

#include "real/backend.h"
#include "real/team.h"

namespace paceline::test {

// Connects the backend and calls `work` on every rank of a group, in `threads` threads of this
// process; or, when that is 0, on the one rank that this process is by its launcher's variables
// (torchrun's, say). Returns the exit status: 0, 2 when there is no such backend or no launcher, 3
// after a failure, whose line goes to stderr.
[[nodiscard]] int on_group(const std::string& backend, std::uint32_t threads,
                           const std::function<void(real::Team&, real::Communicator&)>& work);

}  // namespace paceline::test
