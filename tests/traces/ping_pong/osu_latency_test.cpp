#include <gtest/gtest.h>

#include <string>

#include "tests/traces/ping_pong/ping_pong_fixture.h"

namespace paceline::traces {
namespace {

using test::only_ping_pong;
using test::ping_pong_error;
using test::reasons;
using test::time_us;

const std::string title = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n";

TEST(OsuLatency, HasSizesAndTimesOneWay) {
  const PingPong table = only_ping_pong(test::ping_pong_fixture("osu_latency.txt"));
  EXPECT_FALSE(table.between);
  ASSERT_EQ(table.rows.size(), 24U);
  EXPECT_TRUE(table.skipped.empty());
  EXPECT_EQ(table.rows[0].size, Bytes(0));
  EXPECT_EQ(table.rows[0].line, 7U);
  EXPECT_EQ(time_us(table.rows[0]), 2.0);
  EXPECT_EQ(table.rows[23].size, Bytes(4194304));
  EXPECT_EQ(time_us(table.rows[23]), 424.43);
}

TEST(OsuLatency, MayHaveAnOldTitle) {
  const PingPong table =
      only_ping_pong("# OSU MPI Latency Test (Version 2.0)\n# Size Latency (us)\n8 1.05\n");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(time_us(table.rows[0]), 1.05);
}

TEST(OsuLatency, BeginsATableAtEveryTitleAndKeepsWhatLiesBetween) {
  const auto tables = read_ping_pongs("# ping_pong: network\n" + title + "1 2.50\n" + title +
                                      "1 2.60\n# ping_pong: intra_node\n" + title + "1 0.40\n");
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[0].between, cost::LinkPlace::network);
  EXPECT_EQ(tables[1].between, cost::LinkPlace::network);
  EXPECT_EQ(time_us(tables[1].rows.at(0)), 2.6);
  EXPECT_EQ(tables[2].between, cost::LinkPlace::intra_node);
}

TEST(OsuLatency, SkipsRowsThatAreNoMeasurementAndSaysWhy) {
  const PingPong table = only_ping_pong(
      "7 7\n" + title + "1 1.05 Pass\n2 1.06 Fail\n4\n8 2.1\n-16 1.07\n32 0.00\nwords 1 2\n");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].line, 4U);
  EXPECT_EQ(reasons(table), (std::vector<std::string>{"its results are wrong",
                                                      "the line breaks off", "the line breaks off",
                                                      "a size of \"-16\"", "a time of \"0.00\""}));
}

TEST(OsuLatency, RefusesTestsThatAreNoPingPong) {
  for (const char* other : {"# OSU MPI Multi Latency Test v5.9", "# OSU MPI_Put Latency Test v5.9",
                            "# OSU MPI Bandwidth Test v5.9"}) {
    const auto error = ping_pong_error(title + "1 2.50\n" + other + "\n# Size\n1 2.50\n");
    EXPECT_EQ(error.what(), "is no ping-pong: \"" + std::string(other) + "\"");
    EXPECT_EQ(error.line(), 4U);
  }
}

TEST(OsuLatency, PassesOverCollectivesThatAreReadElsewhere) {
  const std::string other = "# OSU MPI Allreduce Latency Test v5.9\n# Size\n1 7.50\n";
  const PingPong table = only_ping_pong(other + title + "1 2.50\n" + other);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(time_us(table.rows[0]), 2.5);
  EXPECT_FALSE(is_ping_pong(other));
}

TEST(OsuLatency, WithoutRowsIsAnError) {
  EXPECT_STREQ(ping_pong_error(title).what(), "has no row of a ping-pong");
}

}  // namespace
}  // namespace paceline::traces
