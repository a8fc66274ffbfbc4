#include <gtest/gtest.h>

#include <cmath>

#include "traces/collective_log/collective_log.h"
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
std::vector<Collective> of(std::optional<bool> reduces, std::optional<std::int64_t> root,
                           double factor, std::uint32_t ranks, double off = 0.001) {
  return may_be({reduces, root, factor, off}, ranks);
}

using Collectives = std::vector<Collective>;

TEST(Rows, TellTheCollectiveByTheirBusFactor) {
  EXPECT_EQ(of(true, -1, 1.75, 8), Collectives{Collective::all_reduce});
  EXPECT_EQ(of(true, std::nullopt, 1, 2), Collectives{Collective::all_reduce});
  EXPECT_EQ(of(true, -1, 0.875, 8), Collectives{Collective::reduce_scatter});
  EXPECT_EQ(of(true, 0, 1, 8), Collectives{Collective::reduce});
  EXPECT_EQ(of(false, 0, 1, 8), Collectives{Collective::broadcast});
  EXPECT_EQ(of(false, std::nullopt, 1, 8), Collectives{Collective::broadcast});
  // Before 2.10, without an operation's column.
  EXPECT_EQ(of(std::nullopt, std::nullopt, 0.875, 8), Collectives{Collective::all_gather});
  EXPECT_EQ(of(std::nullopt, 0, 1, 8), Collectives{Collective::broadcast});
  // Of unknown ranks only an all-reduce's is above 1; 2 * 23/24 is 1.917.
  EXPECT_EQ(of(true, -1, 1.917, 0), Collectives{Collective::all_reduce});
  EXPECT_EQ(ranks_by_factor({true, -1, 1.917, 0.001}, Collective::all_reduce), 24U);
  // 2 * 255/256 and its neighbours are as near.
  EXPECT_EQ(ranks_by_factor({true, -1, 1.992, 0.001}, Collective::all_reduce), 0U);
}

TEST(Rows, ThatCouldBeSeveralCollectivesTellWhich) {
  EXPECT_TRUE(of(true, -1, 1, 8).empty());  // sendrecv
  EXPECT_TRUE(allows_exchange({true, -1, 1, 0.001}));
  EXPECT_EQ(of(false, 0, 0.875, 8), (Collectives{Collective::gather, Collective::scatter}));
  EXPECT_EQ(of(false, -1, 0.875, 8), (Collectives{Collective::all_gather, Collective::all_to_all}));
  EXPECT_EQ(of(false, 0, 0.998, 512, 0.01),
            (Collectives{Collective::broadcast, Collective::gather, Collective::scatter}));
  EXPECT_TRUE(of(true, -1, 0, 8, 0).empty());  // nothing said
  EXPECT_TRUE(of(true, -1, std::nan(""), 8).empty());
}

TEST(Rows, ExcludeCollectivesByOperationRootAndFactor) {
  const Evidence gathered{false, -1, 0.875, 0.001};
  EXPECT_TRUE(allows(gathered, Collective::all_gather, 8));
  EXPECT_FALSE(allows(gathered, Collective::all_gather, 16));
  EXPECT_FALSE(allows(gathered, Collective::reduce_scatter, 8));
  EXPECT_FALSE(allows(gathered, Collective::all_reduce, 8));
  EXPECT_EQ(why_not(gathered, Collective::all_gather, 16),
            "busbw is 0.875 of algbw, of all_gather on 16 GPUs 0.9375");
  EXPECT_EQ(why_not(gathered, Collective::all_reduce, 8),
            "its rows name no operation (redop), and all_reduce has one");
  EXPECT_TRUE(allows({}, Collective::all_reduce, 8));  // nothing said
}

// One row whose digit was changed is none of the table's.
TEST(Rows, AgreeOnTheFactorOfMost) {
  const std::vector<Evidence> rows{{true, -1, 1.75, 0.01},
                                   {true, -1, 1.751, 0.002},
                                   {true, -1, 1.35, 0.001},
                                   {true, -1, 1.749, 0.003}};
  const Evidence all = agreed(rows);
  EXPECT_EQ(all.bus_factor, 1.751);
  EXPECT_TRUE(agrees(rows[0], all));
  EXPECT_FALSE(agrees(rows[2], all));
}

}  // namespace
}  // namespace paceline::traces
