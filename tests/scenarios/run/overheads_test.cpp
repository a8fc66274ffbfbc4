#include "scenarios/run/overheads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "scenarios/errors.h"
#include "scenarios/run/run_scenario.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

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
  }
}

// 25 MB take 25 ms and more beside a backward of 100 ms: a fifth of that time is lost.
TEST(Overheads, ContentionIsThatOfGpus) {
  const std::string more = "collective: {library: nccl}\nranks: {spread: 0}\n";
  const std::vector<ScenarioFile::Setting> overlapped = {{"training.strategy", "wait_free"}};
  std::vector<ScenarioFile::Setting> alone = overlapped, given = overlapped;
  alone.push_back({"contention", "off"});
  given.push_back({"contention", "1.25"});
  EXPECT_EQ(step_of(outcome_of(more, overlapped)), step_of(outcome_of(more, given)));
  EXPECT_GT(step_of(outcome_of(more, overlapped)), step_of(outcome_of(more, alone)) + 0.2 * 0.025);
}

TEST(Overheads, AOneGpuStepHasNone) {
  const PointOutcome one = outcome_of("collective: {library: nccl}\n", {{"gpus", "1"}});
  EXPECT_NEAR(step_of(one), 0.130, 1e-9);
}

}  // namespace
}  // namespace paceline
