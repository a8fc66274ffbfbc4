#include "traces/nccl_inspector/nccl_inspector.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/traces/collective_log/fixture.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using test::error_of;
using test::fixture;
using test::times_us;

// A line as NCCL's README shows it, with one place changed.
std::string line_with(const std::string& from = "", const std::string& to = "") {
  std::string text =
      R"({"header": {"id": "0x7f8c496ae9f661", "rank": 2, "n_ranks": 8, "nnodes": 1}, )"
      R"("metadata": {"hostname": "example", "pid": 1639453}, )"
      R"("coll_perf": {"coll": "AllReduce", "coll_sn": 1407, )"
      R"("coll_msg_size_bytes": 17179869184, "coll_exec_time_us": 61974, )"
      R"("coll_algobw_gbs": 277.210914, "coll_busbw_gbs": 485.119099}})";
  const auto place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(NcclInspector, LineIsACollectiveOfARank) {
  const InspectedFile file = parse_nccl_inspector(line_with());
  ASSERT_EQ(file.calls.size(), 1U);
  const InspectedCall& call = file.calls.front();
  EXPECT_EQ(call.communicator, "0x7f8c496ae9f661");
  EXPECT_EQ(call.rank, 2U);
  EXPECT_EQ(call.ranks, 8U);
  EXPECT_EQ(call.nodes, 1U);
  EXPECT_EQ(call.collective, Collective::all_reduce);
  EXPECT_EQ(call.sequence, 1407U);
  EXPECT_EQ(call.size, Bytes(17179869184));
  EXPECT_DOUBLE_EQ(call.time.value(), 61974e-6);
}

// All-reduces took min(500, 400), min(420, 600) and, on rank 0 alone, 1000 us: 420 in the median.
// All-gathers count the share of a rank: two of 1,000,000 bytes in min(200, 250) us.
TEST(NcclInspector, FilesOfRanksAreJoined) {
  const auto logs = joined_logs({parse_nccl_inspector(fixture("inspector_rank0.jsonl")),
                                 parse_nccl_inspector(fixture("inspector_rank1.jsonl"))});
  ASSERT_EQ(logs.size(), 2U);
  const CollectiveLog &reduced = logs[0], &gathered = logs[1];
  EXPECT_EQ(reduced.collective, Collective::all_reduce);
  EXPECT_EQ(reduced.ranks, 2U);
  EXPECT_EQ(reduced.nodes, 1U);
  ASSERT_EQ(reduced.rows.size(), 1U);
  EXPECT_EQ(reduced.rows[0].size, Bytes(8'000'000));
  EXPECT_EQ(times_us(reduced.rows[0]), std::vector{420.0});
  ASSERT_EQ(reduced.notes.size(), 1U);
  EXPECT_EQ(reduced.notes[0].rfind("1 of 3 calls lack ranks", 0), 0U) << reduced.notes[0];
  EXPECT_EQ(gathered.collective, Collective::all_gather);
  ASSERT_EQ(gathered.rows.size(), 1U);
  EXPECT_EQ(gathered.rows[0].size, Bytes(2'000'000));
  EXPECT_EQ(times_us(gathered.rows[0]), std::vector{200.0});
  EXPECT_TRUE(gathered.notes.empty());
}

TEST(NcclInspector, WhatIsNoMeasurementIsSkippedWithItsLine) {
  const auto logs = joined_logs({parse_nccl_inspector(fixture("inspector_rank0.jsonl")),
                                 parse_nccl_inspector(fixture("inspector_rank1.jsonl"))});
  const auto& skipped = logs.at(0).skipped;
  ASSERT_EQ(skipped.size(), 3U);  // line 5 is of another kind
  EXPECT_EQ(skipped[0].line, 6U);
  EXPECT_EQ(skipped[0].why, "coll_perf: coll_exec_time_us: is no time that was measured");
  EXPECT_EQ(skipped[1].line, 7U);
  EXPECT_EQ(skipped[1].why, "coll_perf: coll_algobw_gbs is not that of its size and time");
  EXPECT_EQ(skipped[2].line, 4U);
  EXPECT_EQ(skipped[2].why, "the line breaks off, or is no JSON");
}

// Of one file alone, the median of 500, 420 and 1000 us.
TEST(NcclInspector, IsAFormatOfLogs) {
  const auto logs = read_collective_logs(fixture("inspector_rank0.jsonl"));
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(times_us(logs[0].rows.at(0)), std::vector{500.0});
  EXPECT_EQ(logs[0].notes.at(0).rfind("3 of 3 calls lack ranks", 0), 0U);
}

TEST(NcclInspector, TheMedianOfTwoIsBetweenThem) {
  const std::string other = line_with("1407", "1408");
  std::string slower = other;
  slower.replace(slower.find("61974"), 5, "61980");
  const auto logs = joined_logs({parse_nccl_inspector(line_with() + "\n" + slower)});
  EXPECT_EQ(times_us(logs.at(0).rows.at(0)), std::vector{61977.0});
}

// The whole of a reduce-scatter of 8 is 8 shares; 8 x 17179869184 B / 61974 us = 2217.687 GB/s.
TEST(NcclInspector, TellsSharesFromWholesByTheBandwidth) {
  std::string line = line_with("AllReduce", "ReduceScatter");
  EXPECT_EQ(parse_nccl_inspector(line).calls.at(0).size, Bytes(17179869184));
  line.replace(line.find("277.210914"), 10, "2217.687312");
  EXPECT_EQ(parse_nccl_inspector(line).calls.at(0).size, Bytes(8 * 17179869184));
  const std::string untold = ", \"coll_algobw_gbs\": 2217.687312";
  line.replace(line.find(untold), untold.size(), "");
  EXPECT_NE(parse_nccl_inspector(line).skipped.at(0).why.find("has no coll_algobw_gbs"),
            std::string::npos);
  EXPECT_EQ(parse_nccl_inspector(line_with(", \"coll_algobw_gbs\": 277.210914", "")).calls.size(),
            1U);
}

TEST(NcclInspector, LinesThatContradictThemselvesAreSkipped) {
  const struct {
    const char *from, *to, *why;
  } cases[] = {
      {"\"rank\": 2", "\"rank\": 8", "header: rank: is not below n_ranks"},
      {"\"nnodes\": 1", "\"nnodes\": 0", "header: nnodes: is not of 1 to n_ranks"},
      {"\"nnodes\": 1", "\"nnodes\": 9", "header: nnodes: is not of 1 to n_ranks"},
      {"\"id\": \"0x7f8c496ae9f661\", ", "", "header: has no \"id\""},
      {"AllReduce", "Send", "coll_perf: coll: none of ours: Send"},
      {"17179869184", "0", "coll_perf: coll_msg_size_bytes: is no size"},
      {"17179869184", "\"much\"", "coll_perf: coll_msg_size_bytes: is no size"},
      {"1407", "-1", "coll_perf: coll_sn: not a whole number that fits: -1"},
      {"61974", "1e300", "coll_perf: coll_exec_time_us: is no time that was measured"},
  };
  for (const auto& [from, to, why] : cases) {
    const InspectedFile file = parse_nccl_inspector(line_with(from, to));
    ASSERT_EQ(file.skipped.size(), 1U) << to;
    EXPECT_EQ(file.skipped.front().why, why);
  }
}

TEST(NcclInspector, OfMoreRanksThanAnyRunHasNamesTheLine) {
  const FormatError error =
      error_of(line_with() + "\n" + line_with("\"n_ranks\": 8", "\"n_ranks\": 100000"));
  EXPECT_EQ(error.line(), 2U);
  EXPECT_STREQ(error.what(), "n_ranks is 100000, more than the 65536 that a run may have");
}

TEST(NcclInspector, IsKnownByItsKeys) {
  EXPECT_TRUE(is_nccl_inspector(line_with()));
  for (const char* other :
       {"", "{", "coll_perf header", "{\"header\": 1}", "[{\"header\": {}, \"coll_perf\": {}}]"}) {
    EXPECT_FALSE(is_nccl_inspector(other)) << other;
  }
}

// Three all-reduces of two ranks, each 10 us longer on the second.
TEST(NcclInspector, MayBePrettyPrinted) {
  const auto logs = joined_logs({parse_nccl_inspector(fixture("inspector_pretty.json"))});
  ASSERT_EQ(logs.size(), 1U);
  ASSERT_EQ(logs[0].rows.size(), 3U);
  EXPECT_EQ(times_us(logs[0].rows[0]), std::vector{125.0});
  EXPECT_TRUE(logs[0].skipped.empty());
  EXPECT_TRUE(logs[0].notes.empty());
}

// As a list, and with one object cut off in its middle: the next is whole.
TEST(NcclInspector, PrettyPrintedObjectsThatBreakOffAreSkippedWithTheirFirstLine) {
  const std::string whole = fixture("inspector_pretty.json");
  const std::string first = whole.substr(0, whole.find("\n}\n") + 3);
  const InspectedFile file =
      parse_nccl_inspector("[\n" + first.substr(0, 200) + "\n" + first + ",\n" + first + "]\n");
  EXPECT_EQ(file.calls.size(), 2U);
  ASSERT_EQ(file.skipped.size(), 1U);
  EXPECT_EQ(file.skipped[0].line, 2U);
}

TEST(NcclInspector, CommunicatorsOnOneHostAtATimeAreSaid) {
  const auto logs = joined_logs({parse_nccl_inspector(fixture("inspector_two_jobs.jsonl"))});
  ASSERT_EQ(logs.size(), 1U);
  ASSERT_EQ(logs[0].notes.size(), 1U);
  EXPECT_EQ(logs[0].notes[0].rfind("communicators 0x51aa0001 and 0x51aa0002 ran on one host at the "
                                   "same time",
                                   0),
            0U)
      << logs[0].notes[0];
}

}  // namespace
}  // namespace paceline::traces
