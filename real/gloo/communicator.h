#pragma once

#include <memory>

#include "real/host/host_communicator.h"

namespace paceline::real {

// Ranks that talk TCP through Gloo, as PyTorch's gloo process group does: every rank has a
// connection to every other and one thread that serves them all. Sums are made by the thread that
// waits. README.md says when data travels.
//
// The local address is that of the interface GLOO_SOCKET_IFNAME, else request.address, else the
// host name's, else the loopback's. SIGPIPE is ignored from here on unless it has a handler.
// Throws BackendError.
[[nodiscard]] std::unique_ptr<Communicator> connect_gloo(const ConnectRequest& request);

}  // namespace paceline::real
