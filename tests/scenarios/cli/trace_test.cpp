// What --trace writes, and `paceline import` of it.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace trace_test {

using nlohmann::json;

constexpr const char* measured_scenario = R"(schema: paceline/1
name: two ranks
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 2ms, backward: 3ms, parameters: [262144]}
    - {name: b, forward: 1ms, backward: 1ms, parameters: [16384]}
cluster: {nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 50us}}
training: {strategy: wait_free, optimizer: {time: 1ms}}
simulation: {fidelity: folded}
real: {backend: memory, mode: plan, steps: 3, warmup: 2}
)";

TEST(Trace, OfAMeasuredRunIsImportedWithTheSameSpans) {
  const Folder folder;
  folder.write("scenario.yaml", measured_scenario);
  const Ended measured =
      paceline({"measure", "scenario.yaml", "--trace", "step.trace", "--json", "-"}, folder.path());
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const Ended imported =
      paceline({"import", "step.trace", "--json", "-", "-o", "again.trace"}, folder.path());
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(text_of(folder.path() / "again.trace"), text_of(folder.path() / "step.trace"));
  const json run = json::parse(imported.out).at("runs").at(0);
  const json said = json::parse(measured.out).at("points").at(0).at("measured");
  EXPECT_EQ(run.at("origin"), "measured");
  EXPECT_EQ(run.at("ranks"), 2);
  EXPECT_EQ(run.at("batch_per_gpu"), 8);
  EXPECT_EQ(run.at("compute_s"), said.at("compute_s"));
  ASSERT_EQ(run.at("calls").size(), said.at("calls").size());
  for (std::size_t i = 0; i < said.at("calls").size(); ++i) {
    for (const char* key : {"name", "size_bytes", "start_s", "end_s", "skew_s"}) {
      EXPECT_EQ(run.at("calls").at(i).at(key), said.at("calls").at(i).at(key)) << key;
    }
  }
}

TEST(Trace, HoldsEveryPointAndItsSummaryTheirTotals) {
  const Folder folder;
  folder.write("scenario.yaml", changed(small_scenario, "", "sweep: {gpus: [1, 2, 4]}\n"));
  const Ended ended = paceline({"run", "scenario.yaml", "--trace", "-"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  folder.write("step.trace", ended.out);
  const Ended imported = paceline({"import", "step.trace"}, folder.path());
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(imported.out.rfind("3 runs\n", 0), 0U) << imported.out;
  for (const char* words : {"1 GPU", "4 GPUs", "predicted", "collectives of 2 GPUs, predicted"}) {
    EXPECT_NE(imported.out.find(words), std::string::npos) << words << '\n' << imported.out;
  }
  EXPECT_EQ(paceline({"import", "step.trace", "-o", "-"}, folder.path()).out, ended.out);
}

TEST(Trace, StandsBesideAnotherRunInOneTimeline) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  ASSERT_EQ(paceline({"run", "scenario.yaml", "--trace", "step.trace"}, folder.path()).exit_code,
            0);
  const Ended ended = paceline({"run", "scenario.yaml", "--timeline", "-", "--beside", "step.trace",
                                "--beside", "step.trace", "--set", "gpus=[2]"},
                               folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  std::vector<std::string> processes;
  const json timeline = json::parse(ended.out);
  for (const json& event : timeline.at("traceEvents")) {
    if (event.at("name") == "process_name") processes.push_back(event.at("args").at("name"));
  }
  ASSERT_EQ(processes.size(), 2U + 4 + 4);
  EXPECT_EQ(processes[1], "2 GPUs, predicted, rank 1");
  EXPECT_EQ(processes[2], "4 GPUs, predicted, rank 0");
}

TEST(Trace, IsImportedToTheTimelineThatTheRunHad) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  ASSERT_EQ(
      paceline({"run", "scenario.yaml", "--trace", "step.trace", "--timeline", "timeline.json"},
               folder.path())
          .exit_code,
      0);
  const Ended ended = paceline({"import", "step.trace", "--timeline", "-"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, text_of(folder.path() / "timeline.json"));
  expect_refused(paceline({"import", "timeline.json"}, folder.path()),
                 "paceline: timeline.json: is a timeline that paceline wrote for viewers, not a "
                 "profiler's trace; give what --trace wrote beside --timeline\n");
  expect_refused(paceline({"run", "scenario.yaml", "--timeline", "-", "--beside", "timeline.json"},
                          folder.path()),
                 "paceline: timeline.json: is a timeline that paceline wrote for viewers");
  EXPECT_EQ(paceline({"run", "scenario.yaml", "--beside", "step.trace"}, folder.path()).exit_code,
            2);
}

TEST(Trace, ThatIsCutOffIsRefusedWithTheByte) {
  const Folder folder;
  folder.write("cut.trace", R"({"schema":"paceline.trace/2","runs":[)");
  expect_refused(paceline({"import", "cut.trace"}, folder.path()),
                 "paceline: cut.trace: line 1: is not JSON, or cut off, at byte ");
}

}  // namespace trace_test
}  // namespace paceline::test
