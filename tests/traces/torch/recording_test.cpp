#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/traces/formats/only_trace.h"
#include "traces/device_trace/readers.h"
#include "traces/learn/matched_calls.h"
#include "traces/learn/step_profile.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

std::string fixture(const std::string& name) {
  const std::string text =
      paceline::test::text_of(PACELINE_SOURCE_DIR "/tests/fixtures/torch/" + name);
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

const std::string header =
    R"({"schema":"paceline.recording/1","rank":1,"world_size":4,"backend":"gloo","device":"cpu",)"
    R"("parameters":[{"name":"a","elements":100,"element_bytes":4,"requires_grad":true},)"
    R"({"name":"frozen","elements":7,"element_bytes":4,"requires_grad":false},)"
    R"({"name":"b","elements":50,"element_bytes":2,"requires_grad":true}],)"
    R"("ddp":[{"bucket_cap_bytes":1000,"group_size":4,"comm_hook":null}]})"
    "\n";

// Forward 10 to 30, its loss to 40; gradients at 60 and 70, the backward pass waits to 90; the
// optimizer from 92 to 98.
const std::string step =
    R"({"step":3,"begin_ns":10,"end_ns":100,"forward_ns":[[10,30]],"backward_ns":[[40,90]],)"
    R"("waits_ns":[[70,90]],"optimizer_ns":[[92,98]],"gradients_ns":[60,70],)"
    R"("gradient_parameters":[2,0],"samples":8,"buckets":[)"
    R"({"model":0,"index":0,"elements":50,"element_bytes":2,"launched_ns":60,"end_ns":80},)"
    R"({"model":0,"index":1,"elements":100,"element_bytes":4,"launched_ns":70,"end_ns":90}]})"
    "\n";

const std::string ending = "{\"steps\":1}\n";

struct Work {
  std::string name;
  TraceTime start, end;
  bool operator==(const Work&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Work& work) {
  return out << work.name << ' ' << work.start << " to " << work.end;
}

std::vector<Work> work_of(const DeviceTrace& trace) {
  std::vector<Work> work;
  for (const auto& task : trace.tasks) {
    EXPECT_EQ(task.launched, task.start);
    work.push_back({trace.names[task.name], task.start, task.end});
  }
  return work;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Recording, TellsWhatIsSaidOnceOfTheRun) {
  const DeviceTrace trace = read_recording(header + step + ending);
  EXPECT_EQ(trace.rank, Rank(1));
  EXPECT_EQ(trace.world_size, 4U);
  EXPECT_EQ(trace.device, "cpu");
  EXPECT_EQ(trace.batch, 8U);
  EXPECT_EQ(trace.bucket_cap, Bytes(1000));
  ASSERT_EQ(trace.parameters.size(), 2U);  // not the frozen one
  EXPECT_EQ(trace.parameters[1].name, "b");
  EXPECT_EQ(trace.parameters[1].count, ElementCount(50));
  EXPECT_EQ(trace.parameters[1].element_size, ElementSize(2));
  ASSERT_EQ(trace.gradients.size(), 2U);
  EXPECT_EQ(trace.gradients[0].parameter, 1U);
  EXPECT_EQ(trace.gradients[1].parameter, 0U);
}

TEST(Recording, HasTasksForAllOfAStepButItsWaits) {
  const DeviceTrace trace = read_recording(header + step + ending);
  EXPECT_EQ(work_of(trace), (std::vector<Work>{{"forward", 10, 30},
                                               {"between", 30, 40},
                                               {"backward", 40, 60},
                                               {"backward", 60, 70},
                                               {"between", 90, 92},
                                               {"optimizer", 92, 98},
                                               {"between", 98, 100}}));
}

// Of 90 ns all but the wait of 20 is computing; collectives from 60 to 90 are hidden until 70.
TEST(Recording, IsProfiledAsTracesOfProfilersAre) {
  const auto steps = profile_steps(read_recording(header + step + ending));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].name, "ProfilerStep#3");
  EXPECT_DOUBLE_EQ(steps[0].length->value(), 90e-9);
  EXPECT_DOUBLE_EQ(steps[0].compute.value(), 70e-9);
  EXPECT_DOUBLE_EQ(steps[0].communication.value(), 30e-9);
  EXPECT_DOUBLE_EQ(steps[0].exposed.value(), 20e-9);
  EXPECT_EQ(steps[0].gradients, 2U);
  ASSERT_EQ(steps[0].calls.size(), 2U);
  EXPECT_DOUBLE_EQ(steps[0].calls[0].ready->value(), 50e-9);
  EXPECT_DOUBLE_EQ(steps[0].calls[1].ready->value(), 60e-9);
}

// Gloo has two under way, others one: NCCL's second begins when the first has ended, at 80.
TEST(Recording, BeginsCollectivesWhenTheOnesBeforeLetThem) {
  const std::string text = header + step + ending;
  EXPECT_EQ(read_recording(text).collectives[1].device->start, 70);
  const DeviceTrace nccl = read_recording(with(text, "gloo", "nccl"));
  EXPECT_EQ(nccl.collectives[0].device->start, 60);
  EXPECT_EQ(nccl.collectives[1].device->start, 80);
  EXPECT_EQ(nccl.collectives[1].device->end, 90);
}

TEST(Recording, HasNoTimeForCollectivesWhoseEndWasNotSeen) {
  const DeviceTrace trace =
      read_recording(header + with(step, "\"end_ns\":80", "\"end_ns\":null") + ending);
  EXPECT_FALSE(trace.collectives[0].device);
  EXPECT_EQ(trace.collectives[1].device->start, 70);
}

TEST(Recording, DoesNotKnowWhatAHookOfTheScriptSends) {
  const DeviceTrace trace =
      read_recording(with(header, "\"comm_hook\":null", "\"comm_hook\":\"f\"") + step + ending);
  EXPECT_FALSE(trace.collectives[0].count);
  EXPECT_FALSE(trace.collectives[0].element_size);
}

// 3 * (512 * 512 + 512) elements: in one bucket first, then a layer each, as 1 MiB is full with
// one.
TEST(Recording, OfARealRunHasTheBucketsOfDdp) {
  for (const char* name : {"two_ranks.0.json", "two_ranks.1.json", "watched.0.json"}) {
    const DeviceTrace trace = only_trace(fixture(name));
    const auto steps = profile_steps(trace);
    ASSERT_EQ(steps.size(), 2U) << name;
    ASSERT_EQ(trace.collectives.size(), 4U) << name;
    EXPECT_EQ(trace.collectives[0].count, ElementCount(3 * 262656)) << name;
    for (std::size_t i = 1; i < 4; ++i) {
      EXPECT_EQ(trace.collectives[i].count, ElementCount(262656)) << name;
      EXPECT_EQ(trace.collectives[i].group_size, 2U) << name;
    }
    EXPECT_EQ(steps[1].gradients, 6U) << name;
  }
}

// Buckets of the second step are ready with every second gradient, the layers' weights.
TEST(Recording, OfARealRunHasBucketsReadyWithTheirLastGradient) {
  const DeviceTrace trace = only_trace(fixture("two_ranks.0.json"));
  const auto steps = profile_steps(trace);
  ASSERT_EQ(trace.gradients.size(), 12U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& gradient = trace.gradients[6 + 2 * i + 1];
    EXPECT_DOUBLE_EQ(steps[1].calls[i].ready->value(),
                     seconds_of(gradient.ready - steps[1].host_start).value());
  }
}

// The lines of one_rank.json: 54389932 - 22497625 ns, nothing of which is a wait.
TEST(Recording, OfOneRankIsAllComputing) {
  const auto steps = profile_steps(only_trace(fixture("one_rank.json")));
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_NEAR(steps[1].length->value(), 31892307e-9, 1e-12);
  EXPECT_NEAR(steps[1].compute.value(), 31892307e-9, 1e-12);
  EXPECT_EQ(steps[1].communication, Seconds(0));
}

TEST(Recording, OfTwoRanksIsMatchedCallByCall) {
  const std::vector<DeviceTrace> traces{read_recording(fixture("watched.0.json")),
                                        read_recording(fixture("watched.1.json"))};
  const MatchedCalls matched = match_calls(traces);
  EXPECT_EQ(matched.calls.size(), 4U);
  EXPECT_EQ(matched.alone, 0U);
}

struct Broken {
  std::string text, what;
  std::size_t line;
};

TEST(Recording, ThatIsBrokenNamesTheLine) {
  const std::vector<Broken> all{
      {with(header, "/1\"", "/2\"") + step + ending, "schema is not paceline.recording/1", 1},
      {with(header, "\"rank\":1", "\"rank\":4") + step + ending, "rank is not below", 1},
      {with(header, "\"elements\":100", "\"elements\":-1") + step + ending, "elements is no", 1},
      {header + with(step, "[[10,30]]", "[[9,30]]") + ending, "forward_ns has a time out", 2},
      {header + with(step, "[[10,30]]", "[[30,10]]") + ending, "an end before its begin", 2},
      {header + with(step, "[2,0]", "[3,0]") + ending, "no number of a parameter", 2},
      {header + with(step, "[2,0]", "[2]") + ending, "not of the same length", 2},
      {header + with(step, "\"model\":0", "\"model\":1") + ending, "model is none of ddp", 2},
      {header + with(step, "\"end_ns\":80", "\"end_ns\":59") + ending, "is before launched_ns", 2},
      {header + step + step + ending, "is before the end of the step before", 3},
      {header + step + "{\"steps\":2}\n", "steps is not the number", 3},
      {header + step + ending + ending, "has more than its last line", 4},
      {header + "[]\n" + ending, "is no line of a recording", 2},
      {header + step, "is cut off", 0}};
  for (const Broken& broken : all) {
    try {
      (void)read_recording(broken.text);
      ADD_FAILURE() << "is read: " << broken.what;
    } catch (const FormatError& error) {
      EXPECT_EQ(error.line(), broken.line) << error.what();
      EXPECT_NE(std::string(error.what()).find(broken.what), std::string::npos) << error.what();
      EXPECT_FALSE(error.hint().empty());
    }
  }
}

TEST(Recording, CutAnywhereIsAnError) {
  std::string text = fixture("watched.0.json");
  text.pop_back();  // its last line ends all the same
  for (std::size_t end = 0; end < text.size(); ++end) {
    EXPECT_THROW((void)read_recording(text.substr(0, end)), FormatError) << end;
  }
}

TEST(Recording, IsToldByItsFirstLine) {
  EXPECT_TRUE(is_recording(header));
  for (const char* text : {"", "{}", "{\"traceEvents\": []}", "\n\"paceline.recording/1\""}) {
    EXPECT_FALSE(is_recording(text)) << text;
  }
}

}  // namespace
}  // namespace paceline::traces
