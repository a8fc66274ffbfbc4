#include <gtest/gtest.h>

#include <string>

#include "tests/traces/collective_log/fixture.h"
#include "traces/collective_log/readers.h"
#include "traces/ping_pong/ping_pong.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using test::fixture;
using test::only_log;
using test::times_us;

const std::string header = "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n";

std::string reduce_scatter_of(const std::string& version) {
  return version + "# Benchmarking Reduce_scatter\n# #processes = 8\n" + header +
         "4096 10 1.00 3.00 2.00\n";
}

TEST(ImbCollectives, AreATableForEachNumberOfProcesses) {
  const auto logs = read_collective_logs(fixture("imb_collectives.txt"));
  ASSERT_EQ(logs.size(), 3U);
  EXPECT_EQ(logs[0].collective, Collective::all_reduce);
  EXPECT_EQ(logs[0].ranks, 4U);
  EXPECT_EQ(logs[0].nodes, 0U);
  ASSERT_EQ(logs[0].rows.size(), 3U) << "0 bytes move nothing";
  EXPECT_EQ(logs[0].rows[2].size, Bytes(16777216));
  EXPECT_EQ(times_us(logs[0].rows[2]), std::vector{4195.0}) << "t_avg";
  EXPECT_EQ(logs[1].ranks, 8U);
  EXPECT_EQ(times_us(logs[1].rows.at(0)), std::vector{9.0});
  EXPECT_EQ(logs[0].notes, std::vector<std::string>{"left out, as none of ours: Barrier"});
}

TEST(ImbCollectives, StandBesidePingPongs) {
  const auto links = read_ping_pongs(fixture("imb_collectives.txt"));
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].rows.size(), 6U);
}

// 4,096 bytes are a share of 8 from 2019 on, and all of them before.
TEST(ImbCollectives, CountReduceScattersAsTheirVersionDoes) {
  const auto logs = read_collective_logs(fixture("imb_collectives.txt"));
  EXPECT_EQ(logs.at(2).rows.at(0).size, Bytes(8 * 4096));
  const std::string old = "# Intel(R) MPI Benchmarks 2018 Update 1, MPI-1 part\n";
  EXPECT_EQ(only_log(reduce_scatter_of(old)).rows.at(0).size, Bytes(4096));
  const std::string oldest = "# Intel(R) MPI Benchmark Suite V3.2, MPI1 part\n";
  EXPECT_EQ(only_log(reduce_scatter_of(oldest)).rows.at(0).size, Bytes(4096));
  const CollectiveLog unknown = only_log(reduce_scatter_of(""));
  EXPECT_TRUE(unknown.rows.empty());
  EXPECT_NE(test::skipped_why(unknown).find("as IMB's version has it"), std::string::npos);
}

TEST(ImbCollectives, SkipLinesThatAreNoRow) {
  const auto logs = read_collective_logs(fixture("imb_collectives.txt"));
  ASSERT_EQ(logs.at(2).skipped.size(), 1U);
  EXPECT_NE(logs[2].skipped[0].why, "");
}

TEST(ImbCollectives, OfOtherBenchmarksAreNone) {
  for (const char* name : {"PingPong", "Sendrecv", "Iallreduce", "Barrier", "Multi-Allreduce"}) {
    EXPECT_FALSE(is_imb_collective("# Benchmarking " + std::string(name) + "\n" + header)) << name;
  }
}

}  // namespace
}  // namespace paceline::traces
