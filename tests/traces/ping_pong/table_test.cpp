#include <gtest/gtest.h>

#include <string>

#include "tests/traces/ping_pong/ping_pong_fixture.h"

namespace paceline::traces {
namespace {

using test::only_ping_pong;
using test::ping_pong_error;
using test::reasons;
using test::time_us;

const std::string start = "# ping_pong: network\nsize(B),time(us)\n";

TEST(PingPongTable, HasARowARepetitionAndWhatLiesBetween) {
  const auto tables = read_ping_pongs(test::ping_pong_fixture("table.csv"));
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].between, cost::LinkPlace::network);
  ASSERT_EQ(tables[0].rows.size(), 16U);
  EXPECT_EQ(time_us(tables[0].rows[0]), 5.05);
  EXPECT_EQ(time_us(tables[0].rows[1]), 4.95);
  EXPECT_EQ(tables[0].rows[1].line, 4U);
  EXPECT_EQ(tables[1].between, cost::LinkPlace::intra_node);
  ASSERT_EQ(tables[1].rows.size(), 6U);
  EXPECT_EQ(tables[1].rows[5].size, Bytes(4194304));
  EXPECT_EQ(time_us(tables[1].rows[5]), 84.886);  // in ms there, behind a column of words
}

TEST(PingPongTable, SkipsRowsThatAreNoMeasurementAndSaysWhy) {
  const PingPong table = only_ping_pong(start + "0,2\n8\n-8,2\n8,2 us\n8,-1\n");
  EXPECT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(reasons(table), (std::vector<std::string>{"the line breaks off", "a size of \"-8\"",
                                                      "a time of \"2 us\"", "a time of \"-1\""}));
  EXPECT_EQ(table.skipped[0].line, 4U);
}

TEST(PingPongTable, WithACollectiveIsAnError) {
  const auto error = ping_pong_error(start + "0,2\n# collective: all_reduce\n");
  EXPECT_STREQ(error.what(), "has a collective in a file of ping-pongs");
  EXPECT_EQ(error.line(), 4U);
}

TEST(PingPongTable, WithoutHeaderOrRowsIsAnError) {
  EXPECT_STREQ(ping_pong_error(start).what(), "has no row of a ping-pong");
  EXPECT_STREQ(ping_pong_error("# ping_pong: network\n0,2\n").what(), "has no row of a ping-pong");
  EXPECT_STREQ(ping_pong_error("# ping_pong: network\nsize,time\n0,2\n").what(),
               "has no row of a ping-pong");
}

}  // namespace
}  // namespace paceline::traces
