#include "real/nvtx/range.h"

#include <gtest/gtest.h>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace {

#ifdef PACELINE_NVTX_TOOL
// What the tool wrote while the program ran.
std::string recorded(const std::vector<std::string>& more_environment) {
  const Folder folder;
  const std::string file = (folder.path() / "record").string();
  std::vector<std::string> command{"/usr/bin/env", "NVTX_INJECTION64_PATH=" PACELINE_NVTX_TOOL,
                                   "PACELINE_NVTX_RECORD=" + file};
  command.insert(command.end(), more_environment.begin(), more_environment.end());
  command.emplace_back(PACELINE_NVTX_RANGES);
  const Ended ended = run_program(command, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "1\n");
  return text_of(file);
}

// The payload has three fields of eight bytes.
TEST(NvtxRange, TellsAToolNameAndPayloadFromBeginningToEnd) {
  EXPECT_EQ(recorded({}),
            "domain paceline\n"
            "schema paceline: paceline call, 24 bytes: bucket bytes algorithm\n"
            "string paceline: ring\n"
            "start 0 paceline: bucket 0: bucket=0 bytes=26214400 algorithm=ring\n"
            "string paceline: native\n"
            "start 1 paceline: bucket 1: bucket=1 bytes=7000000000 algorithm=native\n"
            "end 0 paceline\n"
            "start 2 paceline: bucket 2: bucket=2 bytes=4 algorithm=ring\n"
            "end 1 paceline\n"
            "end 2 paceline\n");
}

TEST(NvtxRange, TellsAToolWithoutSchemasTheBytes) {
  const std::string record = recorded({"PACELINE_NVTX_PLAIN=1"});
  EXPECT_NE(record.find("start 0 paceline: bucket 0: 26214400\n"), std::string::npos) << record;
  EXPECT_EQ(record.find("schema"), std::string::npos) << record;
}

#else
TEST(NvtxRange, DoesNothingWhereTheHeadersWereNotFound) {
  real::nvtx::Range range("bucket 0", {0, Bytes(4), "ring"});
  EXPECT_FALSE(real::nvtx::is_listened_to());
}
#endif

}  // namespace
}  // namespace paceline::test
