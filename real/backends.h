#pragma once

#include <memory>

#include "real/backend.h"

// The backends of the tree; which of them a build has is in its registry.
namespace paceline::real {

// Ranks that are threads of one process: the reference. The receiving side copies a message when
// both have posted it. Ranks find each other by a name that rank 0 makes up and the meeting passes
// on.
[[nodiscard]] std::unique_ptr<Communicator> connect_memory(const ConnectRequest& request);

// Ranks that talk TCP through Gloo, as PyTorch's gloo process group does: every rank has a
// connection to every other and one thread that serves them all. Sums are made by the thread that
// waits. README.md says when data travels.
//
// The local address is that of the interface GLOO_SOCKET_IFNAME, else request.address, else the
// host name's, else the loopback's. SIGPIPE is ignored from here on unless it has a handler.
// Throws BackendError.
[[nodiscard]] std::unique_ptr<Communicator> connect_gloo(const ConnectRequest& request);

// Ranks are the processes that mpirun started, all of them; a message is an MPI_Isend and an
// MPI_Irecv with the stream as tag. The first connect begins MPI, exit ends it, unless something
// failed: then the process leaves with _Exit, without its peers. The meeting may itself be MPI's.
// Throws BackendError at once when mpirun did not start the process.
[[nodiscard]] std::unique_ptr<Communicator> connect_mpi(const ConnectRequest& request);

// NCCL, one GPU per rank: that of its local rank. Native collectives have one communicator and one
// stream, as PyTorch's process group; plans send and receive on others (real/nccl/arguments.h).
// Every wait looks for failures of other ranks, and gives up, with the group, after the timeout.
[[nodiscard]] std::unique_ptr<Communicator> connect_nccl(const ConnectRequest& request);

// Ranks that are threads of one process, rank r on device r mod devices: several ranks on one GPU,
// which NCCL refuses, so that plans are checked where there is only one. A message is a copy on the
// receiver's stream; post() returns when the other sides have posted too. Nothing native.
[[nodiscard]] std::unique_ptr<Communicator> connect_cuda_local(const ConnectRequest& request);

}  // namespace paceline::real
