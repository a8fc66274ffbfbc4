#include <gtest/gtest.h>

#include "traces/kineto/host.h"
#include "traces/pytorch/nccl_names.h"

namespace paceline::traces::kineto {
namespace {

HostCall call(const char* kind, std::uint64_t thread, TraceTime called, TraceTime returned) {
  HostCall made{{}, thread, std::nullopt};
  made.call.kind = kind;
  made.call.collective = pytorch::collective_of(kind);
  made.call.called = called;
  made.call.returned = returned;
  return made;
}

CollectiveKernel kernel(std::string_view kind, TraceTime start, TraceTime end) {
  return {start, end, kind, {}, std::nullopt, std::nullopt};
}

CollectiveKernel launched(CollectiveKernel kernel, std::uint64_t thread, TraceTime at) {
  kernel.launch = CollectiveKernel::Launch{at, thread};
  return kernel;
}

std::vector<TraceTime> device_starts(const std::vector<TracedCollective>& calls) {
  std::vector<TraceTime> starts;
  for (const auto& one : calls) starts.push_back(one.device ? one.device->start : -1);
  return starts;
}

using Starts = std::vector<TraceTime>;

TEST(JoinedCalls, OfAGroupTakeTheKernelsOfItsEndInOrder) {
  const auto calls = joined_calls(
      {call("all_reduce", 1, 0, 10), call("broadcast", 1, 10, 20), call("all_reduce", 1, 20, 30)},
      {launched(kernel("AllReduce", 60, 70), 1, 41), launched(kernel("Broadcast", 50, 55), 1, 40),
       launched(kernel("AllReduce", 80, 90), 1, 42)});
  EXPECT_EQ(device_starts(calls), (Starts{60, 50, 80}));
}

TEST(JoinedCalls, OfSeveralThreadsTakeWhatTheirOwnLaunchesAndElseWhatTheyMayRun) {
  const auto calls = joined_calls(
      {call("all_reduce", 1, 0, 100), call("all_to_all", 2, 1, 100), call("broadcast", 3, 2, 100)},
      {launched(kernel("SendRecv", 60, 70), 9, 50), launched(kernel("AllReduce", 61, 70), 9, 50),
       launched(kernel("", 62, 70), 3, 50)});
  EXPECT_EQ(device_starts(calls), (Starts{61, 60, 62}));
}

TEST(JoinedCalls, DoNotTakeKernelsThatStartedBefore) {
  const auto calls = joined_calls({call("all_reduce", 1, 100, 110)}, {kernel("AllReduce", 50, 60)});
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].called, 50);
  EXPECT_EQ(calls[0].kind, "AllReduce");
  EXPECT_FALSE(calls[1].device);
}

TEST(JoinedCalls, OfAnotherSizeHaveLostTheirKernel) {
  auto lost = call("all_reduce", 1, 0, 10), kept = call("all_reduce", 1, 10, 20);
  lost.call.count = ElementCount(100);
  kept.call.count = ElementCount(200);
  auto found = kernel("AllReduce", 50, 60);
  found.call.count = ElementCount(200);
  EXPECT_EQ(device_starts(joined_calls({lost, kept}, {found})), (Starts{-1, 50}));
}

TEST(JoinedCalls, OfSeveralKernelsLastFromTheFirstToTheLast) {
  const auto calls = joined_calls(
      {call("all_to_all", 1, 0, 100)},
      {launched(kernel("SendRecv", 70, 75), 1, 20), launched(kernel("SendRecv", 30, 40), 1, 10)});
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].device->start, 30);
  EXPECT_EQ(calls[0].device->end, 75);
}

TEST(JoinedCalls, ThatFollowWithoutAGapAreTwo) {
  EXPECT_EQ(joined_calls({call("all_reduce", 1, 0, 10), call("all_reduce", 1, 10, 20)}, {}).size(),
            2U);
  EXPECT_EQ(joined_calls({call("all_reduce", 1, 0, 10), call("all_reduce", 1, 9, 20)}, {}).size(),
            1U);
}

TEST(JoinedCalls, OfNoNameAreThoseOfTheirKernel) {
  const auto calls = joined_calls({call("", 1, 0, 10), call("", 1, 20, 30)},
                                  {launched(kernel("ReduceScatter", 7, 9), 1, 5)});
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].collective, collectives::Collective::reduce_scatter);
  EXPECT_EQ(calls[0].called, 0);
}

}  // namespace
}  // namespace paceline::traces::kineto
