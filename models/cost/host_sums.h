#pragma once

#include "models/cost/library_choice.h"
#include "models/units/units.h"

namespace paceline::cost {

// Whether a library sums tensors of GPUs in host memory: MPI and Gloo. So does Open MPI where it is
// CUDA-aware (coll_cuda_allreduce.c).
[[nodiscard]] constexpr bool sums_in_host_memory(Library library) {
  return library == Library::mpi || library == Library::gloo;
}

// Bytes a second that arrive at a rank and are added there (a Cluster's reduction_bandwidth), with
// all that its thread does for each: copies from the GPU and back, through shared memory on both of
// its ways, and into and out of a buffer of fused tensors; some seven passes of a few GB/s. The
// geometric mean of what tests/bench/host_sums.py finds: 0.53 GB/s in Horovod's README of 2017 (4
// and 16 nodes of four P100), 1.22 with Theano-MPI (a node of eight K80), and 0.63 of Open MPI
// 4.1.4 between two processes of one host, without a GPU. Three logarithms that deviate by 0.44: a
// new one lies within 2.920 x 0.44 x sqrt(1 + 1/3) nine times in ten, a factor of 4.4.
inline constexpr BytesPerSecond host_sums{0.74e9};
inline constexpr double host_sums_spread = 4.4;

}  // namespace paceline::cost
