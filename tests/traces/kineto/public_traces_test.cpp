// Public traces that may stand beside the checkout, in shared/data/traces.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "tests/traces/kineto/kineto_fixture.h"

namespace paceline::traces {
namespace {

namespace fs = std::filesystem;
using collectives::Collective;
using test::calls_of;

class PublicKinetoTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder_)) GTEST_SKIP() << "there is no " << folder_;
  }

  static std::string text_of(const fs::path& file) {
    if (file.extension() != ".gz") return paceline::test::text_of(file);
    const auto unpacked = paceline::test::run_program({"/bin/zcat", file.string()}, folder_);
    EXPECT_EQ(unpacked.exit_code, 0) << file << ": " << unpacked.err;
    return unpacked.out;
  }

  static DeviceTrace trace_of(const std::string& file) {
    return read_kineto(text_of(folder_ / file));
  }

  inline static const fs::path folder_ = PACELINE_SOURCE_DIR "/../shared/data/traces";
};

// The buckets of ResNet-50 with DDP's default sizes, in the order in which they are ready.
const std::vector<std::uint64_t> resnet_buckets{2049000, 7875584, 6563840, 6637568, 2431040};

// What DDP does between the start and the end of each step: all buckets once, two broadcasts of
// buffers, 161 gradients.
void expect_steps_of_resnet(const DeviceTrace& trace, std::size_t steps, std::uint32_t group_size) {
  std::size_t found = 0;
  for (const DeviceTrace::Range& range : trace.ranges) {
    if (!trace.names.at(range.name).starts_with("ProfilerStep#")) continue;
    ++found;
    const auto inside = [&](TraceTime time) { return time >= range.start && time < range.end; };
    std::vector<std::uint64_t> counts;
    std::size_t broadcasts = 0;
    for (const TracedCollective& call : trace.collectives) {
      if (!inside(call.called)) continue;
      EXPECT_EQ(call.group_size, group_size);
      EXPECT_EQ(call.device.has_value(), group_size > 1);
      if (call.collective == Collective::broadcast) ++broadcasts;
      if (call.collective != Collective::all_reduce) continue;
      EXPECT_EQ(call.element_size, ElementSize(4));
      counts.push_back(call.count.value_or(ElementCount(0)).value());
    }
    EXPECT_EQ(counts, resnet_buckets);
    EXPECT_EQ(broadcasts, 2U);
    EXPECT_EQ(std::count_if(trace.gradients.begin(), trace.gradients.end(),
                            [&](const auto& gradient) { return inside(gradient.ready); }),
              161);
  }
  EXPECT_EQ(found, steps);
}

TEST_F(PublicKinetoTraces, OfResNetOnTwoGpusHaveItsBuckets) {
  const DeviceTrace trace = trace_of("hta/nccl_parser_config_nccl_data.json.gz");
  EXPECT_EQ(trace.rank, Rank(0));
  EXPECT_EQ(trace.world_size, 2U);
  EXPECT_EQ(trace.device, "NVIDIA A100-PG509-200");
  EXPECT_EQ(trace.skipped, 0U);
  expect_steps_of_resnet(trace, 3, 2);
  EXPECT_EQ(trace.collectives.size(), 21U);
  // All kernels but the 21 of NCCL, all copies and sets, each with its launch.
  EXPECT_EQ(trace.tasks.size(), 2700U - 21 + 960 + 114);
  EXPECT_TRUE(std::all_of(trace.tasks.begin(), trace.tasks.end(),
                          [](const auto& task) { return task.launched.has_value(); }));
  for (const TracedCollective& call : trace.collectives) {
    EXPECT_EQ(call.algorithm, "RING_LL");
    EXPECT_EQ(call.ranks.size(), 2U);
  }
}

TEST_F(PublicKinetoTraces, OfResNetOnOneGpuHaveTheSameBucketsAndNoKernels) {
  const DeviceTrace trace =
      trace_of("hta/ns_resolution_trace_rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz");
  EXPECT_EQ(trace.device, "Tesla V100-SXM2-32GB");
  expect_steps_of_resnet(trace, 5, 1);
  EXPECT_EQ(trace.collectives.size(), 35U);
}

TEST_F(PublicKinetoTraces, OfDlrmOnEightGpusHaveTheSameCallsOnEachRank) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "param/dlrm_kineto")) {
    ++files;
    const std::string name = entry.path().filename().string();  // worker0_step_12...
    const DeviceTrace trace = read_kineto(text_of(entry.path()));
    EXPECT_EQ(trace.rank, Rank(static_cast<std::uint32_t>(name.at(6) - '0')));
    EXPECT_EQ(trace.world_size, 8U);
    std::vector<std::uint64_t> counts;
    for (const TracedCollective* call : calls_of(trace, Collective::all_reduce)) {
      counts.push_back(call->count.value_or(ElementCount(0)).value());
    }
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{394241, 112, 226960})) << name;
    EXPECT_EQ(calls_of(trace, Collective::all_to_all).size(), 5U) << name;
    EXPECT_EQ(trace.collectives.size(), 8U) << name;
    for (const TracedCollective& call : trace.collectives) {
      ASSERT_TRUE(call.device) << name << ": " << call.kind;
      EXPECT_GE(call.device->start, call.called) << name;
    }
  }
  EXPECT_EQ(files, 8U);
}

// Kernels of NCCL and calls with a kernel are as many where nothing is cut off.
TEST_F(PublicKinetoTraces, OfOtherReleasesAreRead) {
  struct Row {
    std::size_t tasks, ranges, gradients, calls;
  };
  // Counted in the files with another reader: kernels, copies and sets without NCCL's kernels;
  // user_annotation other than nccl:...; AccumulateGrad; nccl:...
  const std::map<std::string, Row> files{
      {"hta/amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz", {16, 3, 2, 0}},
      {"hta/trace_diff_control_control.json.gz", {8568 - 60 + 654 + 228, 288 - 60, 1554, 60}},
      {"hta/trace_filter_sampled_rank-0.json.gz", {1154 - 10 + 40 + 10, 73 - 10, 25, 10}},
      {"hta/trace_filter_sampled_rank-1.json.gz", {1104 - 10 + 40 + 10, 65 - 10, 24, 10}},
      {"hta/large_integer_trace_rank-70.json.gz", {0, 0, 0, 1}},
      {"param/resnet_kineto.json.gz", {9628 + 362 + 123, 90, 1860, 0}}};
  for (const auto& [file, row] : files) {
    const DeviceTrace trace = trace_of(file);
    EXPECT_EQ(trace.tasks.size(), row.tasks) << file;
    EXPECT_EQ(trace.ranges.size(), row.ranges) << file;
    EXPECT_EQ(trace.gradients.size(), row.gradients) << file;
    EXPECT_EQ(trace.collectives.size(), row.calls) << file;
    EXPECT_EQ(trace.skipped, 0U) << file;
    for (const TracedCollective& call : trace.collectives) EXPECT_TRUE(call.device) << file;
  }
}

TEST_F(PublicKinetoTraces, ThatAreExecutionTracesAreRefused) {
  const std::string text = text_of(folder_ / "param/resnet_2gpu_et.json.gz");
  EXPECT_FALSE(is_kineto(text));
  EXPECT_STREQ(test::kineto_error(text).what(), "has no traceEvents");
}

}  // namespace
}  // namespace paceline::traces
