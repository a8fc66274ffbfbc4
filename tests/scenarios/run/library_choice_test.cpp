#include "models/cost/library_choice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/collectives/registry.h"

namespace paceline::cost {
namespace {

using collectives::Collective;

// Which of Open MPI's algorithms a choice stands for: 2 nonoverlapping, 3 recursive doubling, 4
// ring, 5 segmented ring, 6 Rabenseifner. Where another one is built in its place an assumption
// says so.
int ompi_number(const AlgorithmChoice& choice) {
  const auto assumes = [&](const char* text) {
    return choice.assumption.find(text) != std::string::npos;
  };
  if (choice.algorithm == "binomial_tree") return assumes("without overlap") ? 2 : 0;
  if (choice.algorithm == "recursive_doubling" && choice.assumption.empty()) return 3;
  if (choice.algorithm == "halving_doubling" && choice.assumption.empty()) return 6;
  if (choice.algorithm == "ring" && choice.assumption.empty()) return 4;
  if (choice.algorithm == "ring") return assumes("segmented ring") ? 5 : 0;
  return 0;
}

int chosen(std::uint64_t bytes, std::uint32_t ranks) {
  return ompi_number(
      choose_algorithm(Library::mpi, Collective::all_reduce, Bytes(bytes), RankCount(ranks)));
}

struct Border {
  std::uint64_t bytes;  // from here on
  int algorithm;
};

struct Rows {
  std::vector<std::uint32_t> ranks;  // the first and the last of the table's row
  std::vector<Border> borders;
};

// coll_tuned_decision_fixed.c at 8efebee, all-reduce, commutative; from the shared model facts (d),
// by hand. Each row: ranks, then from which size on which algorithm.
const Rows ompi_table[] = {
    {{2, 3}, {{0, 4}, {8, 3}, {4096, 4}, {8192, 3}, {16384, 4}, {65536, 5}, {262144, 6}}},
    {{4, 7}, {{0, 4}, {16, 3}, {8192, 6}}},
    {{8, 15}, {{0, 3}, {8192, 6}}},
    {{16, 31}, {{0, 5}, {64, 3}, {4096, 6}}},
    {{32, 63}, {{0, 5}, {128, 6}}},
    {{64, 127}, {{0, 3}, {262144, 6}}},
    {{128, 255}, {{0, 2}, {131072, 3}, {262144, 6}}},
    {{256, 511}, {{0, 2}, {4096, 6}}},
    {{512, 2047}, {{0, 2}, {2048, 3}, {16384, 6}}},
    {{2048, 4095}, {{0, 2}, {2048, 5}, {4096, 3}, {16384, 6}}},
    {{4096, 1'000'000}, {{0, 2}, {2048, 5}, {16384, 3}, {32768, 6}}},
};

TEST(OpenMpiAllReduce, ChangesAtTheBordersOfTheFixedDecision) {
  for (const Rows& rows : ompi_table) {
    for (const std::uint32_t ranks : rows.ranks) {
      for (std::size_t i = 0; i < rows.borders.size(); ++i) {
        const Border& border = rows.borders[i];
        EXPECT_EQ(chosen(border.bytes, ranks), border.algorithm)
            << border.bytes << " bytes, " << ranks << " ranks";
        if (i == 0) continue;
        EXPECT_EQ(chosen(border.bytes - 1, ranks), rows.borders[i - 1].algorithm)
            << border.bytes - 1 << " bytes, " << ranks << " ranks";
      }
      EXPECT_EQ(chosen(1ULL << 40, ranks), rows.borders.back().algorithm) << ranks << " ranks";
    }
  }
}

// gloo/allreduce.cc: ring in segments, at every size. Two collectives in flight: PyTorch's process
// group has two threads.
TEST(Gloo, RunsItsSegmentedRingAtEverySize) {
  for (const std::uint64_t bytes : {4ULL, 1ULL << 20, 1ULL << 30}) {
    const auto choice =
        choose_algorithm(Library::gloo, Collective::all_reduce, Bytes(bytes), RankCount(8));
    EXPECT_EQ(choice.algorithm, "segmented_ring");
    EXPECT_EQ(choice.assumption, "");
  }
  EXPECT_EQ(default_in_flight(Library::gloo), 2U);
}

// What is not modelled is said: NCCL's choice by size and version.
TEST(Nccl, RunsTheRingAndSaysWhatThatLeavesOut) {
  const auto choice =
      choose_algorithm(Library::nccl, Collective::all_reduce, Bytes(1 << 20), RankCount(16));
  EXPECT_EQ(choice.algorithm, "ring");
  EXPECT_NE(choice.assumption, "");
  EXPECT_EQ(default_in_flight(Library::nccl), 1U);
}

// Its broadcast and reduce have one algorithm: chunk after chunk along its rings.
TEST(Nccl, BroadcastsAndReducesAlongChains) {
  for (const auto collective : {Collective::broadcast, Collective::reduce}) {
    const auto choice = choose_algorithm(Library::nccl, collective, Bytes(1 << 20), RankCount(16));
    EXPECT_EQ(choice.algorithm, "chain");
    EXPECT_EQ(choice.assumption, "");
  }
}

TEST(EveryLibrary, ChoosesAnAlgorithmOfTheRegistryForEveryCollective) {
  for (const auto library : {Library::nccl, Library::gloo, Library::mpi, Library::plan}) {
    for (const auto collective :
         {Collective::all_reduce, Collective::broadcast, Collective::reduce,
          Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all}) {
      const auto choice = choose_algorithm(library, collective, Bytes(4), RankCount(2));
      if (choice.algorithm == collectives::automatic) continue;  // chosen where it is run
      EXPECT_NE(collectives::find_algorithm(collective, choice.algorithm), nullptr)
          << choice.algorithm;
    }
  }
}

}  // namespace
}  // namespace paceline::cost
