#include "models/cost/library_choice.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "models/collectives/registry.h"

namespace paceline::cost {
namespace library_choice_test {

using collectives::Collective;

AlgorithmChoice mpi_choice(Collective collective, std::uint64_t bytes, std::uint32_t ranks) {
  return choose_algorithm(Library::mpi, collective, Bytes(bytes), RankCount(ranks));
}

// ompi/mca/coll/libnbc/nbc_iallreduce.c: a tree below 4 ranks or 65536 bytes. Seen with 4.1.4 and
// pml_monitoring: 1 MiB goes between 3 ranks as two whole buffers up and two down; 4 ranks send 512
// KiB twice to the neighbour and 256 KiB twice to the rank two further, but 32 KiB along a tree.
TEST(OpenMpiAllReduce, IsATreeForFewRanksAndSmallBuffers) {
  for (const std::uint64_t bytes : {4ULL, 65'535ULL, 65'536ULL, 1ULL << 30}) {
    for (const std::uint32_t ranks : {2U, 3U, 4U, 5U, 8U, 64U, 4096U}) {
      const auto choice = mpi_choice(Collective::all_reduce, bytes, ranks);
      const bool tree = ranks < 4 || bytes < 65'536;
      EXPECT_EQ(choice.algorithm, tree ? "binomial_fan_out" : "near_halving_doubling")
          << bytes << " bytes, " << ranks << " ranks";
      EXPECT_FALSE(choice.assumption.has_value());
    }
  }
  EXPECT_EQ(default_in_flight(Library::mpi), 1U);
}

// nbc_ibcast.c: up to 4 ranks from the root to all, above along a tree; nbc_iallgather.c: all to
// all. Seen with 4.1.4: 5 ranks send 0 to 1, 2 and 4, and 1 to 3.
TEST(OpenMpi, SendsToAllAtOnceAmongFewRanks) {
  EXPECT_EQ(mpi_choice(Collective::broadcast, 1 << 20, 4).algorithm, "direct");
  EXPECT_EQ(mpi_choice(Collective::broadcast, 1 << 20, 5).algorithm, "binomial_fan_out");
  EXPECT_EQ(mpi_choice(Collective::all_gather, 1 << 20, 8).algorithm, "direct");
}

// nbc_iscatterv.c and nbc_igatherv.c; gloo/scatter.cc and gather.cc; groups of ncclSend and
// ncclRecv.
TEST(EveryLibrary, HasTheRootSendAndGetAllChunksAtOnce) {
  for (const auto library : {Library::nccl, Library::gloo, Library::mpi}) {
    for (const auto collective : {Collective::scatter, Collective::gather}) {
      const auto choice = choose_algorithm(library, collective, Bytes(1 << 20), RankCount(16));
      EXPECT_EQ(choice.algorithm, "direct");
      EXPECT_FALSE(choice.assumption.has_value());
    }
  }
}

TEST(OpenMpi, SaysWhatStandsInForAnother) {
  for (const auto collective :
       {Collective::reduce, Collective::reduce_scatter, Collective::all_to_all}) {
    EXPECT_TRUE(mpi_choice(collective, 1 << 20, 8).assumption.has_value());
  }
}

// gloo/allreduce.cc: ring in segments, at every size. Two collectives in flight: PyTorch's process
// group has two threads.
TEST(Gloo, RunsItsSegmentedRingAtEverySize) {
  for (const std::uint64_t bytes : {4ULL, 1ULL << 20, 1ULL << 30}) {
    const auto choice =
        choose_algorithm(Library::gloo, Collective::all_reduce, Bytes(bytes), RankCount(8));
    EXPECT_EQ(choice.algorithm, "segmented_ring");
    EXPECT_FALSE(choice.assumption.has_value());
  }
  EXPECT_EQ(default_in_flight(Library::gloo), 2U);
}

// gloo/broadcast.cc: a rank begins to send to all of its children, then waits.
TEST(Gloo, BroadcastsToAllChildrenAtOnce) {
  EXPECT_EQ(choose_algorithm(Library::gloo, Collective::broadcast, Bytes(1 << 20), RankCount(4))
                .algorithm,
            "rotated_fan_out");
}

TEST(Nccl, HasRingsOfOneCallAtATime) {
  const auto choice =
      choose_algorithm(Library::nccl, Collective::all_reduce, Bytes(1 << 20), RankCount(16));
  EXPECT_EQ(choice.algorithm, "ring");
  EXPECT_FALSE(choice.assumption.has_value());
  EXPECT_EQ(default_in_flight(Library::nccl), 1U);
}

// Its broadcast and reduce have one algorithm: chunk after chunk along its rings.
TEST(Nccl, BroadcastsAndReducesAlongChains) {
  for (const auto collective : {Collective::broadcast, Collective::reduce}) {
    const auto choice = choose_algorithm(Library::nccl, collective, Bytes(1 << 20), RankCount(16));
    EXPECT_EQ(choice.algorithm, "chain");
    EXPECT_FALSE(choice.assumption.has_value());
  }
}

TEST(EveryLibrary, ChoosesAnAlgorithmOfTheRegistryForEveryCollective) {
  for (const auto library : {Library::nccl, Library::gloo, Library::mpi, Library::plan}) {
    for (const auto& [collective, word] : words_of(collectives::Collective{})) {
      const auto choice = choose_algorithm(library, collective, Bytes(4), RankCount(2));
      if (choice.algorithm == collectives::automatic) continue;  // chosen where it is run
      EXPECT_NE(collectives::find_algorithm(collective, choice.algorithm), nullptr)
          << choice.algorithm;
    }
  }
}

}  // namespace library_choice_test
}  // namespace paceline::cost
