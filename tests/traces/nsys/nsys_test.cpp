#include <gtest/gtest.h>

#include <string>

#include "tests/traces/formats/only_trace.h"
#include "tests/traces/nsys/sqlite_bytes.h"
#include "traces/device_trace/readers.h"
#include "traces/learn/step_profile.h"
#include "traces/run_record/readers.h"

namespace paceline::traces {
namespace {

using test::nsys_fixture;
using test::sqlite_bytes;

std::string refusal(const std::string& bytes) {
  try {
    (void)read_nsys_traces(bytes);
  } catch (const FormatError& error) {
    EXPECT_FALSE(error.hint().empty());
    return std::string(error.what()) + "; " + error.hint();
  }
  return "";
}

TEST(Nsys, HasATraceForEachGpuOfEachProcess) {
  const std::string bytes = nsys_fixture("two_gpus.sqlite");
  ASSERT_TRUE(is_nsys_trace(bytes));
  const auto parts = read_nsys_traces(bytes);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].part, "process 1001, GPU 0");
  EXPECT_EQ(parts[1].part, "process 1002, GPU 1");
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const DeviceTrace& trace = parts[rank].trace;
    EXPECT_EQ(trace.rank, Rank(rank));
    EXPECT_EQ(trace.world_size, 2U);
    EXPECT_EQ(trace.devices, 2U);
    EXPECT_EQ(trace.device, "NVIDIA A100-SXM4-40GB");
    EXPECT_EQ(trace.tasks.size(), 15U);  // a copy and four kernels a step
    EXPECT_EQ(trace.collectives.size(), 6U);
  }
}

// 4 and 8 MiB of 4 bytes, of a communicator of two.
TEST(Nsys, HasSizesOfCollectivesFromNcclsPayloads) {
  const auto parts = read_nsys_traces(nsys_fixture("two_gpus.sqlite"));
  const auto& calls = parts[1].trace.collectives;
  EXPECT_EQ(calls[0].count, ElementCount(1U << 20U));
  EXPECT_EQ(calls[1].count, ElementCount(2U << 20U));
  EXPECT_EQ(calls[0].element_size, ElementSize(4));
  EXPECT_EQ(calls[0].group_size, 2U);
  EXPECT_EQ(calls[0].collective, collectives::Collective::all_reduce);
  EXPECT_EQ(calls[0].algorithm, "RING_LL");
  ASSERT_TRUE(calls[0].device);
  EXPECT_EQ(calls[0].device->stream, 20U);
}

// A step of 20 ms: a copy of 0.5 ms, a forward of 6, a backward of twice 3, an optimizer of 1;
// all-reduces from 8 to 12 and from 12 to 16 ms, beside the backward from 8 to 14.
TEST(Nsys, StepsAreWhatTheirRangesCallSteps) {
  const auto parts = read_nsys_traces(nsys_fixture("two_gpus.sqlite"));
  const auto steps = profile_steps(parts[0].trace);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[2].name, "ProfilerStep#2");
  ASSERT_TRUE(steps[1].length);
  EXPECT_NEAR(steps[1].length->value(), 20e-3, 1e-9);
  EXPECT_NEAR(steps[1].compute.value(), 13.5e-3, 1e-9);
  EXPECT_NEAR(steps[1].communication.value(), 8e-3, 1e-9);
  EXPECT_NEAR(steps[1].exposed.value(), 2e-3, 1e-9);
}

TEST(Nsys, CountsWhatItCannotRead) {
  const auto parts = read_nsys_traces(nsys_fixture("two_gpus.sqlite"));
  // One in each process; counted of the report.
  EXPECT_EQ(parts[0].trace.skipped, 2U);
  EXPECT_EQ(parts[0].trace.skipped_for.at("a range that does not end"), 2U);
}

// A step of 10 ms: 4 of compute, 3 of an all-reduce behind it.
TEST(Nsys, ReadsExportsOfOldVersions) {
  const DeviceTrace trace = only_trace(nsys_fixture("old.sqlite"));
  EXPECT_EQ(trace.skipped_for.at("an end before the start"), 1U);
  EXPECT_FALSE(trace.rank);
  ASSERT_EQ(trace.collectives.size(), 3U);
  EXPECT_EQ(trace.collectives[0].collective, collectives::Collective::all_reduce);
  EXPECT_FALSE(trace.collectives[0].count);
  const auto steps = profile_steps(trace);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_NEAR(steps[2].length->value(), 10e-3, 1e-9);
  EXPECT_NEAR(steps[2].exposed.value(), 3e-3, 1e-9);
}

// The first copy begins at 1 ms, the host's first range at 0.5: iteration 1 is from there.
TEST(Nsys, ReadsTracesAsCsv) {
  const std::string text = nsys_fixture("traces.csv");
  ASSERT_TRUE(is_nsys_trace(text));
  EXPECT_FALSE(is_nsys_statistics(text));
  const DeviceTrace trace = only_trace(text);
  EXPECT_EQ(trace.device, "NVIDIA L4");
  EXPECT_EQ(trace.tasks.size(), 3U);
  ASSERT_EQ(trace.collectives.size(), 2U);
  EXPECT_EQ(trace.collectives[1].device->end - trace.collectives[1].device->start, 2'000'000);
  const auto steps = profile_steps(trace);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].name, "ProfilerStep#1");
  EXPECT_NEAR(steps[1].length->value(), 10e-3, 1e-9);
  EXPECT_NEAR(steps[1].exposed.value(), 2e-3, 1e-9);
}

TEST(Nsys, NamesItsOwnFilesAndTheCommandThatExportsThem) {
  const std::string report = std::string("NVIDIA Tegra Profiler Report 2025.1.1.103\n\0\1\2", 45);
  ASSERT_TRUE(is_nsys_trace(report));
  EXPECT_NE(refusal(report).find("nsys export --type sqlite"), std::string::npos);
}

TEST(Nsys, RefusesOtherDatabasesAndReportsWithoutAGpu) {
  EXPECT_NE(refusal(sqlite_bytes("CREATE TABLE points (a INT)")).find("no report"),
            std::string::npos);
  EXPECT_NE(
      refusal(sqlite_bytes("CREATE TABLE StringIds (id INT, value TEXT)")).find("without kernels"),
      std::string::npos);
}

TEST(Nsys, SaysThatAFileIsCutOff) {
  const std::string bytes = nsys_fixture("two_gpus.sqlite");
  for (const std::size_t size : {std::size_t{30}, std::size_t{2000}, bytes.size() / 2}) {
    EXPECT_NE(refusal(bytes.substr(0, size)).find("cut off"), std::string::npos) << size;
  }
}

TEST(Nsys, RefusesFilesWithAWriteAheadLog) {
  std::string bytes = nsys_fixture("old.sqlite");
  bytes[18] = bytes[19] = 2;
  EXPECT_NE(refusal(bytes).find("write-ahead log"), std::string::npos);
}

// Each would run for ever, or fill the memory, if what the file defines was run.
TEST(Nsys, RunsNothingThatAFileDefines) {
  const std::string endless =
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(start) AS "
      "(SELECT 1 UNION ALL SELECT start + 1 FROM c) SELECT start, start AS end FROM c;"
      "CREATE TABLE StringIds (id INT, value TEXT);";
  EXPECT_NE(refusal(sqlite_bytes(endless)).find("without kernels"), std::string::npos);
  const std::string function =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end AS "
      "(length(hex(zeroblob(2000)))));"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start) VALUES (1);";
  EXPECT_NE(refusal(sqlite_bytes(function)).find("without kernels"), std::string::npos);
  const std::string a_virtual =
      "CREATE TABLE StringIds (id INT, value TEXT);"
      "CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts5(start, end);";
  EXPECT_NE(refusal(sqlite_bytes(a_virtual)).find("without kernels"), std::string::npos);
}

TEST(Nsys, LeavesOutValuesOfOtherTypes) {
  const auto parts = read_nsys_traces(sqlite_bytes(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, demangledName);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('x', 5, 0, 7, 1), (1, 2.5, 0, 7, 1),"
      "(3, 9, 0, 7, 1), (-5, 9, 0, 7, 1), (1, 9223372036854775807, 0, 7, 1);"
      "CREATE TABLE StringIds (id INT, value);"
      "INSERT INTO StringIds VALUES (1, x'00');"));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].trace.tasks.size(), 1U);
  EXPECT_EQ(parts[0].trace.skipped, 4U);
}

std::string with_graphs(int graph_ns) {
  return sqlite_bytes(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 1100, 0, 7);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (10, " +
      std::to_string(10 + graph_ns) + ", 0);");
}

TEST(Nsys, RefusesGraphsInOnePieceUnlessTheyAreFew) {
  EXPECT_NE(refusal(with_graphs(101)).find("--cuda-graph-trace=node"), std::string::npos);
  const DeviceTrace trace = only_trace(with_graphs(100));
  EXPECT_EQ(trace.tasks.size(), 1U);
  EXPECT_EQ(trace.skipped_for.at("kernels of a CUDA graph in one piece"), 1U);
}

}  // namespace
}  // namespace paceline::traces
