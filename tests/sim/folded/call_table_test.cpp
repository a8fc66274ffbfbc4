#include "sim/folded/call_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace paceline::sim {
namespace {

using collectives::ChunkRule;
using collectives::ElementRange;
using collectives::Partition;

constexpr ElementSize element(4);
constexpr std::uint64_t never = TransferSize::never;

Partition chunks_of(std::uint64_t elements, std::uint64_t chunks) {
  return Partition::even({ElementCount(0), ElementCount(elements)}, chunks);
}

ChunkRule pipeline(std::uint64_t elements, std::uint64_t chunks, std::int64_t first,
                   std::int64_t step) {
  return {chunks_of(elements, chunks), first, step, false};
}

std::vector<double> bytes_at(const TransferSize& size, std::uint64_t repeats) {
  std::vector<double> bytes;
  for (std::uint64_t i = 0; i < repeats; ++i) bytes.push_back(size.bytes_at(i));
  return bytes;
}

// 10 floats in 3 chunks: 4, 3 and 3 of them. From chunk 1 down, round and round: 1 0 2 1 0.
TEST(TransferSize, IsToTheElementWhatTheRuleSays) {
  const auto size = TransferSize::exact({chunks_of(10, 3), 1, -1, true}, element);
  EXPECT_EQ(bytes_at(size, 5), (std::vector<double>{12, 16, 12, 12, 16}));
  EXPECT_FALSE(size.is_even());
  EXPECT_EQ(size.steady_until(0), 1U);
  EXPECT_EQ(size.steady_until(2), 3U);
  EXPECT_EQ(size.transfers(1'000'000), 1'000'000U);
}

// The same chunks taken as 40/3 bytes each, and the same number of floats in chunks that are equal:
// no repeat ever differs.
TEST(TransferSize, StaysWhenChunksAreEqualAndGoRound) {
  const auto even = TransferSize::even({chunks_of(10, 3), 1, -1, true}, 40.0 / 3);
  EXPECT_EQ(bytes_at(even, 3), std::vector<double>(3, 40.0 / 3));
  const auto uniform = TransferSize::exact({chunks_of(12, 3), 1, -1, true}, element);
  EXPECT_EQ(bytes_at(uniform, 3), std::vector<double>(3, 16));
  for (const TransferSize& size : {even, uniform}) {
    EXPECT_TRUE(size.is_even());
    EXPECT_EQ(size.steady_until(0), never);
    EXPECT_EQ(size.steady_until(123), never);
    EXPECT_EQ(size.transfers(7), 7U);
  }
}

// Four chunks of 3 floats, from number -2 on: two repeats of ramp-up, four chunks, and nothing
// more.
TEST(TransferSize, ChangesAtTheEndsOfAPipeline) {
  const auto size = TransferSize::exact(pipeline(12, 4, -2, 1), element);
  EXPECT_EQ(bytes_at(size, 8), (std::vector<double>{0, 0, 12, 12, 12, 12, 0, 0}));
  EXPECT_EQ(size.steady_until(0), 2U);
  EXPECT_EQ(size.steady_until(1), 2U);
  EXPECT_EQ(size.steady_until(2), 6U);
  EXPECT_EQ(size.steady_until(5), 6U);
  EXPECT_EQ(size.steady_until(6), never);
  EXPECT_EQ(size.transfers(3), 1U);
  EXPECT_EQ(size.transfers(100), 4U);
}

// Five chunks from number 6 on, every second one downwards: 6 4 2 0 -2.
TEST(TransferSize, FollowsAPipelineThatRunsDownInStridesOfTwo) {
  const auto size = TransferSize::even(pipeline(5, 5, 6, -2), 4);
  EXPECT_EQ(bytes_at(size, 5), (std::vector<double>{0, 4, 4, 4, 0}));
  EXPECT_EQ(size.steady_until(0), 1U);
  EXPECT_EQ(size.steady_until(1), 4U);
  EXPECT_EQ(size.steady_until(3), 4U);
  EXPECT_EQ(size.steady_until(4), never);
  EXPECT_EQ(size.transfers(100), 3U);
}

// Three floats in five chunks: the last two have none, so three transfers of at least a byte.
TEST(TransferSize, CountsNoTransferForAnEmptyChunk) {
  const auto size = TransferSize::exact({chunks_of(3, 5), 0, 1, true}, element);
  EXPECT_EQ(bytes_at(size, 5), (std::vector<double>{4, 4, 4, 0, 0}));
  EXPECT_EQ(size.transfers(5), 3U);
  EXPECT_EQ(size.transfers(8), 6U);
  EXPECT_EQ(TransferSize::even({chunks_of(0, 5), 0, 1, true}, 0).transfers(100), 0U);
}

struct RandomSize {
  TransferSize size;
  std::string text;
};

RandomSize random_size(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  const auto signed_below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * limit + 1)) - limit;
  };
  const std::uint64_t chunks = 1 + below(9),
                      elements = below(4) * chunks + below(2) * below(chunks);
  const ChunkRule rule{chunks_of(elements, chunks), signed_below(15), signed_below(4),
                       below(3) == 0};
  const bool even = below(2) == 0;
  return {even ? TransferSize::even(rule, 4 * rule.partition.mean_elements())
               : TransferSize::exact(rule, element),
          std::to_string(elements) + " in " + std::to_string(chunks) + " chunks, from " +
              std::to_string(rule.first) + " by " + std::to_string(rule.step) +
              (rule.cyclic ? ", cyclic" : "") + (even ? ", even" : "")};
}

// Repeat by repeat: between a repeat and where the size may next differ it is one, and what the
// ends between them add up to is what single repeats do.
TEST(TransferSize, IsSteadyForAsLongAsItSaysForAnyRule) {
  constexpr std::uint64_t repeats = 60;
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    const auto [size, text] = random_size(random);
    SCOPED_TRACE(text);
    std::uint64_t transfers = 0;
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
      EXPECT_EQ(size.transfers(repeat), transfers);
      const std::uint64_t until = size.steady_until(repeat);
      ASSERT_GT(until, repeat);
      for (std::uint64_t later = repeat; later < std::min(until, repeats); ++later) {
        ASSERT_EQ(size.bytes_at(later), size.bytes_at(repeat)) << repeat << " and " << later;
      }
      if (size.bytes_at(repeat) > 0) ++transfers;
    }
  }
}

// Beside walking through the repeats of every rule of up to five chunks, with steps up to three
// either way. An exact chunk of at least an element exists where it has bytes.
TEST(TransferSize, IsAbsentForAsLongAsItSays) {
  constexpr std::uint64_t repeats = 40;
  for (std::uint64_t chunks = 1; chunks <= 5; ++chunks) {
    for (std::int64_t first = -20; first <= 20; ++first) {
      for (std::int64_t step = -3; step <= 3; ++step) {
        const auto size =
            TransferSize::exact(pipeline(4 * chunks + 1, chunks, first, step), element);
        std::uint64_t expected = never;
        for (std::uint64_t repeat = repeats; repeat-- > 0;) {
          if (size.bytes_at(repeat) > 0) expected = repeat;
          ASSERT_EQ(size.absent_until(repeat), expected) << chunks << ' ' << first << ' ' << step;
        }
      }
    }
  }
  EXPECT_EQ(TransferSize::exact({chunks_of(10, 3), 1, -1, true}, element).absent_until(7), 7U);
}

// Rounds are compared for leaping when there are some, and when no chunk differs from another.
TEST(RoundShape, MayLeapWhenManyRepeatsMoveOneSize) {
  const auto shape = [](std::uint64_t repeats, const TransferSize& size) {
    return RoundShape(repeats, 2, {{0, 1, 0, 1, size}});
  };
  const auto uniform = TransferSize::exact({chunks_of(12, 3), 0, 1, true}, element);
  const auto uneven = TransferSize::exact({chunks_of(10, 3), 0, 1, true}, element);
  const auto taken_as_even = TransferSize::even({chunks_of(10, 3), 0, 1, true}, 40.0 / 3);
  EXPECT_TRUE(shape(100, uniform).may_leap());
  EXPECT_TRUE(shape(100, taken_as_even).may_leap());
  EXPECT_FALSE(shape(100, uneven).may_leap());
  EXPECT_FALSE(shape(1, uniform).may_leap());
}

// 0 sends to 1 and 2, 2 sends to 1: by number of the transfer.
TEST(RoundShape, KnowsItsTransfersFromBothEnds) {
  const auto size = TransferSize::even({chunks_of(12, 3), 0, 1, true}, 16);
  const RoundShape shape(1, 3, {{2, 1, 0, 1, size}, {0, 1, 0, 1, size}, {0, 2, 0, 1, size}});
  const auto list = [](std::span<const std::uint32_t> numbers) {
    return std::vector<std::uint32_t>(numbers.begin(), numbers.end());
  };
  EXPECT_EQ(list(shape.sent_by(0)), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(list(shape.sent_by(1)), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(list(shape.sent_by(2)), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(list(shape.received_by(1)), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(list(shape.received_by(2)), (std::vector<std::uint32_t>{2}));
}

// A pipeline of 4 chunks in 10 repeats that stands for 8 transfers each time, and a channel of 5
// repeats of 3 on its own: 8 * 4 + 3 * 5.
TEST(CallTable, CountsTheTransfersThatItStandsFor) {
  const auto size = TransferSize::exact({chunks_of(12, 3), 0, 1, true}, element);
  CallTable table;
  table.actors = 1;
  table.add_channel(
      {0},
      {RoundShape(10, 1, {{0, 0, 0, 8, TransferSize::exact(pipeline(12, 4, -2, 1), element)}})}, 1);
  table.add_channel(
      {0}, {RoundShape(2, 1, {{0, 0, 0, 3, size}}), RoundShape(3, 1, {{0, 0, 0, 3, size}})}, 2);
  EXPECT_EQ(table.transfers(), 8U * 4 + 3 * 5);
  EXPECT_EQ(table.channels[0].rounds, 10U);
  EXPECT_EQ(table.channels[1].rounds, 5U);
  EXPECT_EQ(table.channels[1].window, 2U);
}

// Three parts of the first actor, none of the second and one of the third.
TEST(CallTable, KnowsTheActorsParts) {
  CallTable table;
  table.actors = 3;
  table.add_channel({0, 0, 0, 2}, {}, 1);
  const ChannelTable& channel = table.channels.front();
  EXPECT_EQ(channel.parts(), 4U);
  EXPECT_EQ(channel.parts_of(0), (std::pair<Part, Part>(0, 3)));
  EXPECT_EQ(channel.parts_of(1).first, channel.parts_of(1).second);
  EXPECT_EQ(channel.parts_of(2), (std::pair<Part, Part>(3, 4)));
}

}  // namespace
}  // namespace paceline::sim
