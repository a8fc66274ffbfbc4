#pragma once

#include <memory>

#include "real/backend.h"

namespace paceline::real {

// NCCL, one GPU a rank: that of its number among the machine's ranks. Collectives of its own go to
// one communicator and one stream, as PyTorch's process group does; plans are sends and receives,
// on communicators apart (real/nccl/arguments.h). Every wait looks for failures of other ranks, and
// gives up, and the group with it, after the timeout.
[[nodiscard]] std::unique_ptr<Communicator> connect_nccl(const ConnectRequest& request);

}  // namespace paceline::real
