#pragma once

#include <memory>

#include "real/host/host_communicator.h"

namespace paceline::real {

// Ranks that are threads of one process; the reference that the other backends are measured by. A
// message is a copy by the receiving side, when both sides have posted it. Ranks find each other by
// a name that rank 0 makes up and the meeting passes on.
[[nodiscard]] std::unique_ptr<Communicator> connect_memory(const ConnectRequest& request);

}  // namespace paceline::real
