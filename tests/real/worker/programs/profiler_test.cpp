// What a profiler sees of a run: ranges of every call, with their payloads.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/real/worker/programs/measured.h"

namespace paceline::test {
namespace profiler_test {

#ifdef PACELINE_NVTX_TOOL
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Four tensors of 400 kB in buckets of 1 MiB: the first three, then the last. Two ranks run the
// step five times: one of two warm-up steps is checked, two count, and one more is checked.
TEST(Profiler, SeesEveryBucketWithItsBytesAndAlgorithm) {
  const Folder folder;
  const std::string record = (folder.path() / "record").string();
  std::vector<std::string> command{"/usr/bin/env", "NVTX_INJECTION64_PATH=" PACELINE_NVTX_TOOL,
                                   "PACELINE_NVTX_RECORD=" + record};
  const auto measure =
      measure_command(folder.write("scenario.yaml", measured_scenario("memory", "2")), "/dev/null");
  command.insert(command.end(), measure.begin(), measure.end());
  for (const char* setting : {"sweep.gpus=[2]", "collective.algorithm=ring"}) {
    command.insert(command.end(), {"--set", setting});
  }
  const Ended ended = run_program(command, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const std::string text = text_of(record);
  const std::size_t steps = 2 + 2 + 1;
  EXPECT_EQ(count(text, "bucket 0: bucket=0 bytes=1200000 algorithm=ring\n"), 2 * steps) << text;
  EXPECT_EQ(count(text, "bucket 1: bucket=1 bytes=400000 algorithm=ring\n"), 2 * steps);
  EXPECT_EQ(count(text, "end "), 2 * 2 * steps);
}
#else
TEST(Profiler, IsNotThere) { GTEST_SKIP() << "NVTX was not found"; }
#endif

}  // namespace profiler_test
}  // namespace paceline::test
