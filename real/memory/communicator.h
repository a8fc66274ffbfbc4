#pragma once

#include <memory>

#include "real/host/host_communicator.h"

namespace paceline::real {

// Ranks that are threads of one process: the reference. The receiving side copies a message when
// both have posted it. Ranks find each other by a name that rank 0 makes up and the meeting passes
// on.
[[nodiscard]] std::unique_ptr<Communicator> connect_memory(const ConnectRequest& request);

}  // namespace paceline::real
