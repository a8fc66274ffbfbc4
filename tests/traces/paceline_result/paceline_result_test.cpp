#include <gtest/gtest.h>

#include <string>

#include "tests/traces/collective_log/fixture.h"
#include "traces/collective_log/readers.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

std::string fixture() { return test::fixture("paceline_result.json"); }

std::string changed(const std::string& from, const std::string& to) {
  std::string text = fixture();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PacelineResult, IsATableAPointAndCollective) {
  const auto logs = read_collective_logs(fixture());
  ASSERT_EQ(logs.size(), 2U);  // the second point was not measured
  EXPECT_EQ(logs[0].collective, Collective::all_reduce);
  EXPECT_EQ(logs[1].collective, Collective::broadcast);
  EXPECT_EQ(logs[0].ranks, 4U);
  EXPECT_EQ(logs[0].nodes, 2U);
  ASSERT_EQ(logs[0].rows.size(), 4U);
  // From when the last rank had joined: 0.6 ms less 0.1 of skew.
  EXPECT_EQ(logs[0].rows[0].size, Bytes(4096));
  EXPECT_NEAR(logs[0].rows[0].times.front().value(), 500e-6, 1e-12);
}

TEST(PacelineResult, SkipsCallsWithoutATime) {
  const auto logs = read_paceline_result(changed("\"skew_s\": 0.0001", "\"skew_s\": 1"));
  EXPECT_EQ(logs[0].rows.size(), 3U);
  ASSERT_EQ(logs[0].skipped.size(), 1U);
  EXPECT_EQ(logs[0].skipped[0].why, "a time that cannot be");
}

TEST(PacelineResult, OfPredictionsOnlyIsRefused) {
  EXPECT_THROW((void)read_paceline_result(changed("\"calls\"", "\"others\"")), FormatError);
  EXPECT_THROW((void)read_paceline_result("{\"schema\": \"paceline.result/1\""), FormatError);
}

}  // namespace
}  // namespace paceline::traces
