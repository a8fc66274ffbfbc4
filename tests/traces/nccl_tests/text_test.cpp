#include <gtest/gtest.h>

#include <string>

#include "tests/traces/collective_log/fixture.h"
#include "traces/nccl_tests/nccl_tests.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using test::error_of;
using test::fixture;
using test::only_log;
using test::skipped_why;
using test::times_us;
using Times = std::vector<double>;

const std::string new_header =
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
const std::string old_header =
    "# size count type redop time algbw busbw error time algbw busbw error\n";
const std::string per_iteration_header =
    "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% "
    "time algbw busbw #wrong i_min i_max i_p99 i_cv%\n";

// 1 MiB in 50 us is 20.97 GB/s, in 52 us 20.16 GB/s.
const std::string start = "1048576 262144 float sum -1 ";
const std::string half = "50.00 20.97 31.46 0 ", other_half = "52.00 20.16 30.25 0 ";

TEST(NcclTestsText, OfOldReleasesHasNoRoot) {
  const auto log = only_log(fixture("old_text.txt"));
  EXPECT_EQ(log.collective, Collective::all_reduce);  // busbw / algbw = 16.10 / 10.73 = 2 * 3/4
  EXPECT_EQ(log.ranks, 4U);
  EXPECT_EQ(log.nodes, 2U);
  EXPECT_EQ(log.release, "2.7.8");
  EXPECT_EQ(log.devices, std::set<std::string>{"Tesla P100-SXM2-16GB"});
  EXPECT_TRUE(log.skipped.empty());
  ASSERT_EQ(log.rows.size(), 4U);
  EXPECT_EQ(log.rows[0].line, 13U);
  EXPECT_EQ(log.rows[0].size, Bytes(1024));
  EXPECT_EQ(times_us(log.rows[0]), (Times{21.5, 20.5}));
}

TEST(NcclTestsText, MayHaveTimesThatAreWholeNumbers) {
  const auto log = only_log(fixture("old_text.txt"));
  ASSERT_EQ(log.rows.size(), 4U);
  EXPECT_EQ(log.rows[3].size, Bytes(134217728));
  EXPECT_EQ(times_us(log.rows[3]), (Times{12508, 12496}));
  // Without a header too, where a root would be the fifth word.
  const auto row =
      only_log("33554432 8388608 float sum 19902 1.69 2.53 2e-07 19898 1.69 2.53 2e-07");
  EXPECT_EQ(times_us(row.rows.at(0)), (Times{19902, 19898}));
  EXPECT_EQ(row.collective, Collective::all_reduce);  // 2.53 / 1.69 is above 1
  EXPECT_EQ(row.ranks, 4U);
}

TEST(NcclTestsText, HasEachTableWithItsOwnDevicesAndProgram) {
  const auto logs = read_collective_logs(fixture("new_text.txt"));
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].collective, Collective::all_gather);
  EXPECT_EQ(logs[0].ranks, 4U);
  EXPECT_EQ(logs[0].nodes, 2U);
  EXPECT_EQ(logs[0].release, "2.28.7");
  ASSERT_EQ(logs[0].rows.size(), 3U);  // the buffer of 0 bytes is neither row nor skipped
  EXPECT_TRUE(logs[0].skipped.empty());
  EXPECT_EQ(times_us(logs[0].rows[2]), (Times{640.25, 638.75}));
  EXPECT_EQ(logs[1].collective, Collective::reduce_scatter);
  EXPECT_EQ(logs[1].ranks, 2U);
  EXPECT_EQ(logs[1].nodes, 1U);
}

TEST(NcclTestsText, MayEndRowsWithATimestamp) {
  const auto logs = read_collective_logs(fixture("new_text.txt"));
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_TRUE(logs[1].skipped.empty());
  ASSERT_EQ(logs[1].rows.size(), 2U);
  EXPECT_EQ(times_us(logs[1].rows[0]), (Times{30.5, 29.5}));
  const auto log = only_log(start + half + "2025-11-21 22:10:13\n");
  EXPECT_EQ(times_us(log.rows.at(0)), Times{50});
}

TEST(NcclTestsText, TakesAveragesAndNotSingleIterationsOfAReportOfEach) {
  const std::string row =
      start + half + "48.00 60.00 59.00 3.10 " + other_half + "47.00 61.00 58.00 3.20";
  for (const std::string& text :
       {per_iteration_header + row, row, row + " 2025-11-21 22:10:13\n"}) {
    const auto log = only_log(text);
    ASSERT_EQ(log.rows.size(), 1U) << text;
    EXPECT_EQ(times_us(log.rows[0]), (Times{50, 52})) << text;
  }
  // In place only: eight words are one half, where the header says so.
  const auto log = only_log(per_iteration_header + start + half + "48.00 60.00 59.00 3.10\n");
  EXPECT_EQ(times_us(log.rows.at(0)), Times{50});
}

TEST(NcclTestsText, MayHaveTimesInPlaceOnly) {
  const auto log = only_log(new_header + start + "                 " + half + "\n");
  EXPECT_EQ(times_us(log.rows.at(0)), Times{50});
}

TEST(NcclTestsText, SkipsTimesOfTheCpu) {
  const std::string header =
      "# size count type redop root cputime algbw busbw #wrong "
      "cputime algbw busbw #wrong\n";
  EXPECT_EQ(skipped_why(only_log(header + start + half + other_half)),
            "the time of the CPU's call, not of the collective");
}

TEST(NcclTestsText, SkipsRowsThatAreNoMeasurementAndSaysWhy) {
  const std::string off = "the line breaks off", word = "has a word where a number belongs";
  const std::vector<std::pair<std::string, std::string>> rows{
      {start + "0.00 20.97 31.46 0", "a time of 0 us"},
      {start + "-3 20.97 31.46 0", "a time of -3 us"},
      {start + "nan 20.97 31.46 0", "a time of nan us"},
      {start + "inf 0.00 0.00 0", "a time of inf us"},
      {start + "1e-320 0.00 0.00 0", "a time of 1e-320 us"},
      {start + "1e999 0.00 0.00 0", word},
      {start + half + "52.00 20.16 30.25 3", "its results are wrong: 3"},
      {start + "50.00 20.97 31.46 1e+06", "its results are wrong: 1e+06"},
      {start + "50.00 20.97 31.46 -1", "its results are wrong: -1"},
      {start + "50.00 20.97 31.46 nan", "its results are wrong: nan"},
      {start + "50.00 2.10 3.15 0", "algbw is 2.1 GB/s where size and time give 20.97"},
      {start + "50.00 0.10 0.15 0", "algbw is 0.1 GB/s where size and time give 20.97"},
      {start + "50.00 nan 31.46 0", "algbw is nan GB/s where size and time give 20.97"},
      {start + "50.00 x 31.46 0", word},
      {start, off},
      {start + "50.00 20.97 31.46", off},
      {start + half + "52.00 20.16", off},
      {start + half + other_half + "9 9 9 9", "has more words than a row"},
      {"99999999999999999999 8 float sum -1 " + half, "a size of 99999999999999999999"},
      {"-8 8 float sum -1 " + half, "a size of -8"},
      {"1048576 262144 float sum x " + half, "has no whole number as its root"}};
  for (const auto& [row, why] : rows) {
    const auto log = only_log(new_header + row + "\n");
    EXPECT_EQ(skipped_why(log), why) << row;
    EXPECT_EQ(log.skipped.at(0).line, 2U);
  }
  EXPECT_EQ(skipped_why(only_log(old_header + "33554432 8388608 float sum 19902 1.69 2.53 2e+00")),
            "its results are wrong: 2e+00");
  EXPECT_EQ(
      skipped_why(only_log(old_header + "33554432 8388608 float sum 19902 1.69 2.53 2e-07 19")),
      off);
}

TEST(NcclTestsText, SkipsALastLineThatBreaksOffBeforeItsTimes) {
  for (const char* rest : {"2097152 52", "2097152 524288 flo", "2097152 524288 float su"}) {
    const auto log = only_log(new_header + start + half + "\n" + rest);
    EXPECT_EQ(log.rows.size(), 1U);
    ASSERT_EQ(log.skipped.size(), 1U) << rest;
    EXPECT_EQ(log.skipped[0].line, 3U);
    EXPECT_EQ(log.skipped[0].why, "the line breaks off");
  }
}

TEST(NcclTestsText, MayStandBehindPrefixesAndNotBehindOthers) {
  const std::string row = start + half + other_half + "\n";
  const auto log = only_log("[1,0]<stdout>: " + row + "# " + row + "| " + row);
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_EQ(log.rows[0].line, 1U);
  EXPECT_TRUE(log.skipped.empty());
}

TEST(NcclTestsText, OfTwoVersionsHasATableOfEach) {
  const std::string table = new_header + start + half + "\n";
  const auto logs = read_collective_logs("NCCL version 2.8.4+cuda11.2\n" + table +
                                         "NCCL version 2.9.9+cuda11.3\n" + table);
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].release, "2.8.4");
  EXPECT_EQ(logs[1].release, "2.9.9");
  // One table has one.
  const auto error = error_of("nccl-library=22903\nNCCL version 2.29.2\n" + table);
  EXPECT_EQ(error.line(), 2U);
  EXPECT_STREQ(error.what(), "is of NCCL 2.29.2, what came before of 2.29.3");
}

TEST(NcclTestsText, TellsItsVersionWhereOneStands) {
  const std::string table = new_header + start + half + "\n";
  const auto version = [&](const std::string& line) {
    return only_log(line + "\n" + table).release;
  };
  EXPECT_EQ(version("# nccl-tests version 2.17.9 nccl-headers=22903 nccl-library=22903"), "2.29.3");
  EXPECT_EQ(version("# NCCL version: v2.19.4-1 patched"), "2.19.4");
  EXPECT_EQ(version("ran NCCL version 2.18.3."), "2.18.3");
  for (const char* none :
       {"# NCCL version: not stated", "NCCL version 2", "NCCL version ...",
        "NCCL version 1.1.1.1.1.1.1.1.1.1", "nccl-library=99999999999999999999"}) {
    EXPECT_EQ(version(none), "") << none;
  }
}

std::string rank_line(const std::string& rank, const std::string& host, int group) {
  return "#  Rank " + rank + " Group " + std::to_string(group) + " Pid 7 on " + host +
         " device 0 [0x1b] A100\n";
}

TEST(NcclTestsText, TellsRanksAndNodesByItsDevices) {
  // Bandwidths too small to tell of how many ranks they are.
  const std::string table = new_header + "1024 256 float sum -1 20.00 0.05 0.08 0\n";
  const auto told = [&](const std::string& devices) {
    const auto log = only_log("# Using devices\n" + devices + table);
    return std::pair(log.ranks, log.nodes);
  };
  using Told = std::pair<std::uint32_t, std::uint32_t>;
  EXPECT_EQ(told(rank_line("0", "a", 0) + rank_line("1", "b", 0)), Told(2, 2));
  // A list cut short, and a line twice.
  EXPECT_EQ(told(rank_line("0", "a", 0) + rank_line("0", "a", 0) + rank_line("7", "b", 0)),
            Told(8, 0));
  // One rank on two hosts; more ranks than can be; groups beside each other: all untold.
  EXPECT_EQ(told(rank_line("0", "a", 0) + rank_line("0", "b", 0)), Told(0, 0));
  EXPECT_EQ(told(rank_line("0", "a", 0) + rank_line("4294967295", "a", 0)), Told(0, 0));
  EXPECT_EQ(told(rank_line("99999999999999999999", "a", 0)), Told(0, 0));
  EXPECT_EQ(told(rank_line("0", "a", 0) + rank_line("1", "a", 1)), Told(0, 0));
}

// "#mpirun" was commented out; two commands before the first table leave open which it is of.
TEST(NcclTestsText, TakesCommandsThatWereRun) {
  const std::string gathered =
      new_header + "1048576 32768 float none -1 50.00 20.97 18.35 0\n";  // 7/8
  const std::string live = "mpirun ./alltoall_perf -g 8\n";
  EXPECT_EQ(only_log(live + "#mpirun ./all_gather_perf -g 8\n" + gathered).collective,
            Collective::all_to_all);
  const auto log = only_log("$ ./all_gather_perf\n$ ./alltoall_perf\n" + gathered);
  EXPECT_FALSE(log.collective);
  EXPECT_EQ(log.may_be, (std::vector<Collective>{Collective::all_gather, Collective::all_to_all}));
}

// A list holds for tables of the same run, not of what another command or a remark is between.
TEST(NcclTestsText, DoesNotTakeTheListOfAnotherRun) {
  const std::string list = rank_line("0", "a", 0) + rank_line("1", "b", 0);
  const std::string table = new_header + "1048576 262144 float sum -1 50.00 20.97 20.97 0\n";
  for (const char* between : {"", "#\n"}) {
    const auto logs = read_collective_logs(list + table + between + table);
    ASSERT_EQ(logs.size(), 2U);
    EXPECT_EQ(logs[1].nodes, 2U);
  }
  for (const char* between : {"$ mpirun -np 2 ./all_reduce_perf\n", "and on one node:\n"}) {
    const auto logs = read_collective_logs(list + table + between + table);
    ASSERT_EQ(logs.size(), 2U);
    EXPECT_EQ(logs[1].nodes, 0U) << between;
  }
}

// Of the second writer's list a line is lost; what the first one lost later is its own.
TEST(NcclTestsText, DoesNotTakeAListThatAMessageBrokeForWhole) {
  const auto log = only_log(
      "0: words\n1: #  Rank  0 Group  0 Pid 7 on a device  0 [0x1b] A100\n"
      "1: #  Rank  1 Group  0 Pid 7 on bnode-z:1:2 [0] NCCL INFO x\n1:  device  0 [0x1c] A100\n"
      "1: " +
      new_header +
      "1: 1024 256 float sum -1 20.00 0.05 0.08 0\n"
      "0: 12node-z:1:2 [0] NCCL INFO y\n0:  5\n");
  EXPECT_EQ(log.ranks, 0U);
  EXPECT_EQ(log.nodes, 0U);
}

TEST(NcclTestsText, CountsAllLinesOfOthersBesideATable) {
  const auto log =
      only_log(new_header + start + half + "\nwords\n" + start + half + "\nmore words\nand more\n");
  EXPECT_EQ(log.left_out.at("other"), 3U);
}

TEST(NcclTestsText, SaysWhichRowsHaveRemarksBesideThem) {
  const auto log = only_log(new_header + start + half + "\n**2097152 524288 float sum -1 " +
                            "100.00 20.97 31.46 0\n");
  ASSERT_EQ(log.skipped.size(), 1U);
  EXPECT_EQ(log.skipped[0].why, "more than a row stands on the line");
}

TEST(NcclTestsText, TakesCommentsWhereNoDevicesAreListed) {
  const std::string row = "1048576 32768 float none -1 50.00 20.97 18.35 0\n";  // 7/8
  const auto logs = read_collective_logs("# GPUs: 8\n# nodes: 2\n# collective: all_to_all\n" + row +
                                         "# GPUs: 16\n# nodes: 4\n" + row);
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].collective, Collective::all_to_all);
  EXPECT_EQ(logs[0].ranks, 8U);
  EXPECT_EQ(logs[0].nodes, 2U);
  EXPECT_EQ(logs[1].ranks, 16U);
  EXPECT_EQ(logs[1].nodes, 4U);
  EXPECT_FALSE(logs[1].collective);  // a factor of 7/8 is none of 16 ranks
}

// A sendrecv of two ranks has the bandwidths of an all-reduce.
TEST(NcclTestsText, OfAProgramThatIsNoneOfOursHasNoCollective) {
  const std::string table = new_header + start + "50.00 20.97 20.97 0\n";
  EXPECT_EQ(only_log("# GPUs: 2\n" + table).collective, Collective::all_reduce);
  EXPECT_FALSE(only_log("# GPUs: 2\n$ ./sendrecv_perf -g 2\n" + table).collective);
  const auto logs = read_collective_logs("# GPUs: 2\n" + table +
                                         "# Collective test concluded: all_reduce_perf\n" +
                                         "# Collective test starting: sendrecv_perf\n" + table);
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].collective, Collective::all_reduce);
  EXPECT_FALSE(logs[1].collective);
}

TEST(NcclTestsText, WithRowsBehindSomethingUnknownSaysWhere) {
  const auto error = error_of(new_header + "  - " + start + half + "\n");
  EXPECT_EQ(error.line(), 2U);
  EXPECT_STREQ(error.what(), "has a row behind something that is no known prefix");
}

TEST(NcclTestsText, OfEmptyBuffersOnlyIsAnError) {
  EXPECT_STREQ(error_of(new_header + "0 0 float none -1 0.30 0.00 0.00 0\n").what(),
               "is nccl-tests' output without a row of a buffer that is not empty");
}

TEST(NcclTestsText, OfAMillionRowsIsRead) {
  std::string text = new_header;
  for (int i = 0; i < 1'000'000; ++i) text += start + half + other_half + "\n";
  EXPECT_EQ(only_log(text).rows.size(), 1'000'000U);
}

// What `paceline collective --measure` prints, which has columns of its own, and ways that a call
// does not have.
TEST(NcclTestsText, MayBeOurs) {
  const std::string head =
      "# collective: all_to_all\n# GPUs: 2\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong "
      "device alone device alone";
  const std::string none = "N/A N/A N/A N/A ", right = "50.00 20.97 10.49 0 ";
  const std::string row = "1048576 131072 float none -1 ";
  const auto log = only_log(head + "\n" + row + right + none + " 48.10 60.20 N/A N/A\n");
  EXPECT_EQ(log.collective, Collective::all_to_all);
  EXPECT_EQ(log.ranks, 2U);
  EXPECT_TRUE(log.skipped.empty());
  EXPECT_EQ(times_us(log.rows.at(0)), (Times{50}));
  const auto in_place =
      only_log(head + " predicted\n" + row + none + right + " N/A N/A 48.10 60.20 51.00\n");
  EXPECT_EQ(times_us(in_place.rows.at(0)), (Times{50}));
  EXPECT_EQ(skipped_why(only_log(head + "\n" + row + right + right + "48.10 60.20\n")),
            "the line breaks off");
}

}  // namespace
}  // namespace paceline::traces
