#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/traces/collective_log/fixture.h"
#include "traces/collective_log/readers.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using test::error_of;
using test::fixture;
using test::only_log;
using test::times_us;

const std::string all_gather = "# OSU MPI-CUDA Allgather Latency Test v7.3\n";

TEST(OsuCollectives, HaveSizesAndMeanTimesOfTheCollectiveInTheirTitle) {
  const CollectiveLog log = only_log(fixture("osu_allreduce.txt"));
  EXPECT_EQ(log.collective, Collective::all_reduce);
  EXPECT_EQ(log.known_by, "its title");
  EXPECT_EQ(log.ranks, 0U) << "it does not tell";
  ASSERT_EQ(log.rows.size(), 7U);
  EXPECT_EQ(log.rows[0].line, 6U);
  EXPECT_EQ(log.rows[6].size, Bytes(268435456));
  EXPECT_EQ(times_us(log.rows[6]), std::vector{13431.8});
  EXPECT_TRUE(log.skipped.empty());
  EXPECT_TRUE(log.notes.empty());
}

// An all-gather's 1,024 bytes are of each of 4 ranks; a reduce-scatter's 4,096 are of all.
TEST(OsuCollectives, CountTheWholeBuffer) {
  const auto logs = read_collective_logs(fixture("osu_host_mixed.txt"));
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].collective, Collective::all_gather);
  EXPECT_EQ(logs[0].ranks, 4U);
  EXPECT_EQ(logs[0].nodes, 2U);
  EXPECT_EQ(logs[0].rows.at(0).size, Bytes(4096));
  EXPECT_EQ(logs[1].collective, Collective::reduce_scatter);
  EXPECT_EQ(logs[1].rows.at(0).size, Bytes(4096));
}

TEST(OsuCollectives, SayThatCpusReducedAndWhatIsLeftOut) {
  const auto logs = read_collective_logs(fixture("osu_host_mixed.txt"));
  EXPECT_EQ(logs.at(0).notes, (std::vector<std::string>{
                                  "buffers in host memory: CPUs' collectives, not those of GPUs",
                                  "left out, as none of ours: Barrier Latency Test"}));
}

TEST(OsuCollectives, OfSharesAskForTheRanksWhereNothingTellsThem) {
  const CollectiveLog log = only_log(all_gather + "# Size Avg Latency(us)\n1024 12.00\n");
  EXPECT_TRUE(log.rows.empty());
  ASSERT_EQ(log.skipped.size(), 1U);
  EXPECT_EQ(log.skipped[0].line, 3U);
  EXPECT_NE(log.skipped[0].why.find("write \"# GPUs: 16\" above its title"), std::string::npos);
}

TEST(OsuCollectives, SkipRowsThatAreNoMeasurement) {
  const CollectiveLog log = only_log(
      "# OSU MPI-CUDA Broadcast Latency Test v7.3\n8 1.50 Pass\n16 1.50 Fail\n32\n64 2\n0 1.00\n");
  ASSERT_EQ(log.rows.size(), 1U);
  std::vector<std::string> why;
  for (const auto& skipped : log.skipped) why.push_back(skipped.why);
  EXPECT_EQ(why, (std::vector<std::string>{"its results are wrong", "the line breaks off",
                                           "the line breaks off", "a size of \"0\""}));
}

TEST(OsuCollectives, AreKnownByTheirNames) {
  const std::pair<const char*, Collective> names[] = {
      {"Reduce", Collective::reduce},
      {"All-to-All Personalized Exchange", Collective::all_to_all},
      {"Scatter", Collective::scatter},
      {"Gather", Collective::gather}};
  for (const auto& [name, collective] : names) {
    const CollectiveLog log = only_log("# GPUs: 2\n# OSU NCCL-CUDA " + std::string(name) +
                                       " Latency Test v7.5\n1024 12.00\n");
    EXPECT_EQ(log.collective, collective) << name;
  }
}

TEST(OsuCollectives, WithoutARowAreAnError) {
  EXPECT_STREQ(error_of(all_gather).what(), "has the title of a collective, and no row");
}

TEST(OsuCollectives, OfOtherTestsAreNone) {
  for (const char* name : {"Allgatherv Latency", "Multi Latency", "Bandwidth", "Latency"}) {
    EXPECT_FALSE(is_osu_collective("# OSU MPI " + std::string(name) + " Test v7.3\n")) << name;
  }
}

}  // namespace
}  // namespace paceline::traces
