#include <gtest/gtest.h>

#include "tests/traces/kineto/kineto_fixture.h"
#include "traces/device_trace/readers.h"
#include "traces/kineto/host.h"

namespace paceline::traces::kineto {
namespace {

using Wait = DeviceTrace::Wait;

DeviceTrace host(const std::vector<std::pair<TraceTime, TraceTime>>& calls,
                 const std::vector<TraceTime>& launches) {
  DeviceTrace made;
  for (const auto& [called, returned] : calls) {
    auto& call = made.collectives.emplace_back();
    call.called = called;
    call.returned = returned;
  }
  for (const TraceTime launched : launches) {
    made.tasks.push_back({launched, launched + 1, 7, DeviceTrace::Work::kernel, launched, 0});
  }
  return made;
}

std::vector<TraceTime> kept(std::vector<TraceTime> at, const DeviceTrace& trace) {
  std::vector<Wait> waits;
  for (const TraceTime one : at) waits.push_back({one, one, std::nullopt});
  std::vector<TraceTime> left;
  for (const Wait& wait : waits_of_compute(std::move(waits), trace)) left.push_back(wait.at);
  return left;
}

TEST(HostWaits, InsideACallAreItsOwn) {
  const DeviceTrace trace = host({{10, 20}, {30, 40}}, {5, 25, 50});
  EXPECT_EQ(kept({45, 12, 22, 35}, trace), (std::vector<TraceTime>{22, 45}));
}

// Torch until 1.10 makes its own before the range that it records, with nothing launched between.
TEST(HostWaits, BeforeCallsAreTheirsWhereNoneIsInside) {
  const DeviceTrace trace = host({{10, 20}, {30, 40}}, {5, 25, 50});
  EXPECT_EQ(kept({8, 22, 28, 45}, trace), (std::vector<TraceTime>{22, 45}));
  EXPECT_EQ(kept({8, 12, 28}, trace), (std::vector<TraceTime>{8, 28}));
  EXPECT_TRUE(kept({}, trace).empty());
}

TEST(HostWaits, ThatNameTheirStreamsAreAllKept) {
  const DeviceTrace trace = host({{10, 20}}, {5});
  EXPECT_EQ(waits_of_compute({{12, 11, 7, 20}}, trace).size(), 1U);
}

TEST(HostWaits, AreReadWithTheirStreams) {
  const DeviceTrace trace = read_kineto(test::kineto_fixture("stream_waits.json"));
  EXPECT_EQ(trace.skipped, 0U);
  ASSERT_EQ(trace.waits.size(), 6U);  // three a step; that of the context names no stream
  const Wait& of_call = trace.waits[0];
  EXPECT_EQ(of_call.at, 24'000);
  EXPECT_EQ(of_call.recorded, 22'000);
  EXPECT_EQ(of_call.of, 7U);
  EXPECT_EQ(of_call.stream, 20U);
  const Wait& of_compute = trace.waits[1];
  EXPECT_EQ(of_compute.at, 60'000);
  EXPECT_EQ(of_compute.recorded, 40'000);
  EXPECT_EQ(of_compute.of, 20U);
  EXPECT_EQ(of_compute.stream, 7U);
  const Wait& of_host = trace.waits[2];
  EXPECT_EQ(of_host.at, 310'000);
  EXPECT_EQ(of_host.of, 7U);
  EXPECT_FALSE(of_host.stream);
  ASSERT_EQ(trace.collectives.size(), 2U);
  EXPECT_EQ(trace.collectives[0].device->stream, 20U);
}

// A profile without any wait of a stream has not recorded them: the host's say nothing of the rest.
TEST(HostWaits, AreNotToldByThoseOfTheHostAlone) {
  const auto waits_with = [](const std::string& call) {
    return read_kineto(R"({"traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "tid": 9, "ts": 90, "dur": 1, "args": {"correlation": 3}},
{"ph": "X", "cat": "cuda_runtime", "name": ")" +
                       call + R"(", "tid": 9, "ts": 5, "dur": 1, "args": {"correlation": 4}}]})")
        .waits.size();
  };
  EXPECT_EQ(waits_with("cudaLaunchKernel"), 0U);
  EXPECT_EQ(waits_with("cudaStreamWaitEvent"), 2U);
}

}  // namespace
}  // namespace paceline::traces::kineto
