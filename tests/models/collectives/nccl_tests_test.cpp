#include "models/collectives/nccl_tests.h"

#include <gtest/gtest.h>

namespace paceline::collectives {
namespace {

constexpr ElementSize float_size(4);

// doc/PERFORMANCE.md of nccl-tests, for 4 ranks: 2 x 3/4, 3/4 and 1.
TEST(NcclTestsConventions, BusBandwidthIsThatOfALink) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, RankCount(4)), 1.5);
  for (const Collective one : {Collective::reduce_scatter, Collective::all_gather,
                               Collective::all_to_all, Collective::scatter, Collective::gather}) {
    EXPECT_DOUBLE_EQ(bus_factor(one, RankCount(4)), 0.75) << to_text(one);
  }
  for (const Collective one : {Collective::broadcast, Collective::reduce}) {
    EXPECT_DOUBLE_EQ(bus_factor(one, RankCount(4)), 1) << to_text(one);
  }
}

TEST(NcclTestsConventions, OneRankNeedsNoBus) {
  EXPECT_EQ(bus_factor(Collective::all_reduce, RankCount(1)), 0);
  EXPECT_EQ(bus_factor(Collective::broadcast, RankCount(1)), 1);
}

// 1,000 bytes are 250 floats: 83 for each of 3 ranks, of which 20 lines of 4 floats are whole.
TEST(NcclTestsConventions, PartsAreWholeLinesOf16Bytes) {
  const auto counted = [](Collective collective, std::uint64_t bytes) {
    return tested_count(collective, RankCount(3), Bytes(bytes), float_size);
  };
  EXPECT_EQ(counted(Collective::all_reduce, 1000), ElementCount(250));
  EXPECT_EQ(counted(Collective::broadcast, 1003), ElementCount(250));
  EXPECT_EQ(counted(Collective::all_gather, 1000), ElementCount(240));
  EXPECT_EQ(counted(Collective::all_to_all, 47), ElementCount(0));
  EXPECT_EQ(counted(Collective::all_to_all, 48), ElementCount(12));
  EXPECT_EQ(tested_count(Collective::gather, RankCount(2), Bytes(48), ElementSize(8)),
            ElementCount(4));  // lines of two doubles
}

TEST(NcclTestsConventions, TheColumnCountsWhatOneRankHas) {
  EXPECT_EQ(count_column(Collective::all_reduce, RankCount(4), ElementCount(64)), ElementCount(64));
  EXPECT_EQ(count_column(Collective::reduce, RankCount(4), ElementCount(64)), ElementCount(64));
  EXPECT_EQ(count_column(Collective::all_gather, RankCount(4), ElementCount(64)), ElementCount(16));
}

TEST(NcclTestsConventions, ThreeCollectivesReduce) {
  for (const auto& [collective, text] : words_of(Collective{})) {
    EXPECT_EQ(is_reducing(collective), text.find("reduce") != std::string_view::npos) << text;
  }
}

}  // namespace
}  // namespace paceline::collectives
