#include "scenarios/prepare/overheads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/errors.h"
#include "scenarios/predict/run_scenario.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace overheads_test {

// Two GPUs; what the library is, and one section more, are left open.
constexpr const char* two_layers = R"(schema: paceline/1
name: two layers
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: first, forward: 10ms, backward: 100ms}
    - {name: last, forward: 10ms, backward: 10ms, parameters: [6250000]}
cluster: {nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 1us}}
training: {strategy: bulk_synchronous, optimizer: {time: 0ms}}
gpus: 2
)";

PointOutcome outcome_of(const std::string& more,
                        const std::vector<ScenarioFile::Setting>& settings = {}) {
  const test::Folder folder;
  const auto file = ScenarioFile::read(folder.write("scenario.yaml", two_layers + more), settings);
  return run_scenario(file, {}).front();
}

double step_of(const PointOutcome& outcome) { return outcome.predicted->totals.step.value(); }

// The slower of two ranks takes 1 / sqrt(pi) of a spread more; nothing lies beside the only call.
TEST(Overheads, AStepWaitsForTheSlowestRank) {
  const std::string plan = "collective: {library: plan, algorithm: ring}\n";
  const PointOutcome alike = outcome_of(plan);
  const PointOutcome spread = outcome_of(plan + "ranks: {spread: 10%}\n");
  const double compute = alike.predicted->totals.compute.value();
  EXPECT_NEAR(step_of(spread) - step_of(alike), compute * 0.1 / std::sqrt(std::numbers::pi), 1e-8);
}

TEST(Overheads, AreAssumedOnGpusAlone) {
  const std::string nccl = "collective: {library: nccl}\n";
  const PointOutcome without = outcome_of(nccl + "ranks: {spread: 0}\n");
  const PointOutcome with = outcome_of(nccl);
  const double compute = without.predicted->totals.compute.value();
  EXPECT_NEAR(step_of(with) - step_of(without), compute * gpu_spread / std::sqrt(std::numbers::pi),
              1e-8);
  bool is_said = false;
  for (const std::string& one : with.assumptions) is_said |= one.starts_with("ranks: ");
  EXPECT_TRUE(is_said);
  for (const char* library : {"gloo", "mpi"}) {
    const std::string other = std::string("collective: {library: ") + library + "}\n";
    EXPECT_EQ(step_of(outcome_of(other)), step_of(outcome_of(other + "ranks: {spread: 0}\n")));
    EXPECT_EQ(step_of(outcome_of(other)), step_of(outcome_of(other, {{"contention", "off"}})));
    EXPECT_EQ(step_of(outcome_of(other)), step_of(outcome_of(other, {{"call_contention", "1"}})));
  }
}

// The call begins with the last 10 ms of a backward, in which it does 10 / 1.2.
TEST(Overheads, CallsAreHeldUpOnGpus) {
  const auto step = [](const std::string& contention, const std::string& calls) {
    return step_of(outcome_of("collective: {library: nccl}\nranks: {spread: 0}\n",
                              {{"workload.layers",
                                "[{name: first, forward: 10ms, backward: 10ms}, {name: last, "
                                "forward: 10ms, backward: 10ms, parameters: [6250000]}]"},
                               {"training.strategy", "wait_free"},
                               {"contention", contention},
                               {"call_contention", calls}}));
  };
  EXPECT_NEAR(step("off", "1.2") - step("off", "1"), 0.01 - 0.01 / gpu_call_contention, 1e-8);
  EXPECT_EQ(step("auto", "auto"), step("auto", "1.2"));
  EXPECT_EQ(step("assumed", "auto"), step("assumed", "1.2"));
  for (const char* said : {"off", "1.3"}) EXPECT_EQ(step(said, "auto"), step(said, "1")) << said;
}

// 25 MB take 25 ms and more beside a backward of 100 ms. Two channels hold two of 80
// multiprocessors, 0.025, and 3 x 1 GB/s of 900 GB/s are 0.0033 at most: a 41st of that time is
// lost, 1 - 1 / 1.025.
TEST(Overheads, ContentionIsThatOfGpus) {
  const auto step = [](const char* contention) {
    const std::string more = "collective: {library: nccl}\nranks: {spread: 0}\n";
    return step_of(outcome_of(more, {{"training.strategy", "wait_free"},
                                     {"contention", contention},
                                     {"call_contention", "1"}}));
  };
  EXPECT_EQ(step("auto"), step("assumed"));
  EXPECT_GT(step("auto"), step("1.025"));
  EXPECT_LT(step("auto"), step("1.0284"));
  EXPECT_GT(step("auto"), step("off") + 0.025 / 41);
}

// A cluster's settings and the channels that NCCL has between its GPUs.
double nccl_channels(const std::vector<std::pair<const char*, const char*>>& settings) {
  ScenarioValues values = small_values();
  for (const auto& [path, value] : settings) values.by_path[path] = value;
  return channels_of(scenario_of_options(values, {}));
}

constexpr std::pair<const char*, const char*> of_a100{"cluster.preset", "dgx-a100"};

// Twelve of 20 GB/s share the 240 GB/s of an A100, and six rings the lanes of a DGX-1; NCCL makes
// each of them two.
TEST(Channels, AreTwiceWhatNvlinkCarriesInANode) {
  EXPECT_EQ(nccl_channels({of_a100}), 24);
  EXPECT_EQ(nccl_channels({of_a100, {"gpus", "2"}}), 24);
  EXPECT_EQ(nccl_channels({{"cluster.preset", "dgx1-v100"}}), 12);
}

// 12 GB/s are less than one channel's, and two are the least.
TEST(Channels, AreTwoOnPcie) {
  EXPECT_EQ(nccl_channels({{"cluster.gpus_per_node", "4"},
                           {"cluster.intra_node.kind", "pcie"},
                           {"cluster.intra_node.bandwidth", "12GBps"},
                           {"cluster.intra_node.latency", "2us"}}),
            2);
}

// Two a NIC, eight NICs.
TEST(Channels, AreTwoForEachNicBetweenNodes) {
  EXPECT_EQ(nccl_channels({of_a100, {"gpus", "16"}}), 16);
  EXPECT_EQ(nccl_channels({of_a100, {"gpus", "16"}, {"cluster.network.nics_per_node", "1"}}), 2);
}

// 30 of 20 GB/s, twice, where releases before 2.26 have 32 at most.
TEST(Channels, AreNoMoreThanTheReleaseHas) {
  const std::pair<const char*, const char*> wide{"cluster.intra_node.bandwidth", "600GBps"};
  EXPECT_EQ(nccl_channels({of_a100, wide, {"collective.version", "2.26"}}), 60);
  EXPECT_EQ(nccl_channels({of_a100, wide, {"collective.version", "2.24"}}), 32);
}

TEST(Channels, AreThoseThatTheUserFixed) {
  EXPECT_EQ(nccl_channels({of_a100, {"collective.channels", "4"}}), 4);
  EXPECT_EQ(nccl_channels({of_a100, {"gpus", "16"}, {"collective.channels", "4"}}), 4);
}

// Of the 24 of a node the first, or copies up to the least.
TEST(Channels, AreWithinTheLimitsThatTheUserSets) {
  EXPECT_EQ(nccl_channels({of_a100, {"collective.max_ctas", "4"}}), 4);
  EXPECT_EQ(nccl_channels({of_a100, {"collective.min_ctas", "4"}}), 24);
  EXPECT_EQ(nccl_channels({of_a100, {"collective.min_ctas", "32"}}), 32);
  EXPECT_EQ(nccl_channels({of_a100, {"gpus", "16"}, {"collective.min_ctas", "24"}}), 24);
}

TEST(Channels, AreNcclsAlone) {
  for (const char* library : {"gloo", "mpi", "plan"}) {
    EXPECT_EQ(nccl_channels({of_a100, {"collective.library", library}}), 0) << library;
  }
}

TEST(Channels, AreNoneOnOneGpu) { EXPECT_EQ(nccl_channels({of_a100, {"gpus", "1"}}), 0); }

TEST(Overheads, AOneGpuStepHasNone) {
  const PointOutcome one = outcome_of("collective: {library: nccl}\n", {{"gpus", "1"}});
  EXPECT_NEAR(step_of(one), 0.130, 1e-9);
}

}  // namespace overheads_test
}  // namespace paceline
