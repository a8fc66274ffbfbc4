#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/traces/nsys/sqlite_bytes.h"
#include "traces/nsys/stats_tables.h"
#include "traces/run_record/readers.h"

namespace paceline::traces {
namespace {

using test::nsys_fixture;

const RunRecord::Cell& fact_of(const RunRecord& record, const std::string& name) {
  const auto found = std::ranges::find(record.facts, name, &RunRecord::Fact::name);
  if (found == record.facts.end()) throw std::runtime_error("no fact " + name);
  return found->value;
}

double seconds_in(const RunRecord::Cell& cell) { return std::get<Seconds>(cell).value(); }

bool says(const RunRecord& record, const std::string& part) {
  return std::ranges::any_of(
      record.notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

// 600 + 120 ms of compute, 300 + 180 of communication, in 220 kernels; 8 + 2 ms of copies and sets.
TEST(NsysStatistics, DivideKernelsIntoComputeAndCommunication) {
  const std::string text = nsys_fixture("sums.csv");
  ASSERT_TRUE(is_nsys_statistics(text));
  const RunRecord record = read_nsys_statistics(text);
  EXPECT_EQ(std::get<std::uint64_t>(fact_of(record, "kernels")), 220U);
  EXPECT_NEAR(seconds_in(fact_of(record, "compute")), 0.72, 1e-12);
  EXPECT_NEAR(seconds_in(fact_of(record, "communication")), 0.48, 1e-12);
  EXPECT_NEAR(std::get<double>(fact_of(record, "communication, of all")), 0.4, 1e-12);
  EXPECT_NEAR(seconds_in(fact_of(record, "copies and sets of memory")), 0.010, 1e-12);
  const auto& kinds = record.tables[0].rows;
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(std::get<std::string>(kinds[0][0]), "AllReduce RING_LL");
  EXPECT_NEAR(seconds_in(kinds[0][4]), 5e-3, 1e-12);  // 300 ms of 60
  EXPECT_EQ(std::get<std::string>(kinds[1][0]), "AllGather RING_LL");
}

TEST(NsysStatistics, HaveRangesWithoutTheirDomain) {
  const RunRecord record = read_nsys_statistics(nsys_fixture("sums.csv"));
  const auto& ranges = record.tables.back().rows;
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(std::get<std::string>(ranges[0][0]), "train_step");
  EXPECT_NEAR(seconds_in(ranges[0][3]), 0.1, 1e-12);
}

TEST(NsysStatistics, SayWhatTheyLeaveOut) {
  const RunRecord record = read_nsys_statistics(nsys_fixture("sums.csv"));
  EXPECT_TRUE(says(record, "1 table of other reports left out"));
  EXPECT_TRUE(says(record, "nsys export --type sqlite"));
}

// 1320 + 660 ms in 1430 kernels, which the second table has once more; 20 ms of copies.
TEST(NsysStatistics, InColumnsOfTextWithMillisecondsCountKernelsOnce) {
  const std::string text = nsys_fixture("columns.txt");
  ASSERT_TRUE(is_nsys_statistics(text));
  const RunRecord record = read_nsys_statistics(text);
  EXPECT_EQ(std::get<std::uint64_t>(fact_of(record, "kernels")), 1430U);
  EXPECT_NEAR(seconds_in(fact_of(record, "time of kernels")), 1.98, 1e-9);
  EXPECT_NEAR(std::get<double>(fact_of(record, "communication, of all")), 1 / 3.0, 1e-9);
  EXPECT_NEAR(seconds_in(fact_of(record, "copies and sets of memory")), 0.020, 1e-9);
  EXPECT_EQ(std::get<std::string>(record.tables[0].rows[0][0]), "AllReduce TREE_LL");
}

// nsys of 2020 and 2021: "Time(%)", and times without a unit are nanoseconds.
TEST(NsysStatistics, ReadNamesOfColumnsOfOldVersions) {
  const RunRecord record = read_nsys_statistics(
      "CUDA Kernel Statistics:\n\n"
      " Time(%)  Total Time  Instances    Average    Minimum    Maximum  Name\n"
      " -------  ----------  ---------  ---------  ---------  ---------  ----\n"
      "   75.0     3000000          3  1000000.0     900000    1100000  gemm\n"
      "   25.0     1000000          1  1000000.0    1000000    1000000  "
      "ncclAllReduceRingLLKernel_sum_f32(ncclColl)\n");
  EXPECT_NEAR(seconds_in(fact_of(record, "communication")), 1e-3, 1e-12);
  EXPECT_NEAR(seconds_in(fact_of(record, "compute")), 3e-3, 1e-12);
}

TEST(NsysStatistics, CountRowsThatAreCut) {
  const std::string header =
      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";
  const RunRecord record = read_nsys_statistics(header + "50.0,10,1,10,10,10,10,0,a\n50.0,10,1");
  EXPECT_TRUE(says(record, "1 row left out that cannot be read, the first in line 3"));
  EXPECT_THROW((void)read_nsys_statistics(header + "50.0,-1,1,10,10,10,10,0,a\n"), FormatError);
}

TEST(NsysStatistics, AreNoTextOfOtherTables) {
  EXPECT_FALSE(is_nsys_statistics("Total Time, and Instances of something\n"));
  EXPECT_FALSE(is_nsys_statistics("Time(%)  Total Time (ns)  Num Calls  Average  Name\n"));
}

TEST(NsysStatsTables, HaveCellsWithCommasAndQuotes) {
  std::string name;
  nsys::read_stats_tables(nsys_fixture("sums.csv"), [&](const nsys::StatsRow& row) {
    if (row.line == 6) name = row.text("name");
    return true;
  });
  EXPECT_EQ(name, "adam_kernel(float *, \"half\" *)");
}

}  // namespace
}  // namespace paceline::traces
