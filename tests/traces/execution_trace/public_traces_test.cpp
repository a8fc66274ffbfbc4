// Public traces that may stand beside the checkout, in shared/data/traces.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/traces/formats/only_trace.h"
#include "traces/archive/archive.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

namespace fs = std::filesystem;
using collectives::Collective;

class PublicExecutionTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder_)) GTEST_SKIP() << "there is no " << folder_;
  }

  // Those of a file or folder, in the order of their names.
  static std::vector<DeviceTrace> traces_of(const std::string& path) {
    std::vector<std::pair<std::string, DeviceTrace>> named;
    for_each_file((folder_ / path).string(), may_begin_text,
                  [&](const UnpackedFile& file) {
                    // What macOS puts into archives beside each file.
                    if (file.name.find("._") != std::string::npos) return;
                    named.emplace_back(file.name, only_trace(file.text));
                  },
                  [](const std::string& file, const std::string& why) {
                    ADD_FAILURE() << file << ": " << why;
                  });
    std::ranges::sort(named, {}, &std::pair<std::string, DeviceTrace>::first);
    std::vector<DeviceTrace> traces;
    for (auto& [name, trace] : named) traces.push_back(std::move(trace));
    return traces;
  }

  inline static const fs::path folder_ = PACELINE_SOURCE_DIR "/../shared/data/traces";
};

// The buckets of ResNet-50 with DDP's default sizes, three times; what Kineto's traces have, too.
TEST_F(PublicExecutionTraces, OfResNetOnTwoGpusHasItsBuckets) {
  const auto traces = traces_of("param/resnet_2gpu_et.json.gz");
  ASSERT_EQ(traces.size(), 1U);
  const DeviceTrace& trace = traces.front();
  EXPECT_EQ(trace.world_size, 2U);
  EXPECT_EQ(trace.events, 14392U);
  EXPECT_EQ(trace.skipped, 0U);
  EXPECT_EQ(trace.collectives.size(), 21U);
  std::vector<std::uint64_t> buckets;
  for (const TracedCollective& call : trace.collectives) {
    EXPECT_EQ(call.ranks, (std::vector<Rank>{Rank(0), Rank(1)}));
    EXPECT_EQ(call.group, "0");
    if (call.collective != Collective::all_reduce) continue;
    EXPECT_EQ(call.element_size, ElementSize(4));
    buckets.push_back(call.count.value_or(ElementCount(0)).value());
  }
  const std::vector<std::uint64_t> step{2049000, 7875584, 6563840, 6637568, 2431040};
  std::vector<std::uint64_t> expected;
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), step.begin(), step.end());
  EXPECT_EQ(buckets, expected);
}

// Kineto's files tell only what is sent, and these also what is received, which is more on some
// ranks.
TEST_F(PublicExecutionTraces, OfDlrmHaveTheCollectivesOfItsProfile) {
  const auto observed = traces_of("param/dlrm_pytorch_et.tar.gz");
  const auto profiled = traces_of("param/dlrm_kineto");
  ASSERT_EQ(observed.size(), 8U);
  ASSERT_EQ(profiled.size(), 8U);
  for (std::size_t rank = 0; rank < 8; ++rank) {
    const auto& here = observed[rank].collectives;
    const auto& there = profiled[rank].collectives;
    ASSERT_EQ(here.size(), 8U);
    ASSERT_EQ(there.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(here[i].collective, there[i].collective) << rank << ' ' << i;
      EXPECT_EQ(here[i].element_size, there[i].element_size) << rank << ' ' << i;
      ASSERT_TRUE(here[i].count && there[i].count) << rank << ' ' << i;
      EXPECT_GE(here[i].count->value(), there[i].count->value()) << rank << ' ' << i;
      const bool is_uneven = here[i].count != there[i].count;
      EXPECT_TRUE(!is_uneven || here[i].kind == "all_to_allv") << rank << ' ' << i;
    }
  }
}

TEST_F(PublicExecutionTraces, OfTheFirstChakraSchemaAreRead) {
  const auto traces = traces_of("chakra/1.0.2-chakra.0.0.4.tgz");
  ASSERT_EQ(traces.size(), 1U);
  ASSERT_EQ(traces.front().collectives.size(), 10U);
  for (const TracedCollective& call : traces.front().collectives) {
    EXPECT_EQ(call.collective, Collective::all_gather);
    EXPECT_EQ(call.count, ElementCount(2));  // one of each of two ranks
    EXPECT_EQ(call.group_size, 2U);
    EXPECT_EQ(call.group, "0");
  }
}

}  // namespace
}  // namespace paceline::traces
