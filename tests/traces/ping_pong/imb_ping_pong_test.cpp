#include <gtest/gtest.h>

#include <string>

#include "tests/traces/ping_pong/ping_pong_fixture.h"

namespace paceline::traces {
namespace {

using test::only_ping_pong;
using test::ping_pong_error;
using test::reasons;
using test::time_us;

const std::string header = "#bytes #repetitions t[usec] Mbytes/sec\n";

TEST(ImbPingPong, IsReadAndOtherBenchmarksArePassedOver) {
  const PingPong table = only_ping_pong(test::ping_pong_fixture("imb_ping_pong.txt"));
  ASSERT_EQ(table.rows.size(), 24U);
  EXPECT_EQ(table.rows[0].size, Bytes(0));
  EXPECT_EQ(time_us(table.rows[0]), 0.5);
  EXPECT_EQ(table.rows[23].size, Bytes(4194304));
  EXPECT_EQ(time_us(table.rows[23]), 524.79);
  EXPECT_EQ(reasons(table), std::vector<std::string>{"a time of \"needed\""});  // out of memory
}

TEST(ImbPingPong, MayBeOfAnySource) {
  const PingPong table =
      only_ping_pong("# Benchmarking PingPongAnySource\n" + header + "8 1000 1.50 5.30\n16 1000\n");
  EXPECT_EQ(time_us(table.rows.at(0)), 1.5);
  EXPECT_EQ(reasons(table), std::vector<std::string>{"the line breaks off"});
}

TEST(ImbPingPong, OfSeveralPairsAtATimeIsAnError) {
  const auto error = ping_pong_error("# Benchmarking PingPong\n# #processes = 4\n" + header);
  EXPECT_STREQ(error.what(), "is of 4 processes at a time");
  EXPECT_EQ(error.line(), 2U);
}

TEST(ImbPingPong, MustBeAmongTheBenchmarks) {
  for (const char* other : {"PingPing", "Exchange", "Multi-PingPong"}) {
    const auto error =
        ping_pong_error("# Benchmarking " + std::string(other) + "\n" + header + "8 10 1.5 5.3\n");
    EXPECT_STREQ(error.what(), "has no row of a ping-pong");
  }
}

}  // namespace
}  // namespace paceline::traces
