#include "traces/text/clean_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paceline::traces {
namespace {

std::vector<std::string> cleaned(const std::string& text) {
  std::vector<std::string> lines;
  const CleanText clean(text);
  for (const CleanLine& line : clean.lines()) lines.emplace_back(line.text);
  return lines;
}

using Lines = std::vector<std::string>;

TEST(CleanText, TakesOffWhatLaunchersAndLoggersPutBeforeLines) {
  const std::string row = "  1048576  262144  float  sum";
  for (const char* prefix : {"[1,0]<stdout>:",
                             "[1,12]<stderr>: ",
                             "[prterun-host-7@1,0]<stdout>: ",
                             "[rank0]: ",
                             "[default3]:",
                             "[default3]:[rank3]: ",
                             "[pod/worker-0/main] ",
                             "[3] ",
                             "(worker1, rank=0, pid=4711) ",
                             "(RayTrainWorker pid=4711, ip=10.0.0.2) ",
                             "0: ",
                             " 12: ",
                             "2026-01-31T10:11:12.345Z ",
                             "2026-01-31 10:11:12,345 - INFO - ",
                             "[2026-01-31 10:11:12] ",
                             "10:11:12 ",
                             "[10:11:12.345] ",
                             "Jan 31 10:11:12 node-a train[4711]: ",
                             "I0131 10:11:12.345678 4711 logger.cpp:173] ",
                             "worker-1  | ",
                             "> ",
                             ">> ",
                             "(head, rank=0, pid=5150) [1,0]<stdout>:"}) {
    const std::string text = prefix + row;
    EXPECT_EQ(cleaned(text).at(0).find_first_not_of(' '), cleaned(text).at(0).find("1048576"))
        << prefix;
    EXPECT_EQ(cleaned(text).at(0).substr(cleaned(text).at(0).find("1048576")), row.substr(2))
        << prefix;
  }
}

TEST(CleanText, LeavesLinesAloneThatOnlyLookLikeIt) {
  for (const char* line :
       {"GPU0\t X \tNV1", "NIC0: mlx5_0", "  NIC0: mlx5_0", "node-a: Test NCCL failure",
        "# nodes: 4", "1024,20.1", "[1b000]", "(a remark) 12", "1048576 262144 float",
        "2026 12 float", "I was here", "March 3"}) {
    EXPECT_EQ(cleaned(line), Lines{line});
  }
}

// "node-a: " before several lines that begin as tables do is a prefix of all.
TEST(CleanText, KnowsNamesOfHostsBeforeManyLines) {
  EXPECT_EQ(cleaned("node-a: # size\nnode-a: 8 2 float\nnode-a: done\n"),
            (Lines{" # size", " 8 2 float", " done"}));
}

TEST(CleanText, PutsLinesOfOneWriterTogether) {
  const CleanText clean("0: a\n1: b\n0: c\n1: d\n");
  std::vector<std::size_t> numbers;
  for (const CleanLine& line : clean.lines()) numbers.push_back(line.number);
  EXPECT_EQ(numbers, (std::vector<std::size_t>{1, 3, 2, 4}));
  EXPECT_EQ(clean.changes().at("srun --label"), 4U);
}

// grep -n: the numbers of lines are nobody's.
TEST(CleanText, TakesNumbersOfLinesForNoWriters) {
  EXPECT_EQ(cleaned("3: a\n4: b\n7: c\n12: d\n"), (Lines{"a", "b", "c", "d"}));
}

TEST(CleanText, HasNoCodesOfTerminalsNorBlanksOfPages) {
  EXPECT_EQ(cleaned("\x1b[4mGPU0\x1b[0m\tX"), Lines{"GPU0\tX"});
  EXPECT_EQ(cleaned("[4mGPU0[0m\tX"), Lines{"GPU0\tX"});
  EXPECT_EQ(cleaned("8\xc2\xa0"
                    "2"),
            Lines{"8 2"});
  EXPECT_EQ(cleaned("12%\r100%\r\n"), Lines{"100%"});
}

TEST(CleanText, MakesALineWholeThatAMessageBroke) {
  const std::string message = "node-a:1001:1011 [0] NCCL INFO Launch mode Parallel";
  const std::string list = "#  Rank  0 Pid 1001 on node-a device  0 [0x17] A100\n";
  const auto lines = cleaned(list + " 2097152 524288 float sum -1 200." + message + "\n" + message +
                             "\n0 10.49\n");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], message);
  EXPECT_EQ(lines[3], " 2097152 524288 float sum -1 200.0 10.49");
  // Where the next line is another of the table, the end is lost.
  const auto cut = cleaned(list + "8 2 float sum" + message + "\n16 4 float sum -1\n");
  EXPECT_EQ(cut.back(), "16 4 float sum -1");
}

TEST(CleanText, NamesWhoseLinesOthersAre) {
  EXPECT_EQ(kind_of_foreign("node-a:1:2 [0] NCCL INFO x"), "NCCL's log");
  EXPECT_EQ(kind_of_foreign("srun: error: node-b: task 1: Exited"), "Slurm");
  EXPECT_EQ(kind_of_foreign("$ ./all_reduce_perf"), "shell");
  EXPECT_EQ(kind_of_foreign("```"), "Markdown");
  EXPECT_EQ(kind_of_foreign("Two nodes:"), "other");
  EXPECT_EQ(kind_of_foreign("  "), "");
}

}  // namespace
}  // namespace paceline::traces
