// Traces that say they are of more ranks than any run has.

#include <gtest/gtest.h>

#include <string>

#include "tests/traces/kineto/kineto_fixture.h"

namespace paceline::traces {
namespace {

using test::kineto_error;

std::string trace_with(const std::string& information, const std::string& arguments) {
  return R"({"distributedInfo": {)" + information + R"(}, "traceEvents": [
    {"ph": "M", "name": "process_name"},
    {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 1, "dur": 1, "tid": 1,
     "args": {"Collective name": "allreduce")" +
         (arguments.empty() ? "" : ", " + arguments) + "}}]}";
}

TEST(KinetoLimits, AreThoseOfATracedRun) {
  EXPECT_EQ(read_kineto(trace_with(R"("world_size": 65536, "rank": 65535)",
                                   R"("Group size": 65536, "Process Group Ranks": "[65535]")"))
                .world_size,
            65'536U);
  const std::string beyond = ", more than the 65536 that a run may have";
  EXPECT_EQ(kineto_error(trace_with(R"("world_size": 100000)", "")).what(),
            "distributedInfo: world_size is 100000" + beyond);
  EXPECT_EQ(kineto_error(trace_with(R"("world_size": 5000000000)", "")).what(),
            "distributedInfo: world_size is 5000000000" + beyond);
  EXPECT_EQ(kineto_error(trace_with(R"("rank": 65536)", "")).what(),
            "distributedInfo: rank is 65536" + beyond);
  EXPECT_EQ(kineto_error(trace_with("", R"("Group size": 100000)")).what(),
            "event 2: Group size is 100000" + beyond);
  EXPECT_EQ(kineto_error(trace_with("", R"("Process Group Ranks": "[0, 100000]")")).what(),
            "event 2: Process Group Ranks has 100000" + beyond);
}

TEST(KinetoLimits, HoldOfListsOfRanks) {
  std::string list = "[0";
  for (int i = 0; i < 100'000; ++i) list += ", 1";
  EXPECT_EQ(kineto_error(trace_with("", R"("Process Group Ranks": ")" + list + "]\"")).what(),
            std::string("event 2: Process Group Ranks are 100001, more than the 65536 that a run "
                        "may have"));
}

}  // namespace
}  // namespace paceline::traces
