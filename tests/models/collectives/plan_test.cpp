#include "models/collectives/plan.h"

#include <gtest/gtest.h>

#include "tests/models/collectives/plan_check.h"
#include "tests/models/collectives/requests.h"

namespace paceline::collectives {
namespace {

// 10 = 3 * 3 + 1: the first chunk has one more.
TEST(Partition, GivesTheRemainderToTheFirstChunks) {
  const auto chunks = Partition::even(range(0, 10), 3);
  EXPECT_EQ(chunks.chunks(), 3U);
  EXPECT_EQ(chunks.chunk(0), range(0, 4));
  EXPECT_EQ(chunks.chunk(1), range(4, 3));
  EXPECT_EQ(chunks.chunk(2), range(7, 3));
}

TEST(Partition, StartsWhereTheWholeStarts) {
  const auto chunks = Partition::even(range(100, 7), 2);
  EXPECT_EQ(chunks.chunk(0), range(100, 4));
  EXPECT_EQ(chunks.chunk(1), range(104, 3));
}

TEST(Partition, LeavesChunksEmptyWhenElementsRunOut) {
  const auto chunks = Partition::even(range(0, 2), 4);
  EXPECT_EQ(chunks.chunk(0), range(0, 1));
  EXPECT_EQ(chunks.chunk(1), range(1, 1));
  EXPECT_EQ(chunks.chunk(2).count, ElementCount(0));
  EXPECT_EQ(chunks.chunk(3).count, ElementCount(0));
  EXPECT_EQ(Partition::even(range(0, 0), 3).chunk(1).count, ElementCount(0));
}

TEST(Partition, EvenChunksCoverTheWholeInOrderAndDifferByOneAtMost) {
  for (std::uint64_t count = 0; count <= 60; ++count) {
    for (std::uint64_t n = 1; n <= 40; ++n) {
      const auto chunks = Partition::even(range(5, count), n);
      std::uint64_t end = 5;
      for (std::uint64_t i = 0; i < n; ++i) {
        const ElementRange chunk = chunks.chunk(i);
        ASSERT_EQ(chunk.begin, ElementCount(end)) << count << " in " << n << ", chunk " << i;
        ASSERT_EQ(chunk.count.value(), count / n + (i < count % n ? 1 : 0));
        end += chunk.count.value();
      }
      ASSERT_EQ(end, 5 + count);
    }
  }
}

// 10 elements in blocks of 4: 4, 4, 2, then nothing.
TEST(Partition, BlocksAreFullUntilTheLastThatHasAny) {
  const auto chunks = Partition::blocks(range(20, 10), 5, ElementCount(4));
  EXPECT_EQ(chunks.chunk(0), range(20, 4));
  EXPECT_EQ(chunks.chunk(1), range(24, 4));
  EXPECT_EQ(chunks.chunk(2), range(28, 2));
  EXPECT_EQ(chunks.chunk(3), range(30, 0));
  EXPECT_EQ(chunks.chunk(4), range(30, 0));
}

TEST(Partition, NeighbouringChunksJoinToOneRange) {
  const auto even = Partition::even(range(0, 10), 4);  // 3 3 2 2
  EXPECT_EQ(even.chunks_from(0, 4), range(0, 10));
  EXPECT_EQ(even.chunks_from(1, 2), range(3, 5));
  EXPECT_EQ(even.chunks_from(3, 0).count, ElementCount(0));
  const auto blocks = Partition::blocks(range(0, 10), 4, ElementCount(4));  // 4 4 2 0
  EXPECT_EQ(blocks.chunks_from(1, 3), range(4, 6));
}

TEST(Partition, ChunksGoRoundTheEndAsTwoRanges) {
  const auto chunks = Partition::even(range(0, 10), 4);  // 3 3 2 2
  EXPECT_EQ(chunks.chunks_round(1, 3), std::vector{range(3, 7)});
  EXPECT_EQ(chunks.chunks_round(3, 1), std::vector{range(8, 2)});
  EXPECT_EQ(chunks.chunks_round(2, 3), (std::vector{range(6, 4), range(0, 3)}));
}

// 10 in 3: 4 3 3. Of each in two parts the second: 2 of 2..3, 1 of 6, 1 of 9.
TEST(Partition, APartIsOfEachChunk) {
  const auto second = Partition::even(range(0, 10), 3).part(1, 2);
  EXPECT_EQ(second.chunks(), 3U);
  EXPECT_EQ(second.chunk(0), range(2, 2));
  EXPECT_EQ(second.chunk(1), range(6, 1));
  EXPECT_EQ(second.chunk(2), range(9, 1));
}

TEST(Partition, MovesAsAWhole) {
  EXPECT_EQ(Partition::even(range(5, 10), 3).moved(ElementCount(100)).chunk(1), range(109, 3));
}

TEST(Partition, IsUniformWhenAllChunksHaveOneSize) {
  for (std::uint64_t count = 0; count <= 30; ++count) {
    for (std::uint64_t n = 1; n <= 7; ++n) {
      const auto even = Partition::even(range(3, count), n);
      std::vector<Partition> partitions{
          even, Partition::blocks(range(0, count), n + 2, ElementCount(count / n + 1))};
      for (std::uint64_t part = 0; part < 3; ++part) partitions.push_back(even.part(part, 3));
      for (const Partition& partition : partitions) {
        bool same = true;
        for (std::uint64_t i = 0; i < partition.chunks(); ++i) {
          same = same && partition.chunk(i).count == partition.chunk(0).count;
        }
        EXPECT_EQ(partition.is_uniform(), same) << count << " in " << n;
      }
    }
  }
}

TEST(PartitionDeathTest, BreaksItsContractOutsideItsChunks) {
  const auto chunks = Partition::even(range(0, 10), 3);
  EXPECT_DEATH((void)chunks.chunk(3), "contract broken");
  EXPECT_DEATH((void)chunks.chunks_from(2, 2), "contract broken");
  EXPECT_DEATH((void)chunks.chunks_round(3, 1), "contract broken");
  EXPECT_DEATH((void)chunks.chunks_round(0, 4), "contract broken");
  EXPECT_DEATH((void)chunks.part(2, 2), "contract broken");
  EXPECT_DEATH((void)chunks.part(0, 2).part(0, 2), "contract broken");
  EXPECT_DEATH((void)chunks.part(0, 2).chunks_from(0, 2), "contract broken");
  EXPECT_DEATH((void)Partition::even(range(0, 10), 0), "contract broken");
  EXPECT_DEATH((void)Partition::blocks(range(0, 10), 2, ElementCount(4)), "contract broken");
}

TEST(ChunkRule, WalksAroundWhenCyclic) {
  const auto chunks = Partition::even(range(0, 8), 4);
  const ChunkRule down{chunks, 1, -1, true};
  EXPECT_EQ(down.at(0), range(2, 2));  // chunk 1
  EXPECT_EQ(down.at(1), range(0, 2));  // 0
  EXPECT_EQ(down.at(2), range(6, 2));  // 3
  EXPECT_EQ(down.at(5), range(0, 2));  // 1 - 5 = -4 = 0 modulo 4
  const ChunkRule up{chunks, -1, 3, true};
  EXPECT_EQ(up.at(0), range(6, 2));  // -1 = 3
  EXPECT_EQ(up.at(1), range(4, 2));  // 2
  EXPECT_EQ(up.at(4), range(6, 2));  // -1 + 12 = 11 = 3
}

TEST(ChunkRule, MovesNothingOutOfRangeWhenNotCyclic) {
  const ChunkRule rule{Partition::even(range(0, 6), 3), -1, 1, false};
  EXPECT_EQ(rule.at(0).count, ElementCount(0));  // ramp-up
  EXPECT_EQ(rule.at(1), range(0, 2));
  EXPECT_EQ(rule.at(3), range(4, 2));
  EXPECT_EQ(rule.at(4).count, ElementCount(0));  // drain
}

TEST(ChunkRule, CountsTheChunksOfItsWalk) {
  for (const std::int64_t first : {-7, -2, 0, 1, 4, 5, 9}) {
    for (const std::int64_t step : {-3, -1, 0, 1, 2}) {
      for (const bool cyclic : {false, true}) {
        const ChunkRule rule{Partition::even(range(0, 10), 5), first, step, cyclic};
        for (std::uint64_t repeats = 0, counted = 0; repeats < 12; ++repeats) {
          EXPECT_EQ(rule.chunks_in(repeats), counted) << first << " by " << step;
          if (rule.at(repeats).count > ElementCount(0)) ++counted;
        }
      }
    }
  }
}

// Positions 0, 1, 2 are owned by ranks 2, 0, 1.
TEST(ChunkRule, GoesThroughTheChunksOfItsOwners) {
  const auto owners =
      std::make_shared<const std::vector<Rank>>(std::vector<Rank>{Rank(2), Rank(0), Rank(1)});
  const ChunkRule rule{Partition::even(range(0, 6), 3), 1, -1, true, owners};
  EXPECT_EQ(rule.at(0), range(0, 2));  // position 1: chunk 0
  EXPECT_EQ(rule.at(1), range(4, 2));  // position 0: chunk 2
  EXPECT_EQ(rule.at(2), range(2, 2));  // position 2: chunk 1
}

TEST(ChunkRule, AlwaysMovesTheSameRange) {
  const auto rule = ChunkRule::always(range(3, 5));
  for (std::uint64_t repeat = 0; repeat < 4; ++repeat) EXPECT_EQ(rule.at(repeat), range(3, 5));
}

// Rank 0 sends chunk `repeat` of 5 elements in 3 chunks (2 2 1) to rank 1.
Round chunks_to_rank_1(std::uint64_t repeats) {
  return {repeats,
          [](Rank rank) {
            if (rank != Rank(0)) return std::vector<Send>{};
            return std::vector<Send>{
                {Rank(1), {Partition::even(range(0, 5), 3), 0, 1, false}, Arrival::copy}};
          },
          [](Rank rank) { return rank == Rank(1) ? std::vector{Rank(0)} : std::vector<Rank>{}; }};
}

// Channel 0 has 3 + 1 rounds, channel 1 has 4 + 1, of which the fifth has no chunk left. Transfers
// that move something: 3 + 1 and 3 + 1; elements: (5 + 2) twice.
TEST(Plan, CountsRoundsOfTheLongestChannelAndElementsOfAll) {
  const Plan plan{
      Collective::broadcast,
      RankCount(2),
      ElementCount(5),
      Rank(0),
      {{{chunks_to_rank_1(3), chunks_to_rank_1(1)}}, {{chunks_to_rank_1(4), chunks_to_rank_1(1)}}}};
  EXPECT_EQ(round_count(plan), 5U);
  EXPECT_EQ(transfer_count(plan), 8U);
  EXPECT_EQ(elements_sent(plan), (std::vector{ElementCount(14), ElementCount(0)}));
}

TEST(Plan, WithoutChannelsHasNoRounds) {
  const Plan plan{Collective::all_reduce, RankCount(1), ElementCount(5), Rank(0), {}};
  EXPECT_EQ(round_count(plan), 0U);
  EXPECT_EQ(transfer_count(plan), 0U);
  EXPECT_EQ(elements_sent(plan), std::vector{ElementCount(0)});
}

TEST(Collective, HasANameEach) {
  EXPECT_EQ(to_text(Collective::all_reduce), "all_reduce");
  EXPECT_EQ(to_text(Collective::reduce_scatter), "reduce_scatter");
  EXPECT_EQ(to_text(Collective::all_gather), "all_gather");
  EXPECT_EQ(to_text(Collective::broadcast), "broadcast");
  EXPECT_EQ(to_text(Collective::reduce), "reduce");
  EXPECT_EQ(to_text(Collective::all_to_all), "all_to_all");
  EXPECT_EQ(to_text(Collective::scatter), "scatter");
  EXPECT_EQ(to_text(Collective::gather), "gather");
}

TEST(Collective, HasARootWhereOneRankSendsOrGetsWhatTheOthersDoNot) {
  for (const auto one :
       {Collective::broadcast, Collective::reduce, Collective::scatter, Collective::gather}) {
    EXPECT_TRUE(has_root(one)) << to_text(one);
  }
  for (const auto one : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                         Collective::all_to_all}) {
    EXPECT_FALSE(has_root(one)) << to_text(one);
  }
}

}  // namespace
}  // namespace paceline::collectives
