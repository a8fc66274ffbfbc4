#pragma once

#include <string>

#include "models/assumption.h"
#include "models/collectives/plan.h"
#include "models/words.h"

namespace paceline::cost {

enum class Library { nccl, gloo, mpi, plan };

constexpr auto words_of(Library) {
  return words_up_to<Library::plan>("nccl", "gloo", "mpi", "plan");
}

struct AlgorithmChoice {
  std::string algorithm;                                // a name of the registry
  std::optional<Assumption> assumption = std::nullopt;  // of what is simulated in its place
};

// The registered algorithm that is nearest to what a library runs for a collective of `size` bytes
// per rank.
//   nccl: rings and chains; a scatter or gather is a group of ncclSend and ncclRecv. nccl_call.h
//         models its choice by size, version and cluster.
//   gloo: gloo/allreduce.cc's ring in segments, gloo/broadcast.cc's binomial tree; it and
//         gloo/scatter.cc and gather.cc have all messages in flight at once.
//   mpi:  Open MPI 4.1 for non-blocking sums into another buffer than they send, as overlapped
//         steps make them (in place it would reduce along a tree at any size):
//         ompi/mca/coll/libnbc; messages of 4.1.4 were counted for 2 to 8 ranks.
//   plan: for all-reduce collectives::automatic, ring and binomial tree for the others, in calls
//         of a step that name no algorithm.
[[nodiscard]] AlgorithmChoice choose_algorithm(Library library, collectives::Collective collective,
                                               Bytes size, RankCount ranks);

// Open MPI's for an all-reduce that blocks, as Horovod and others call it for tensors of GPUs: of
// less than 10,000 bytes recursive doubling, else a ring, above 1 MiB a rank in segments one after
// the other (coll_tuned_decision_fixed.c before 4.1). Intel MPI's is taken for the same.
[[nodiscard]] std::string blocking_mpi_all_reduce(Bytes size);

// How many collectives of one group are in flight: PyTorch's Gloo group has two threads, an NCCL
// group one stream; MPI calls are assumed to run one after the other.
[[nodiscard]] std::uint32_t default_in_flight(Library library);

}  // namespace paceline::cost
