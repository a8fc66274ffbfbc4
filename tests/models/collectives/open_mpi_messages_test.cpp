#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/collectives/registry.h"

namespace paceline::collectives {
namespace {

// What one rank sent another: elements, and in how many messages.
struct Traffic {
  std::uint64_t elements = 0, messages = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

using Pairs = std::map<std::pair<std::uint32_t, std::uint32_t>, Traffic>;

Pairs traffic_of(Collective collective, const std::string& algorithm, std::uint32_t ranks,
                 Rank root = Rank(0)) {
  const Algorithm* row = find_algorithm(collective, algorithm);
  if (row == nullptr) throw std::runtime_error("no algorithm " + algorithm);
  const Plan plan = row->build({RankCount(ranks), ElementCount(262'144), ElementSize(4), root, {}});
  Pairs pairs;
  for (const Channel& channel : plan.channels) {
    for (const Round& round : channel.rounds) {
      for (std::uint32_t from = 0; from < ranks; ++from) {
        for (const Send& send : round.sends(Rank(from))) {
          Traffic& traffic = pairs[{from, index(send.to)}];
          traffic.elements += send.chunk.at(0).count.value();
          ++traffic.messages;
        }
      }
    }
  }
  return pairs;
}

constexpr std::uint64_t whole = 262'144, half = whole / 2, quarter = whole / 4;

// All below: 1 MiB of floats with Open MPI 4.1.4 as Debian 12 has it, messages of each pair as its
// monitoring of point-to-point messages counted them (--mca pml_monitoring_enable 2).

// MPI_Iallreduce into another buffer, 5 ranks: 0 and 1 are a pair.
TEST(OpenMpiMessages, OfFiveRanksThatReduceAreThoseOfHalvingNearestFirst) {
  EXPECT_EQ(traffic_of(Collective::all_reduce, "near_halving_doubling", 5),
            (Pairs{{{0, 1}, {half + whole, 2}},
                   {{0, 2}, {whole, 2}},
                   {{0, 3}, {half, 2}},
                   {{1, 0}, {whole, 2}},
                   {{2, 0}, {whole, 2}},
                   {{2, 4}, {half, 2}},
                   {{3, 0}, {half, 2}},
                   {{3, 4}, {whole, 2}},
                   {{4, 2}, {half, 2}},
                   {{4, 3}, {whole, 2}}}));
}

// And 8 ranks: with each partner twice half of the range that both work on.
TEST(OpenMpiMessages, OfEightRanksThatReduceAreLargestBetweenNeighbours) {
  const Pairs pairs = traffic_of(Collective::all_reduce, "near_halving_doubling", 8);
  EXPECT_EQ(pairs.size(), 24U);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(pairs.at({rank, rank ^ 1U}), (Traffic{whole, 2}));
    EXPECT_EQ(pairs.at({rank, rank ^ 2U}), (Traffic{half, 2}));
    EXPECT_EQ(pairs.at({rank, rank ^ 4U}), (Traffic{quarter, 2}));
  }
}

TEST(OpenMpiMessages, OfThreeRanksThatReduceAreWholeBuffersUpAndDown) {
  EXPECT_EQ(
      traffic_of(Collective::all_reduce, "binomial_fan_out", 3),
      (Pairs{
          {{0, 1}, {whole, 1}}, {{0, 2}, {whole, 1}}, {{1, 0}, {whole, 1}}, {{2, 0}, {whole, 1}}}));
}

// MPI_Ibcast.
TEST(OpenMpiMessages, OfABroadcastComeFromTheRankWithoutTheHighestBit) {
  EXPECT_EQ(traffic_of(Collective::broadcast, "binomial_fan_out", 8),
            (Pairs{{{0, 1}, {whole, 1}},
                   {{0, 2}, {whole, 1}},
                   {{0, 4}, {whole, 1}},
                   {{1, 3}, {whole, 1}},
                   {{1, 5}, {whole, 1}},
                   {{2, 6}, {whole, 1}},
                   {{3, 7}, {whole, 1}}}));
  EXPECT_EQ(traffic_of(Collective::broadcast, "direct", 4),
            (Pairs{{{0, 1}, {whole, 1}}, {{0, 2}, {whole, 1}}, {{0, 3}, {whole, 1}}}));
}

// Not counted but read in gloo/broadcast.cc: from root 2 of 4 on they are numbers 0 to 3: 0 sends
// to 1 and 2, and 1 to 3. Of 6, whose ranks 4 and 5 are numbers 2 and 3: 0 to 4 as well, 1 to 3
// and 5.
TEST(GlooMessages, OfABroadcastComeFromTheNumberWithoutTheHighestBitFromTheRootOn) {
  EXPECT_EQ(traffic_of(Collective::broadcast, "rotated_fan_out", 4, Rank(2)),
            (Pairs{{{2, 3}, {whole, 1}}, {{2, 0}, {whole, 1}}, {{3, 1}, {whole, 1}}}));
  EXPECT_EQ(traffic_of(Collective::broadcast, "rotated_fan_out", 6, Rank(2)),
            (Pairs{{{2, 3}, {whole, 1}},
                   {{2, 4}, {whole, 1}},
                   {{2, 0}, {whole, 1}},
                   {{3, 5}, {whole, 1}},
                   {{3, 1}, {whole, 1}}}));
}

}  // namespace
}  // namespace paceline::collectives
