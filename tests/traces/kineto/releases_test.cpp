// What the profilers of torch 1.8 to 2.9 tell, each in words of its own. One network in all of
// them: gradients of 2x8, 8x4 and 8 elements, the first in one bucket and the others in another. Of
// two steps the first is only marked.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/traces/kineto/kineto_fixture.h"
#include "traces/learn/step_profile.h"

namespace paceline::traces {
namespace {

using test::kineto_fixture;

std::string cell(const std::string& text) { return " " + (text.empty() ? "-" : text) + " |"; }

std::string listed(const std::vector<std::string>& parts) {
  std::string list;
  for (const std::string& part : parts) list += (list.empty() ? "" : ", ") + part;
  return list;
}

std::string sizes_of_gradients(const DeviceTrace& trace) {
  std::vector<std::string> sizes;
  for (const DeviceTrace::Gradient& gradient : trace.gradients) {
    if (!gradient.parameter) continue;
    sizes.push_back(std::to_string(trace.parameters.at(*gradient.parameter).count.value()));
  }
  return listed(sizes);
}

// From when the work launched before a call was done until its kernel began.
std::string waits_of(const StepProfile& step) {
  std::vector<std::string> waits;
  for (const ProfiledCall& call : step.calls) {
    if (!call.ready || !call.start) continue;
    waits.push_back(std::to_string(std::lround((*call.start - *call.ready).value() * 1e6)));
  }
  return listed(waits);
}

// A row of the table in traces/kineto/README.md, behind what it says of the release.
std::string row_of(const std::string& file) {
  const DeviceTrace trace = read_kineto(kineto_fixture(file));
  const std::vector<StepProfile> steps = profile_steps(trace);
  std::vector<std::string> sizes;
  std::string group;
  for (const TracedCollective& call : trace.collectives) {
    EXPECT_EQ(call.collective, collectives::Collective::all_reduce) << file;
    if (call.count) sizes.push_back(std::to_string(call.count->value()));
    if (call.group_size > 0) group = std::to_string(call.group_size);
  }
  const std::string name = trace.collectives.front().group;
  if (!name.empty()) group += " (name " + name + ")";
  return "| `" + file + "` |" + cell(trace.rank ? std::to_string(trace.rank->value()) : "") +
         cell(std::to_string(steps.size())) + cell(std::to_string(trace.gradients.size())) +
         cell(sizes_of_gradients(trace)) + cell(std::to_string(trace.collectives.size())) +
         cell(listed(sizes)) + cell(group) + cell(waits_of(steps.back()));
}

TEST(KinetoReleases, TellWhatTheReadmeSays) {
  const std::string readme =
      paceline::test::text_of(PACELINE_SOURCE_DIR "/traces/kineto/README.md");
  for (const char* file :
       {"torch_1_8.json", "torch_1_11.json", "torch_2_1.json", "torch_2_4.json"}) {
    EXPECT_NE(readme.find(row_of(file) + "\n"), std::string::npos) << row_of(file);
    EXPECT_EQ(read_kineto(kineto_fixture(file)).skipped, 0U) << file;
  }
}

// The one with hooks is when the gradient is ready and copied; what lies inside it has the tensor.
TEST(KinetoReleases, AGradientIsOneEventOrOneInsideAnother) {
  for (const char* file : {"torch_1_8.json", "torch_2_4.json"}) {
    const DeviceTrace trace = read_kineto(kineto_fixture(file));
    ASSERT_EQ(trace.gradients.size(), 3U) << file;
    EXPECT_EQ(trace.gradients[0].ready, 600'000) << file;
    EXPECT_EQ(trace.gradients[0].copied, 610'000) << file;
    ASSERT_EQ(trace.parameters.size(), 3U) << file;
    EXPECT_EQ(trace.parameters[1].element_size, ElementSize(4)) << file;
  }
}

std::string accumulation(const std::string& prefix, int thread, int start, int length,
                         const std::string& arguments) {
  return R"({"ph": "X", "cat": "cpu_op", "name": ")" + prefix +
         R"(torch::autograd::AccumulateGrad", "tid": )" + std::to_string(thread) + R"(, "ts": )" +
         std::to_string(start) + R"(, "dur": )" + std::to_string(length) + R"(, "args": {)" +
         arguments + "}}";
}

const std::string hooks = "autograd::engine::evaluate_function: ",
                  eight = R"("Input Dims": [[8]], "Input type": ["float"])",
                  undefined = R"("Input Dims": [[]], "Input type": [""])";

// Whole microseconds: the second event begins when the first one, around another, has ended.
TEST(KinetoReleases, EventsOfOtherThreadsOrAfterwardsAreGradientsOfTheirOwn) {
  const DeviceTrace trace = read_kineto(
      R"({"traceEvents": [)" + accumulation("", 1, 10, 0, eight) + "," +
      accumulation(hooks, 1, 10, 5, "") + "," + accumulation(hooks, 1, 15, 5, "") + "," +
      accumulation("", 1, 15, 5, eight) + "," + accumulation("", 2, 16, 1, eight) + "," +
      accumulation("", 1, 30, 1, eight) + "]}");
  std::vector<TraceTime> ready;
  for (const auto& gradient : trace.gradients) ready.push_back(gradient.ready);
  EXPECT_EQ(ready, (std::vector<TraceTime>{0, 5000, 6000, 20'000}));
  EXPECT_EQ(sizes_of_gradients(trace), "8, 8, 8, 8");
}

TEST(KinetoReleases, WithoutTheSizeOfOneGradientTellThoseOfNone) {
  const DeviceTrace trace = read_kineto(R"({"traceEvents": [)" + accumulation("", 1, 10, 1, eight) +
                                        "," + accumulation("", 1, 20, 1, undefined) + "]}");
  EXPECT_EQ(trace.gradients.size(), 2U);
  EXPECT_EQ(sizes_of_gradients(trace), "");
  EXPECT_TRUE(trace.parameters.empty());
}

// gpu_user_annotation is where the kernels ran, whatever the range is named.
TEST(KinetoReleases, StepsAreRangesOfTheHostInAnyCategory) {
  std::string events;
  for (const char* category : {"Operator", "cpu_op", "user_annotation", "python_function",
                               "gpu_user_annotation", "User"}) {
    events += (events.empty() ? "" : ",") + std::string(R"({"ph": "X", "cat": ")") + category +
              R"(", "name": "ProfilerStep#1", "tid": 1, "ts": 1, "dur": 1})";
  }
  EXPECT_EQ(read_kineto(R"({"traceEvents": [)" + events + "]}").ranges.size(), 4U);
}

}  // namespace
}  // namespace paceline::traces
