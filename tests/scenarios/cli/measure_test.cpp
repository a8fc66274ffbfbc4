// Measuring through the built programs: on threads, and on processes where Gloo was built.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace measure_test {

using nlohmann::json;

// Two ranks; a step computes for 20 ms and reduces 1 MiB and 64 KiB.
constexpr const char* two_ranks = R"(schema: paceline/1
name: two ranks
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 5ms, backward: 10ms, parameters: [262144]}
    - {name: b, forward: 2ms, backward: 2ms, parameters: [16384]}
cluster: {nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 50us}}
training: {strategy: wait_free, optimizer: {time: 1ms}}
simulation: {fidelity: folded}
sweep: {gpus: [1, 2]}
real: {backend: memory, mode: plan, steps: 5, warmup: 2}
)";

bool has_gloo() {
  const Folder folder;
  const Ended ended = paceline({"doctor", "--json", "-"}, folder.path());
  const json machine = json::parse(ended.out);
  for (const json& backend : machine.at("backends")) {
    if (backend.at("name") == "gloo") return backend.at("missing") == "";
  }
  return false;
}

void expect_measured(const json& point, const char* backend, const char* mode) {
  const json& measured = point.at("measured");
  EXPECT_EQ(measured.at("backend"), backend);
  EXPECT_EQ(measured.at("mode"), mode);
  EXPECT_EQ(measured.at("samples").size(), 5U);
  EXPECT_GE(measured.at("step_s"), 0.02);  // nothing is shorter than its compute
  EXPECT_GE(measured.at("compute_s"), 0.02);
  EXPECT_GE(measured.at("mad_s"), 0);
  EXPECT_EQ(measured.at("calls").size(), point.at("gpus") == 1 ? 0U : 2U);
}

json json_of(const std::vector<std::string>& arguments) {
  const Folder folder;
  folder.write("scenario.yaml", two_ranks);
  auto all = arguments;
  all.insert(all.end(), {"--json", "-"});
  const Ended ended = paceline(all, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return json::parse(ended.out);
}

void expect_both_sides(const json& result, const char* backend, const char* mode) {
  ASSERT_EQ(result.at("points").size(), 2U);
  for (const json& point : result.at("points")) {
    expect_measured(point, backend, mode);
    EXPECT_GE(point.at("predicted").at("step_s"), 0.02);
    EXPECT_EQ(point.at("predicted").at("calls").size(), point.at("measured").at("calls").size());
    EXPECT_TRUE(point.at("error_percent").is_number());
    EXPECT_FALSE(point.contains("failure"));
  }
  EXPECT_TRUE(result.at("points").at(1).at("measured").at("speedup").is_number());
}

TEST(RunMeasure, LaysPlansOnThreadsBesideTheirPrediction) {
  expect_both_sides(json_of({"run", "scenario.yaml", "--measure"}), "memory", "plan");
}

TEST(RunMeasure, LaysGloosOwnCallsBesideTheirPrediction) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo";
  expect_both_sides(json_of({"run", "scenario.yaml", "--measure", "--set", "real.backend=gloo",
                             "--set", "real.mode=native"}),
                    "gloo", "native");
}

TEST(Measure, PredictsNothing) {
  const json result = json_of({"measure", "scenario.yaml"});
  for (const json& point : result.at("points")) {
    expect_measured(point, "memory", "plan");
    EXPECT_TRUE(point.at("predicted").is_null());
    EXPECT_TRUE(point.at("error_percent").is_null());
    EXPECT_FALSE(point.contains("failure"));
    EXPECT_EQ(point.at("fidelity"), "measured");
  }
}

// What switches add no backend's messages can; what else a plan takes is carried out.
TEST(Measure, RefusesPlansThatSwitchesSum) {
  const Folder folder;
  folder.write("scenario.yaml", two_ranks);
  const auto refused = [&](std::vector<std::string> settings) {
    std::vector<std::string> all{"measure", "scenario.yaml"};
    settings.insert(settings.end(), {"gpus=[4]", "cluster.gpus_per_node=4",
                                     "cluster.intra_node={kind: nvswitch, bandwidth: 100GBps}"});
    for (const std::string& setting : settings) all.insert(all.end(), {"--set", setting});
    const Ended ended = paceline(all, folder.path());
    EXPECT_EQ(ended.exit_code, 2);
    return ended.err;
  };
  const std::string what =
      ": switches make the sums of some plans, which only NCCL itself can have them do; ";
  EXPECT_EQ(refused({"collective.algorithm=nvls"}),
            "paceline: collective.algorithm" + what + "name another, or set real.mode: native\n");
  const std::vector<std::string> of_nccl{"collective.library=nccl",
                                         "workload.device=h100-sxm5-80gb",
                                         "workload.layers=[{name: a, forward: 1ms, backward: 1ms, "
                                         "parameters: [100000000]}]"};
  EXPECT_EQ(refused(of_nccl),
            "paceline: collective.nvls" + what + "set it to false, or real.mode: native\n");
  auto named = of_nccl;
  named.emplace_back("collective.algorithm=nvls");
  EXPECT_EQ(refused(named),
            "paceline: collective.algorithm" + what + "name another, or set real.mode: native\n");
}

TEST(Measure, HasShortFormsOfSettings) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo";
  const json result = json_of({"measure", "scenario.yaml", "--backend", "gloo", "--mode", "native",
                               "--steps", "5", "--warmup", "3", "--set", "gpus=[2]"});
  ASSERT_EQ(result.at("points").size(), 1U);
  expect_measured(result.at("points").at(0), "gloo", "native");
  const json settings = json::parse(
      R"(["gpus=[2]", "real.backend=gloo", "real.mode=native", "real.steps=5", "real.warmup=3"])");
  EXPECT_EQ(result.at("context").at("settings"), settings);
}

// As the loader says it where memory is short: nothing that the user gave is wrong.
TEST(Measure, BlamesTheMachineForAWorkerThatCannotBegin) {
  const Folder folder;
  std::filesystem::copy_file(PACELINE_BINARY, folder.path() / "paceline");
  const std::string worker =
      folder.write("paceline-worker",
                   "#!/bin/sh\necho 'error while loading shared libraries: x.so' >&2; exit 127\n");
  std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
  folder.write("scenario.yaml", two_ranks);
  const Ended ended = run_program(
      {(folder.path() / "paceline").string(), "measure", "scenario.yaml"}, folder.path());
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.err, "paceline: paceline-worker: error while loading shared libraries: x.so\n");
}

TEST(Measure, WritesATableACsvAndATimeline) {
  const Folder folder;
  folder.write("scenario.yaml", two_ranks);
  const Ended ended = paceline(
      {"measure", "scenario.yaml", "--csv", "a.csv", "--timeline", "t.json"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* word : {"step", "MAD", "exposed comm", "CPUs busy", "measured/s", "speedup",
                           "measured: here, backend memory, collectives plan"}) {
    EXPECT_NE(ended.out.find(word), std::string::npos) << word << '\n' << ended.out;
  }
  EXPECT_EQ(ended.out.find("predicted"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("failed"), std::string::npos) << ended.out;
  EXPECT_NE(text_of(folder.path() / "a.csv").find(",measured_step_s,mad_s,"), std::string::npos);
  EXPECT_TRUE(json::accept(text_of(folder.path() / "t.json")));
}

}  // namespace measure_test
}  // namespace paceline::test
