#include <gtest/gtest.h>

#include <cmath>

#include "traces/nccl_tests/nccl_tests.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

TEST(Program, IsFoundInCommandsAndTitles) {
  EXPECT_EQ(program_in("$ ./build/all_reduce_perf -b 8 -g 4")->collective, Collective::all_reduce);
  EXPECT_EQ(program_in("# Collective test starting: alltoall_perf")->collective,
            Collective::all_to_all);
  EXPECT_EQ(program_in("all_gather_perf")->collective, Collective::all_gather);
  EXPECT_EQ(program_in("reduce_perf > reduce_perf.log")->collective, Collective::reduce);
  EXPECT_EQ(program_in("gather_perf")->collective, Collective::gather);
  EXPECT_EQ(program_in("x/scatter_perf")->collective, Collective::scatter);
}

TEST(Program, ThatIsNoneOfOursIsNamedWithoutACollective) {
  for (const char* text : {"./sendrecv_perf -g 2", "alltoallv_perf"}) {
    ASSERT_TRUE(program_in(text)) << text;
    EXPECT_FALSE(program_in(text)->collective) << text;
  }
}

TEST(Program, IsNotFoundInListsAndOtherNames) {
  for (const char* text : {"", "all_reduce", "all_reduce_perf and all_gather_perf",
                           "my_reduce_perf", "reduce_perf2"}) {
    EXPECT_FALSE(program_in(text)) << text;
  }
}

// doc/PERFORMANCE.md of nccl-tests: busbw / algbw is 2(n-1)/n for all-reduce, (n-1)/n for
// reduce-scatter, all-gather, all-to-all, gather and scatter, 1 for broadcast, reduce and sendrecv.
TEST(Rows, TellTheCollectiveByTheirBusFactor) {
  const auto of = [](bool reduces, std::optional<std::int64_t> root, double factor,
                     std::uint32_t ranks) {
    return collective_of_row({reduces, root, factor, 0.001}, ranks);
  };
  EXPECT_EQ(of(true, -1, 1.75, 8), Collective::all_reduce);
  EXPECT_EQ(of(true, std::nullopt, 1, 2), Collective::all_reduce);
  EXPECT_EQ(of(true, -1, 0.875, 8), Collective::reduce_scatter);
  EXPECT_EQ(of(true, 0, 1, 8), Collective::reduce);
  EXPECT_EQ(of(false, 0, 1, 8), Collective::broadcast);
  EXPECT_EQ(of(false, std::nullopt, 1, 8), Collective::broadcast);
}

TEST(Rows, ThatCouldBeSeveralCollectivesTellNone) {
  const auto of = [](bool reduces, std::optional<std::int64_t> root, double factor, double off,
                     std::uint32_t ranks) {
    return collective_of_row({reduces, root, factor, off}, ranks);
  };
  EXPECT_FALSE(of(true, -1, 1, 0.001, 8));       // sendrecv
  EXPECT_FALSE(of(true, -1, 0.984, 0.02, 64));   // sendrecv or reduce-scatter
  EXPECT_FALSE(of(false, 0, 0.875, 0.001, 8));   // gather or scatter
  EXPECT_FALSE(of(false, -1, 0.875, 0.001, 8));  // all-gather or all-to-all
  EXPECT_FALSE(of(false, 0, 0.998, 0.01, 512));  // broadcast, gather or scatter
  EXPECT_FALSE(of(true, -1, 1.75, 0.001, 0));    // of how many ranks?
  EXPECT_FALSE(of(true, -1, 0, 0, 8));           // nothing said
  EXPECT_FALSE(of(true, -1, std::nan(""), 0.001, 8));
}

// nccl.h: X * 1000 + Y * 100 + Z up to 2.8, X * 10000 + Y * 100 + Z since.
TEST(VersionCode, IsThatOfNcclsHeader) {
  EXPECT_EQ(version_of_code(2408), "2.4.8");
  EXPECT_EQ(version_of_code(2804), "2.8.4");
  EXPECT_EQ(version_of_code(20909), "2.9.9");
  EXPECT_EQ(version_of_code(22809), "2.28.9");
  for (const std::uint64_t none : {std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0}}) {
    EXPECT_EQ(version_of_code(none), "");
  }
}

}  // namespace
}  // namespace paceline::traces
