#include "traces/ping_pong/ping_pong.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/traces/collective_log/fixture.h"
#include "tests/traces/ping_pong/ping_pong_fixture.h"

namespace paceline::traces {
namespace {

using test::ping_pong_error;
using test::ping_pong_fixture;

TEST(PingPong, IsFoundByContentInTheFormatThatItIs) {
  const std::vector<std::string> fixtures{"osu_latency.txt", "imb_ping_pong.txt", "table.csv"};
  ASSERT_EQ(ping_pong_formats().size(), fixtures.size());
  for (std::size_t i = 0; i < fixtures.size(); ++i) {
    const std::string text = ping_pong_fixture(fixtures[i]);
    for (std::size_t j = 0; j < fixtures.size(); ++j) {
      EXPECT_EQ(ping_pong_formats()[j].is_one(text), i == j) << fixtures[i];
    }
  }
}

TEST(PingPong, IsNoLogOfCollectivesNorTheOtherWayRound) {
  for (const char* name :
       {"old_text.txt", "new_text.txt", "report.json", "table.csv", "paceline_result.json"}) {
    EXPECT_FALSE(is_ping_pong(test::fixture(name))) << name;
  }
  for (const char* name : {"osu_latency.txt", "imb_ping_pong.txt"}) {
    for (const auto& format : collective_log_formats()) {
      EXPECT_FALSE(format.is_one(ping_pong_fixture(name))) << name << ", " << format.name;
    }
  }
}

TEST(PingPong, IsNothingInOtherText) {
  EXPECT_FALSE(is_ping_pong(""));
  EXPECT_FALSE(is_ping_pong("# OSU Pitzer cluster\n# collective: all_reduce\n"));
  EXPECT_STREQ(ping_pong_error("some words\n").what(), "has no ping-pong");
  EXPECT_EQ(ping_pong_error(std::string("# OSU\n\0", 7)).line(), 2U);
}

TEST(PingPong, MayBeginWithAByteOrderMark) {
  const auto tables =
      read_ping_pongs("\xef\xbb\xbf# ping_pong: network\r\nsize(B),time(us)\r\n0,2\r\n");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].between, cost::LinkPlace::network);
}

TEST(PingPong, OfAnUnknownPlaceIsAnErrorThatNamesTheLine) {
  const auto error = ping_pong_error("\n# ping_pong: moon\xff\nsize(B),time(us)\n0,2\n");
  EXPECT_STREQ(error.what(), "says a ping-pong of \"moon?\"");
  EXPECT_EQ(error.line(), 2U);
}

}  // namespace
}  // namespace paceline::traces
