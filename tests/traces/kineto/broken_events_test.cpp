// Events whose times or numbers cannot be: they are counted, by what is wrong with them.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "traces/device_trace/readers.h"

namespace paceline::traces {
namespace {

using Reasons = std::map<std::string, std::uint64_t>;

std::string event(const std::string& category, const std::string& start, const std::string& length,
                  const std::string& arguments = "") {
  const std::string name = category == "kernel" ? "gemm" : "nccl:all_reduce";
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
         R"(", "tid": 1, "ts": )" + start + R"(, "dur": )" + length + R"(, "args": {)" + arguments +
         "}}";
}

DeviceTrace read(const std::string& events) {
  return read_kineto(R"({"traceEvents": [)" + events + "]}");
}

// What overflows, has no end, or ends before it starts: 18446744073709551 us are 2^64 ns.
TEST(KinetoBrokenEvents, OfNoTimeOrNoDurationAreCounted) {
  const DeviceTrace trace = read(
      event("kernel", "NaN", "1") + "," + event("kernel", "1000", "inf") + "," +
      event("kernel", "1000", "-1") + "," + event("kernel", "1000", "18446744073709551") + "," +
      event("kernel", "1000", "86400000001") + "," + event("kernel", "1000", "86400000000"));
  EXPECT_EQ(trace.tasks.size(), 1U);
  EXPECT_EQ(trace.skipped_for, (Reasons{{"a duration of more than a day", 1},
                                        {"a negative duration", 1},
                                        {"no time that can be read", 3}}));
  EXPECT_EQ(trace.skipped, 5U);
}

// The kernel at 0 would be the earliest, and all others 54 years behind it.
TEST(KinetoBrokenEvents, OfAnotherClockAreCountedAndDoNotMoveTheOthers) {
  const std::string now = "1700000000000000";
  const DeviceTrace trace =
      read(event("kernel", "0", "1") + "," + event("user_annotation", "-5", "1") + "," +
           event("cuda_runtime", "3999999999999999", "1", R"("correlation": 3)") + "," +
           event("kernel", now, "1") + "," + event("kernel", now, "2") + "," +
           event("cpu_op", now, "1") + "," +
           event("kernel", "1700000000000001", "1", R"("correlation": 3)"));
  EXPECT_EQ(trace.skipped_for, (Reasons{{"a time of more than a day from most", 3}}));
  ASSERT_EQ(trace.tasks.size(), 3U);
  EXPECT_EQ(trace.tasks[2].start - trace.tasks[0].start, 1000);
  EXPECT_FALSE(trace.tasks[2].launched);
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives[0].called, trace.tasks[0].start);
}

// Of a correlation that two launches have, the first in the file is taken.
TEST(KinetoBrokenEvents, WithTheCorrelationOfAnotherLaunchAreCounted) {
  const std::string correlation = R"("correlation": 7)";
  const DeviceTrace trace = read(event("cuda_runtime", "10", "1", correlation) + "," +
                                 event("cuda_runtime", "20", "1", correlation) + "," +
                                 event("kernel", "30", "1", correlation));
  EXPECT_EQ(trace.skipped_for, (Reasons{{"a correlation of another launch", 1}}));
  ASSERT_EQ(trace.tasks.size(), 1U);
  EXPECT_EQ(trace.tasks[0].launched, 0);
}

}  // namespace
}  // namespace paceline::traces
