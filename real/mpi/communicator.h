#pragma once

#include <memory>

#include "real/host/host_communicator.h"

namespace paceline::real {

// Ranks are the processes that mpirun started, all of them; a message is an MPI_Isend and an
// MPI_Irecv with the stream as tag. The first connect begins MPI, exit ends it, unless something
// failed: then the process leaves with _Exit, without its peers. The meeting may itself be MPI's.
// Throws BackendError at once when mpirun did not start the process.
[[nodiscard]] std::unique_ptr<Communicator> connect_mpi(const ConnectRequest& request);

}  // namespace paceline::real
