#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "traces/ddp_logging/reports.h"
#include "traces/run_record/readers.h"

namespace paceline::traces {
namespace {

std::string ddp_fixture(const std::string& name) {
  std::ifstream file(std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/ddp_logging/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

const RunRecord::Cell* fact(const RunRecord& record, const std::string& name) {
  const auto found = std::ranges::find(record.facts, name, &RunRecord::Fact::name);
  return found == record.facts.end() ? nullptr : &found->value;
}

template <class T>
T value_of(const RunRecord& record, const std::string& name) {
  const auto* cell = fact(record, name);
  return cell == nullptr ? T() : std::get<T>(*cell);
}

double ms_of(const RunRecord::Cell& cell) { return std::get<Seconds>(cell).value() * 1e3; }

std::string setting(const RunRecord& record, const std::string& key) {
  const auto found =
      std::ranges::find(record.settings, key, &std::pair<std::string, std::string>::first);
  return found == record.settings.end() ? "" : found->second;
}

bool has_note(const RunRecord& record, const std::string& part) {
  return std::ranges::any_of(
      record.notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST(DdpLogging, OfTwoRanksHasTheirTimesAndWhoIsSlowest) {
  const std::string text = ddp_fixture("two_ranks.txt");
  ASSERT_TRUE(is_ddp_logging(text));
  const RunRecord record = read_ddp_logging(text);
  EXPECT_EQ(value_of<std::uint64_t>(record, "ranks"), 2U);
  EXPECT_EQ(value_of<std::string>(record, "module"), "ResNet");
  EXPECT_EQ(value_of<Bytes>(record, "gradients"), Bytes(102228128));
  EXPECT_EQ(value_of<std::uint64_t>(record, "tensors"), 161U);
  // Rank 1: 22 + 43 = 65 ms; rank 0: 20 + 40 = 60.
  EXPECT_EQ(value_of<std::uint64_t>(record, "slowest rank"), 1U);
  EXPECT_NEAR(ms_of(*fact(record, "more compute than the fastest")), 5, 1e-9);
  // 21 - 15 and 16.5 - 12.5 ms.
  EXPECT_NEAR(ms_of(*fact(record, "exposed communication, most of ranks")), 6, 1e-9);
  EXPECT_NEAR(ms_of(*fact(record, "exposed communication, least of ranks")), 4, 1e-9);
  ASSERT_EQ(record.tables.size(), 3U);
  ASSERT_EQ(record.tables[0].rows.size(), 2U);
  EXPECT_NEAR(ms_of(record.tables[0].rows[1][6]), 4, 1e-9);
  // Of the last iteration rank 0 alone tells: 20 - 14.5 ms.
  ASSERT_EQ(record.tables[1].rows.size(), 1U);
  EXPECT_NEAR(ms_of(record.tables[1].rows[0][6]), 5.5, 1e-9);
}

// pprint writes '8196000, 31502336, 26255360, 26550272, ' and '9724160' one below the other.
TEST(DdpLogging, HasBucketsWhoseListIsInPieces) {
  const RunRecord record = read_ddp_logging(ddp_fixture("two_ranks.txt"));
  const RunRecord::Table& buckets = record.tables.back();
  ASSERT_EQ(buckets.rows.size(), 5U);
  Bytes sum;
  for (const auto& row : buckets.rows) sum += std::get<Bytes>(row[2]);
  EXPECT_EQ(sum, Bytes(102228128));
  EXPECT_EQ(std::get<Bytes>(buckets.rows[4][2]), Bytes(9724160));
  EXPECT_EQ(std::get<std::string>(buckets.rows[1][1]), "-");
}

TEST(DdpLogging, TellsKeysOfAScenario) {
  const RunRecord record = read_ddp_logging(ddp_fixture("two_ranks.txt"));
  EXPECT_EQ(setting(record, "training.strategy"), "ddp");
  EXPECT_EQ(setting(record, "training.bucket_cap"), "26214400B");
  EXPECT_EQ(setting(record, "training.first_bucket"), "1048576B");
  EXPECT_EQ(setting(record, "training.gradient_as_bucket_view"), "true");
  EXPECT_EQ(setting(record, "training.static_graph"), "false");
  EXPECT_EQ(setting(record, "collective.library"), "nccl");
  EXPECT_TRUE(has_note(record, "paceline run SCENARIO.yaml --set training.strategy=ddp"));
}

TEST(DdpLogging, InOtherDictionariesSaysWhichRanksItLacks) {
  const RunRecord record = read_ddp_logging(ddp_fixture("ranks.json"));
  EXPECT_TRUE(has_note(record, "of 4 ranks 2 are told of"));
  EXPECT_EQ(value_of<Bytes>(record, "gradients"), Bytes(440));
  // Rank 2: an overlap of 0.4 ms in a communication of 0.3; rank 0: 0.5 - 0.1.
  EXPECT_TRUE(has_note(record, "rank 2: its overlap is longer"));
  EXPECT_EQ(std::get<std::string>(record.tables[0].rows[1][6]), "-");
  EXPECT_NEAR(ms_of(*fact(record, "exposed communication, most of ranks")), 0.4, 1e-9);
}

// Rank 0 in its second iteration: 40 - 29 ms; rank 1 in its first: 50 - 30.
TEST(DdpLogging, OfTorchsLogTakesTheLastMessageOfEachRank) {
  const std::string text = ddp_fixture("detail.txt");
  ASSERT_TRUE(is_ddp_logging(text));
  const RunRecord record = read_ddp_logging(text);
  const auto& rows = record.tables[0].rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(std::get<std::uint64_t>(rows[0][1]), 2U);
  EXPECT_NEAR(ms_of(rows[0][6]), 11, 1e-9);
  EXPECT_NEAR(ms_of(rows[1][6]), 20, 1e-9);
  EXPECT_EQ(value_of<Bytes>(record, "unused parameters"), Bytes(4096));
  EXPECT_EQ(value_of<std::string>(record, "communication hook"),
            "default_hooks.fp16_compress_hook");
  EXPECT_EQ(setting(record, "training.find_unused_parameters"), "true");
  EXPECT_EQ(setting(record, "training.broadcast_buffers"), "false");
  EXPECT_EQ(record.tables.back().rows.size(), 3U);
}

TEST(DdpLogging, BeforeTorch110HasNoIteration) {
  const RunRecord record = read_ddp_logging(
      "I0607 16:18:58.085681 544067 logger.cpp:344] [Rank 1 / 2] Training Net "
      "unused_parameter_size=0\n Avg forward compute time: 40000000\n"
      " Avg backward compute time: 6000000\nAvg backward comm. time: 4000000\n"
      " Avg backward comm/comp overlap time: 3000000\n");
  ASSERT_EQ(record.tables.size(), 1U);
  EXPECT_EQ(std::get<std::string>(record.tables[0].rows[0][1]), "-");
  EXPECT_NEAR(ms_of(record.tables[0].rows[0][6]), 1, 1e-9);
}

TEST(DdpLogging, OfSeveralRunsShowsTheLast) {
  const std::string run = "{'rank': 0, 'world_size': 2, 'bucket_cap_bytes': 1048576}\n",
                    other = "{'rank': 0, 'world_size': 4, 'bucket_cap_bytes': 1048576}\n";
  const RunRecord record = read_ddp_logging(run + other);
  EXPECT_EQ(value_of<std::uint64_t>(record, "ranks"), 4U);
  EXPECT_TRUE(has_note(record, "2 runs in one text"));
  EXPECT_TRUE(has_note(record, "no times"));
}

TEST(DdpLogging, ThatIsCutOffSaysSo) {
  const RunRecord record =
      read_ddp_logging("{'rank': 3, 'world_size': 8, 'bucket_cap_bytes': 26214400, 'bucket_si");
  EXPECT_EQ(value_of<Bytes>(record, "bucket cap"), Bytes(26214400));
  EXPECT_TRUE(has_note(record, "1 dictionary is cut off"));
}

TEST(DdpLogging, PassesOverBracesAndApostrophesAroundIt) {
  const auto found = ddp_logging::reports_of(
      "don't {care} about {this\nit's {'rank': 1, 'bucket_cap_bytes': 7, 'x': [1, 2]} }\n");
  ASSERT_EQ(found.reports.size(), 1U);
  EXPECT_EQ(found.reports[0].number("bucket_cap_bytes"), 7U);
  EXPECT_EQ(found.reports[0].line, 2U);
}

TEST(DdpLogging, OfMoreRanksThanARunHasIsRefused) {
  try {
    (void)read_ddp_logging("\n{'rank': 70000, 'bucket_cap_bytes': 7}");
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.line(), 2U);
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(DdpLogging, IsNoTextThatOnlyNamesIt) {
  EXPECT_FALSE(is_ddp_logging("DistributedDataParallel has bucket_cap_mb=25\n"));
  EXPECT_FALSE(is_ddp_logging(""));
  // A recording of ours.
  EXPECT_FALSE(
      is_ddp_logging(R"({"schema":"paceline.recording/1","ddp":[{"bucket_cap_bytes":7}]})"));
}

}  // namespace
}  // namespace paceline::traces
