// A public trace that may stand beside the checkout, in shared/data/traces.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "traces/archive/archive.h"
#include "traces/device_trace/readers.h"

namespace paceline::traces {
namespace {

namespace fs = std::filesystem;
using collectives::Collective;

// One step of ResNet-50 on several ranks: its buckets as bytes, two broadcasts of buffers.
TEST(PublicChakraTraces, OfResNetHasItsBucketsBehindTheComputationTheyWaitFor) {
  const fs::path path =
      PACELINE_SOURCE_DIR "/../shared/data/traces/chakra/feeder_tests_trace.tar.gz";
  if (!fs::exists(path)) GTEST_SKIP() << "there is no " << path;
  std::vector<DeviceTrace> traces;
  for_each_file(
      path.string(), is_chakra,
      [&](const UnpackedFile& file) {
        if (is_chakra(file.text)) traces.push_back(read_chakra(file.text));
      },
      [](const std::string& file, const std::string& why) { ADD_FAILURE() << file << why; });
  ASSERT_EQ(traces.size(), 1U);
  const DeviceTrace& trace = traces.front();
  // Counted with another reader: nodes, and those that are not is_cpu_op, 7 of them COMM_COLL.
  EXPECT_EQ(trace.events, 3664U);
  EXPECT_EQ(trace.tasks.size(), 1209U);
  std::vector<std::uint64_t> sizes;
  for (const TracedCollective& call : trace.collectives) {
    sizes.push_back(call.count.value_or(ElementCount(0)).value());
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{53120 * 4, 53 * 8, 2049000 * 4, 7875584 * 4,
                                               6563840 * 4, 6637568 * 4, 2431040 * 4}));
  // 329.543 ms on the device in all, 36.715 of them in collectives; each stream does one at a time.
  TraceTime busy = 0, end = 0;
  for (const auto& task : trace.tasks) {
    EXPECT_GE(task.start, end);  // they are all on stream 7
    end = task.end;
    busy += task.end - task.start;
  }
  for (const TracedCollective& call : trace.collectives) {
    busy += call.device->end - call.device->start;
  }
  EXPECT_EQ(busy, 329'543'000);
}

}  // namespace
}  // namespace paceline::traces
