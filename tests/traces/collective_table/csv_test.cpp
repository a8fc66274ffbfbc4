#include <gtest/gtest.h>

#include <string>

#include "tests/traces/collective_log/fixture.h"
#include "traces/collective_table/collective_table.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using test::error_of;
using test::only_log;
using test::skipped_why;
using test::times_us;
using Times = std::vector<double>;

TEST(CollectiveTable, HasSizesTimesAndWhatCommentsSay) {
  const auto logs = read_collective_logs(test::fixture("table.csv"));
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].collective, Collective::reduce_scatter);
  EXPECT_EQ(logs[0].ranks, 8U);
  EXPECT_EQ(logs[0].nodes, 2U);
  EXPECT_EQ(logs[0].release, "");
  ASSERT_EQ(logs[0].rows.size(), 2U);
  EXPECT_EQ(logs[0].rows[1].line, 6U);
  EXPECT_EQ(logs[0].rows[1].size, Bytes(8388608));
  EXPECT_EQ(times_us(logs[0].rows[1]), (Times{160.25, 161.75}));
}

TEST(CollectiveTable, BelowAnotherHasItsOwnColumnsAndComments) {
  const auto logs = read_collective_logs(test::fixture("table.csv"));
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[1].collective, Collective::all_to_all);
  EXPECT_EQ(logs[1].ranks, 4U);
  EXPECT_EQ(logs[1].nodes, 1U);
  ASSERT_EQ(logs[1].rows.size(), 1U);
  EXPECT_EQ(logs[1].rows[0].size, Bytes(2097152));
  EXPECT_EQ(times_us(logs[1].rows[0]), Times{250});  // 0.25 ms
}

// 0.5 ms in each unit.
TEST(CollectiveTable, MayTellTimesInAnyUnit) {
  const auto log = only_log("size(B),time(s),time(ms),time(us),time(ns)\n64,5e-4,0.5,500,500000\n");
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_EQ(times_us(log.rows[0]), (Times{500, 500, 500, 500}));
}

TEST(CollectiveTable, SkipsRowsThatAreNoMeasurementAndSaysWhy) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"1024", "the line breaks off"},
      {"0,20", "a size of \"0\""},
      {"-8,20", "a size of \"-8\""},
      {"99999999999999999999,20", "a size of \"99999999999999999999\""},
      {"1024,0", "a time of \"0\""},
      {"1024,-3", "a time of \"-3\""},
      {"1024,nan", "a time of \"nan\""},
      {"1024,inf", "a time of \"inf\""},
      {"1024,1e-320", "a time of \"1e-320\""},
      {"1024,1e400", "a time of \"1e400\""},
      {"1024,", "a time of \"\""},
      {"1024,20 us", "a time of \"20 us\""},
      {"1024,\xff", "a time of \"?\""}};
  for (const auto& [row, why] : rows) {
    const auto log = only_log("size(B),time(us)\n" + row + "\n");
    EXPECT_EQ(skipped_why(log), why) << row;
    EXPECT_EQ(log.skipped.at(0).line, 2U);
  }
}

// 1,100 us are not 1 us.
TEST(CollectiveTable, DoesNotTakeACommaInsideANumberForTwoCells) {
  EXPECT_EQ(test::skipped_why(test::only_log("size(B),time(us)\n1048576,1,100\n")),
            "has more cells than the header; a comma inside a number parts it");
}

TEST(CollectiveTable, PassesOverEmptyLinesAndOtherColumns) {
  const auto log = only_log("some words\nsize(B) , name, time(us)\n\n  \n64, x, 5, more\n");
  EXPECT_TRUE(log.skipped.empty());
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_EQ(log.rows[0].line, 5U);
  EXPECT_EQ(times_us(log.rows[0]), Times{5});
}

TEST(CollectiveTable, WithoutRowsIsAnError) {
  EXPECT_STREQ(error_of("size(B),time(us)\n").what(), "has a header and no rows");
}

TEST(CollectiveTable, WithTwoSizesIsAnErrorThatNamesTheLine) {
  EXPECT_EQ(error_of("# GPUs: 2\nsize(B),time(us),size(B)\n8,1,8\n").line(), 2U);
}

TEST(CollectiveTable, KeepsCommentsUntilOthersReplaceThem) {
  const auto logs = read_collective_logs(
      "# GPUs: 4\n# nodes: 1\n# collective: broadcast\nsize(B),time(us)\n8,5\n"
      "# collective: reduce\n8,6\n");
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].collective, Collective::broadcast);
  EXPECT_EQ(logs[1].collective, Collective::reduce);
  EXPECT_EQ(logs[1].ranks, 4U);
  EXPECT_EQ(times_us(logs[1].rows.at(0)), Times{6});
}

TEST(CollectiveTable, OfAMillionRowsIsRead) {
  std::string text = "size(B),time(us)\n";
  for (int i = 0; i < 1'000'000; ++i) text += "4096,12.5\n";
  EXPECT_EQ(only_log(text).rows.size(), 1'000'000U);
}

}  // namespace
}  // namespace paceline::traces
