#pragma once

#include <memory>

#include "real/host/host_communicator.h"

namespace paceline::real {

// Ranks that are processes which mpirun started, as many as the run has ranks; a message is an
// MPI_Isend and an MPI_Irecv with the stream as tag. MPI is begun by the first connect of the
// process and ended at its exit, unless something failed: then the process must not wait for its
// peers, and leaves with _Exit. The meeting is used when MPI has begun, so it may itself be MPI's.
// Throws BackendError at once when mpirun did not start the process.
[[nodiscard]] std::unique_ptr<Communicator> connect_mpi(const ConnectRequest& request);

}  // namespace paceline::real
