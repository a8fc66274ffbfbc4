#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/traces/kineto/kineto_fixture.h"
#include "traces/device_trace/readers.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using test::kineto_error;
using test::kineto_fixture;

// Times in these are what the fixtures say less the earliest: 4203669602990 us.
TEST(Kineto, WithMetadataIsReadWhole) {
  const DeviceTrace trace = read_kineto(kineto_fixture("with_metadata.json"));
  EXPECT_EQ(trace.rank, Rank(1));
  EXPECT_EQ(trace.world_size, 2U);
  EXPECT_EQ(trace.device, "NVIDIA A100-SXM4-80GB");  // device 1, as its kernels say
  EXPECT_EQ(trace.events, 23U);
  EXPECT_EQ(trace.skipped, 0U);
  ASSERT_EQ(trace.gradients.size(), 3U);
  EXPECT_EQ(trace.gradients[0].ready, 110'500);
  EXPECT_EQ(trace.gradients[2].ready, 150'000);
  ASSERT_EQ(trace.ranges.size(), 1U);  // a call is none
  EXPECT_EQ(trace.names.at(trace.ranges[0].name), "ProfilerStep#4");
  EXPECT_EQ(trace.ranges[0].start, 10'000);
  EXPECT_EQ(trace.ranges[0].end, 1'010'000);
  EXPECT_EQ(trace.ranges[0].thread, 9U);
}

TEST(Kineto, TasksKnowTheirLaunchStreamAndName) {
  const DeviceTrace trace = read_kineto(kineto_fixture("with_metadata.json"));
  ASSERT_EQ(trace.tasks.size(), 3U);
  using Work = DeviceTrace::Work;
  const auto& [kernel, copy, set] = std::tie(trace.tasks[0], trace.tasks[1], trace.tasks[2]);
  EXPECT_EQ(kernel.work, Work::kernel);
  EXPECT_EQ(trace.names.at(kernel.name), "void gemm<float, \"row\">(float*)");
  EXPECT_EQ(kernel.stream, 7U);
  EXPECT_EQ(kernel.start, 31'500);
  EXPECT_EQ(kernel.end, 61'625);
  EXPECT_EQ(kernel.launched, 25'250);
  EXPECT_EQ(copy.work, Work::copy);
  EXPECT_EQ(copy.end - copy.start, 1280);
  EXPECT_EQ(set.work, Work::set);
  EXPECT_FALSE(set.launched) << "its launch is not in the file";
}

TEST(Kineto, CallsHaveWhatTheirMetadataTellsAndTheirKernel) {
  const DeviceTrace trace = read_kineto(kineto_fixture("with_metadata.json"));
  ASSERT_EQ(trace.collectives.size(), 2U);  // a wait is none
  const TracedCollective& reduced = trace.collectives[0];
  EXPECT_EQ(reduced.kind, "allreduce");
  EXPECT_EQ(reduced.collective, Collective::all_reduce);
  EXPECT_EQ(reduced.count, ElementCount(1000));
  EXPECT_EQ(reduced.element_size, ElementSize(4));
  EXPECT_EQ(reduced.group_size, 2U);
  EXPECT_EQ(reduced.group, "0");
  EXPECT_EQ(reduced.ranks, (std::vector<Rank>{Rank(0), Rank(1)}));
  EXPECT_EQ(reduced.sequence, 41U);
  EXPECT_EQ(reduced.algorithm, "RING_LL");
  EXPECT_EQ(reduced.called, 160'000);  // the annotation inside it is no second call
  EXPECT_EQ(reduced.returned, 220'000);
  ASSERT_TRUE(reduced.device);
  EXPECT_EQ(reduced.device->start, 200'000);
  EXPECT_EQ(reduced.device->end, 300'000);
  const TracedCollective& sent = trace.collectives[1];
  EXPECT_EQ(sent.collective, Collective::broadcast);
  EXPECT_EQ(sent.element_size, ElementSize(8));
  EXPECT_FALSE(sent.device);
}

TEST(Kineto, WithoutMetadataHasSizesOfInputsAndKernelsByTheirLaunches) {
  const DeviceTrace trace = read_kineto(kineto_fixture("without_metadata.json"));
  EXPECT_EQ(trace.rank, Rank(3));
  EXPECT_EQ(trace.device, "Tesla V100-SXM2-32GB");
  EXPECT_TRUE(trace.tasks.empty());
  ASSERT_EQ(trace.collectives.size(), 3U);  // what has neither name nor kernel was a wait
  const TracedCollective& reduced = trace.collectives[0];
  EXPECT_EQ(reduced.kind, "all_reduce");
  EXPECT_EQ(reduced.count, ElementCount(5 * 6 + 12));
  EXPECT_EQ(reduced.element_size, ElementSize(4));
  EXPECT_EQ(reduced.group_size, 0U);
  EXPECT_EQ(reduced.algorithm, "TREE_LL128");
  EXPECT_EQ(reduced.called, 0);
  EXPECT_EQ(reduced.returned, 79'000);
  ASSERT_TRUE(reduced.device);
  EXPECT_EQ(reduced.device->start, 50'000);
  EXPECT_EQ(reduced.device->end, 250'000);
}

// The kernel's external id, 70, is the all-reduce's: but it is also its correlation.
TEST(Kineto, ExternalIdsThatRepeatCorrelationsAreOfNoOperation) {
  const DeviceTrace trace = read_kineto(kineto_fixture("without_metadata.json"));
  const TracedCollective& exchanged = trace.collectives.at(1);
  EXPECT_EQ(exchanged.collective, Collective::all_to_all);
  EXPECT_EQ(exchanged.count, ElementCount(6144));
  EXPECT_EQ(exchanged.element_size, ElementSize(2));
  ASSERT_TRUE(exchanged.device);
  EXPECT_EQ(exchanged.device->start, 400'000);
}

TEST(Kineto, AnAllGatherLaunchedByAnotherThreadHasItsKernelAndNoCount) {
  const DeviceTrace trace = read_kineto(kineto_fixture("without_metadata.json"));
  const TracedCollective& gathered = trace.collectives.at(2);
  EXPECT_EQ(gathered.collective, Collective::all_gather);
  EXPECT_FALSE(gathered.count) << "only the smaller buffer is told";
  ASSERT_TRUE(gathered.device);
  EXPECT_EQ(gathered.device->start, 530'000);
}

// From 1712195495502000.001 us: a double is some 250 ns off there.
TEST(Kineto, OddTimesAreExactToTheNanosecond) {
  const DeviceTrace trace = read_kineto(kineto_fixture("odd.json"));
  ASSERT_EQ(trace.tasks.size(), 1U);
  EXPECT_EQ(trace.tasks[0].start, 94'569);
  EXPECT_EQ(trace.tasks[0].end, 97'069);
  EXPECT_EQ(trace.tasks[0].launched, 96'570) << "after it started";
  EXPECT_EQ(trace.tasks[0].stream, 3U);
  EXPECT_EQ(trace.names.at(trace.tasks[0].name), "kernel \u00b5");
  ASSERT_EQ(trace.ranges.size(), 1U);
  EXPECT_EQ(trace.ranges[0].start, 1000);  // of 1000.6 - 1 ns, to the nearest: 1001 - 1
  EXPECT_EQ(trace.names.at(trace.ranges[0].name), "ends \"here\"");
}

// Five slices without a time, and three elements that are no event.
TEST(Kineto, WhatCannotBeReadIsCounted) {
  const DeviceTrace trace = read_kineto(kineto_fixture("odd.json"));
  EXPECT_EQ(trace.events, 18U);
  EXPECT_EQ(trace.skipped, 8U);
  EXPECT_EQ(trace.skipped_for,
            (std::map<std::string, std::uint64_t>{
                {"a negative duration", 1}, {"no time that can be read", 4}, {"no keys", 3}}));
  EXPECT_FALSE(trace.rank);
  EXPECT_EQ(trace.world_size, 0U);
  EXPECT_EQ(trace.device, "");
}

TEST(Kineto, KernelsWithoutACallAreCalls) {
  const DeviceTrace trace = read_kineto(kineto_fixture("odd.json"));
  ASSERT_EQ(trace.collectives.size(), 4U);
  const TracedCollective& sent = trace.collectives[0];
  EXPECT_EQ(sent.kind, "Broadcast");
  EXPECT_EQ(sent.collective, Collective::broadcast);
  EXPECT_FALSE(sent.count);
  EXPECT_EQ(sent.called, 0);
  EXPECT_EQ(sent.returned, 0);
  ASSERT_TRUE(sent.device);
  EXPECT_EQ(sent.device->end, 10'000);
  EXPECT_EQ(trace.collectives[1].kind, "unknown");
  EXPECT_FALSE(trace.collectives[1].collective);
}

TEST(Kineto, KernelsLeftOverAreOfTheCallsThatWaitForOne) {
  const DeviceTrace trace = read_kineto(kineto_fixture("odd.json"));
  const TracedCollective& scattered = trace.collectives.at(2);
  EXPECT_EQ(scattered.collective, Collective::reduce_scatter);
  EXPECT_EQ(scattered.count, ElementCount(64));
  EXPECT_EQ(scattered.element_size, ElementSize(2));
  EXPECT_EQ(scattered.group, "2");
  EXPECT_EQ(scattered.ranks.size(), 2U);  // before the dots
  EXPECT_EQ(scattered.algorithm, "NVLS_SIMPLE");
  ASSERT_TRUE(scattered.device);
  EXPECT_EQ(scattered.device->start, 39'999);
}

TEST(Kineto, ABarrierIsTheAllReduceInsideIt) {
  const DeviceTrace trace = read_kineto(kineto_fixture("odd.json"));
  const TracedCollective& barrier = trace.collectives.at(3);
  EXPECT_EQ(barrier.collective, Collective::all_reduce);
  EXPECT_EQ(barrier.count, ElementCount(1));
  EXPECT_EQ(barrier.returned - barrier.called, 9000);
}

// What torch without Kineto writes: events alone, by process, host and device.
constexpr const char* list_of_events =
    R"([{"name": "aten::mm", "ph": "X", "ts": 100, "dur": 27, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "aten::mm", "ph": "s", "ts": 100, "tid": 1, "pid": "CPU functions", "id": 1, "cat": "cpu_to_cuda", "args": {}},
{"name": "aten::mm", "ph": "X", "ts": 150, "dur": 40, "tid": 0, "pid": "CUDA functions", "args": {}},
{"name": "torch::autograd::AccumulateGrad", "ph": "X", "ts": 130, "dur": 5, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "Optimizer.step#SGD.step", "ph": "X", "ts": 140, "dur": 5, "tid": 1, "pid": "CPU functions", "args": {}}])";

TEST(Kineto, OfATorchWithoutItIsAList) {
  ASSERT_TRUE(is_kineto(list_of_events));
  const DeviceTrace trace = read_kineto(list_of_events);
  EXPECT_EQ(trace.skipped, 0U);
  ASSERT_EQ(trace.tasks.size(), 1U);
  EXPECT_EQ(trace.tasks[0].start, 50'000);
  EXPECT_EQ(trace.tasks[0].end, 90'000);
  EXPECT_EQ(trace.gradients.size(), 1U);
  ASSERT_EQ(trace.ranges.size(), 1U);
  EXPECT_EQ(trace.names.at(trace.ranges[0].name), "Optimizer.step#SGD.step");
  EXPECT_FALSE(is_kineto("[]"));
  EXPECT_FALSE(is_kineto(R"([{"name": "process_name", "ph": "M"}])"));
}

// Without a device the host's operations are the work, divided where gradients were ready.
TEST(Kineto, WithoutADeviceHasTheWorkOfItsHost) {
  const DeviceTrace trace = read_kineto(
      R"({"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "backward", "tid": 3, "ts": 10, "dur": 50},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 3, "ts": 12, "dur": 8},
{"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "tid": 3, "ts": 20, "dur": 5},
{"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "tid": 3, "ts": 40, "dur": 5},
{"ph": "X", "cat": "cpu_op", "name": "aten::add_", "tid": 3, "ts": 70, "dur": 10}]})");
  std::vector<std::pair<TraceTime, TraceTime>> pieces;
  for (const auto& task : trace.tasks) {
    pieces.push_back({task.start / 1000, task.end / 1000});
    EXPECT_EQ(task.launched, task.start);
    EXPECT_EQ(task.stream, 3U);
  }
  EXPECT_EQ(pieces,
            (std::vector<std::pair<TraceTime, TraceTime>>{{0, 15}, {15, 35}, {35, 50}, {60, 70}}));
}

// Of a GPU's run without CUDA activities the host's operations are launches, not the work.
TEST(Kineto, OfADeviceThatWasNotRecordedHasNoWork) {
  const std::string events =
      R"("traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 3, "ts": 12, "dur": 8}]})";
  EXPECT_TRUE(read_kineto("{" + events).work_is_of_host);
  const DeviceTrace of_gpu =
      read_kineto(R"({"deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], )" + events);
  EXPECT_FALSE(of_gpu.work_is_of_host);
  EXPECT_TRUE(of_gpu.tasks.empty());
}

TEST(Kineto, IsKnownByItsBeginning) {
  for (const char* name : {"with_metadata.json", "without_metadata.json", "odd.json"}) {
    EXPECT_TRUE(is_kineto(kineto_fixture(name))) << name;
    EXPECT_TRUE(is_kineto("\xef\xbb\xbf\n " + kineto_fixture(name))) << name;
  }
  for (const char* text : {"", " ", "[]", "{}", "[{\"ph\": \"X\"}]", "traceEvents",
                           "# \"traceEvents\"", "{\"schema\": \"1.0.2-chakra.0.0.4\"}"}) {
    EXPECT_FALSE(is_kineto(text)) << text;
  }
}

TEST(Kineto, MayHaveAByteOrderMarkAndNoEvents) {
  EXPECT_EQ(read_kineto("\xef\xbb\xbf{\"traceEvents\": []}\r\n").events, 0U);
}

TEST(Kineto, OfAnotherFormatIsAnErrorThatSaysWhatToGive) {
  for (const char* text : {"{}", "{\"schemaVersion\": 1}", "{\"traceEvents\": 5}",
                           "{\"traceEvents\": {}}", "{\"nodes\": [1, 2]}"}) {
    EXPECT_STREQ(kineto_error(text).what(), "has no traceEvents") << text;
  }
  for (const char* text : {"", "\n", "[]", "5", "\"traceEvents\"", "size count type"}) {
    EXPECT_STREQ(kineto_error(text).what(), "is no object with traceEvents") << text;
  }
  EXPECT_EQ(kineto_error("{}").hint(),
            "give the JSON that torch.profiler exports, whole and unpacked");
}

TEST(Kineto, ThatIsNotJsonNamesTheByteAndTheLine) {
  const FormatError error = kineto_error("{\"traceEvents\": [\n{\"ph\": \"X\"} 7\n]}");
  EXPECT_EQ(error.line(), 2U);
  EXPECT_NE(std::string(error.what()).find("is not JSON, or cut off, at byte 3"), std::string::npos)
      << error.what();
  for (const char* text :
       {"{\"traceEvents\" []}", "{\"traceEvents\": []} {}", "{\"traceEvents\": []}]",
        "{\"traceEvents\": [}", "{\"traceEvents\": [{]}", "{\"traceEvents\": [{\"ph\"}]}",
        "{\"traceEvents\": [{\"ph\": }]}", "{\"traceEvents\": [{\"ph\": \"X}]}",
        "{\"traceEvents\": [{\"name\": \"\xff\"}]}"}) {
    EXPECT_NE(std::string(kineto_error(text).what()).find("is not JSON, or cut off"),
              std::string::npos)
        << text << ": " << kineto_error(text).what();
  }
}

TEST(Kineto, OfRandomBytesIsAnError) {
  std::mt19937 random(7);
  std::string text(1'000'000, '\0');
  for (char& c : text) c = static_cast<char>(1 + random() % 255);
  EXPECT_FALSE(kineto_error("{\"traceEvents\": [" + text).hint().empty());
  for (char& c : text) c = "{}[],:\"a1 "[random() % 10];
  EXPECT_FALSE(kineto_error("{\"traceEvents\": [" + text).hint().empty());
}

TEST(Kineto, NestedAsDeepAsItLikesIsReadOrRefused) {
  const std::string deep(100'000, '['), back(100'000, ']');
  EXPECT_EQ(read_kineto("{\"other\": " + deep + back + ", \"traceEvents\": []}").events, 0U);
}

}  // namespace
}  // namespace paceline::traces
