#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/collectives/algorithms.h"
#include "tests/models/collectives/plan_check.h"

namespace paceline::collectives {
namespace {

Plan gather(std::uint32_t ranks, std::uint64_t count) {
  return pat_all_gather({RankCount(ranks), ElementCount(count), ElementSize(4), Rank(0), {}});
}

Plan scatter(std::uint32_t ranks, std::uint64_t count) {
  return pat_reduce_scatter({RankCount(ranks), ElementCount(count), ElementSize(4), Rank(0), {}});
}

// The first elements of the chunks that a rank sends in a round's first repeat, of one each.
std::vector<std::uint64_t> chunks_sent(const Round& round, Rank rank) {
  std::vector<std::uint64_t> chunks;
  for (const Send& send : round.sends(rank)) chunks.push_back(send.chunk.at(0).begin.value());
  return chunks;
}

// Eight ranks and elements: rank 1 sends its own chunk to rank 5, 1 and 5 to rank 7, then 1, 3, 5
// and 7 to rank 0.
TEST(Pat, SendsOneChunkFarAndHalfOfThemToTheNext) {
  using Chunks = std::vector<std::uint64_t>;
  const Plan plan = gather(8, 8);
  const auto& rounds = plan.channels.front().rounds;
  ASSERT_EQ(rounds.size(), 3U);
  const std::array<Chunks, 3> sent{Chunks{1}, {1, 5}, {1, 3, 5, 7}};
  const std::array<Rank, 3> to{Rank(5), Rank(7), Rank(0)};
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    EXPECT_EQ(chunks_sent(rounds[i], Rank(1)), sent[i]) << i;
    for (const Send& send : rounds[i].sends(Rank(1))) EXPECT_EQ(send.to, to[i]) << i;
  }
}

// The same chunks come back the same way: what rank 1 sent rank 0 at last, it gets from it first.
TEST(Pat, ScattersAlongTheSameEdgesBackwards) {
  const auto down = gather(13, 13).channels.front().rounds;
  const auto up = scatter(13, 13).channels.front().rounds;
  ASSERT_EQ(down.size(), up.size());
  for (std::size_t i = 0; i < up.size(); ++i) {
    for (std::uint32_t r = 0; r < 13; ++r) {
      const auto& reversed = down[down.size() - 1 - i];
      const auto from = reversed.sends(Rank(r)).front().to;
      EXPECT_EQ(chunks_sent(reversed, Rank(r)), chunks_sent(up[i], from));
      EXPECT_EQ(up[i].sends(from).front().to, Rank(r));
    }
  }
}

// Beyond 64 ranks steps have more chunks than go at a time: 50 at distance 1 of 100 ranks go in two
// rounds, the other six distances in one each; of 256 ranks 128, 64 and 32 in four, two and one,
// and so the other five.
TEST(Pat, IsRightWhereChunksGoInTurns) {
  EXPECT_EQ(round_count(gather(64, 64)), 6U);
  EXPECT_EQ(round_count(gather(100, 100)), 8U);
  EXPECT_EQ(round_count(scatter(256, 256)), 4U + 2 + 1 + 5);
  for (const std::uint32_t ranks : {64U, 65U, 66U, 100U, 128U, 129U, 191U, 200U}) {
    for (const std::uint64_t count : {0ULL, 7ULL, ranks + 3ULL, 2ULL * ranks}) {
      for (const Plan& plan : {gather(ranks, count), scatter(ranks, count)}) {
        const auto fault = find_fault(plan);
        EXPECT_EQ(fault, std::nullopt) << ranks << " ranks, " << count << ": " << *fault;
      }
    }
  }
}

}  // namespace
}  // namespace paceline::collectives
