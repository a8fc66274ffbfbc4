#pragma once

#include <memory>

#include "real/backend.h"

namespace paceline::real {

// NCCL, one GPU per rank: that of its local rank. Native collectives have one communicator and one
// stream, as PyTorch's process group; plans send and receive on others (real/nccl/arguments.h).
// Every wait looks for failures of other ranks, and gives up, with the group, after the timeout.
[[nodiscard]] std::unique_ptr<Communicator> connect_nccl(const ConnectRequest& request);

}  // namespace paceline::real
