// Terms of a step: that they add up to it, and what they are.

#include "scenarios/outcome/step_terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "scenarios/outcome/losses.h"
#include "scenarios/predict/run_scenario.h"
#include "scenarios/prepare/resolve.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
using Settings = std::vector<ScenarioFile::Setting>;
using test::changed;
using test::small_scenario;

struct Told {
  PointOutcome outcome;
  StepTerms terms;

  [[nodiscard]] double time_of(TermKind part) const {
    double sum = 0;
    for (const StepTerm& term : terms.terms) {
      if (term.part == part) sum += term.time.value();
    }
    return sum;
  }
  [[nodiscard]] bool has(TermKind part) const {
    return std::ranges::find(terms.terms, part, &StepTerm::part) != terms.terms.end();
  }
};

Told told(const std::string& path, const Settings& settings) {
  RunOptions options;
  options.keep_traces = true;
  Attempt made = attempt([&] { return ScenarioFile::read(path, settings); }, options);
  if (!made.outcome) throw std::runtime_error(path + " is refused: " + made.refusal);
  Told all{std::move(*made.outcome), {}};
  const Timeline timeline = timeline_of(
      all.outcome.predicted->trace, job_cluster(all.outcome.predicted->alone->point).gpus_per_node);
  all.terms = terms_of(all.outcome, timeline);
  return all;
}

Told told_of(const std::string& text, const Settings& settings = {}) {
  const test::Folder folder;
  return told(folder.write("scenario.yaml", text), settings);
}

// With the totals of the step, where these have the same: what a rank waits for others counts as
// communication there.
void expect_whole(const Told& told, const std::string& what) {
  const StepTotals& totals = told.outcome.predicted->totals;
  const double within = 1e-9 * totals.step.value();
  double sum = 0;
  for (const StepTerm& term : told.terms.terms) sum += term.time.value();
  EXPECT_NEAR(sum, totals.step.value(), within) << what;
  EXPECT_NEAR(told.terms.compute.believed.value(), totals.compute.value(), within) << what;
  EXPECT_NEAR(told.time_of(TermKind::exposed_call) + told.time_of(TermKind::others) +
                  told.time_of(TermKind::engine_copies) + told.time_of(TermKind::engine_waits),
              totals.exposed_communication.value(), within)
      << what;
  if (told.outcome.gpus == 1) return;
  const Seconds beyond_one = totals.step - told.outcome.one_gpu_step;
  EXPECT_NEAR(losses_of(told.outcome).all().value(), beyond_one.value(), within) << what;
}

TEST(StepTerms, AddUpToTheStepOfTheLastPointOfEveryShippedScenario) {
  const fs::path library = fs::path(PACELINE_SOURCE_DIR) / "scenarios/library";
  std::size_t scenarios = 0;
  for (const auto& entry : fs::directory_iterator(library)) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string path = entry.path().string();
    const ScenarioFile file = ScenarioFile::read(path, {});
    Settings point;
    for (const AxisValue& axis : file.axes_of(file.point_count() - 1)) {
      point.push_back({axis.path, axis.text});
    }
    expect_whole(told(path, point), path);
    ++scenarios;
  }
  EXPECT_GE(scenarios, 80U);
}

// Two nodes of one GPU.
const std::string pair_of_nodes =
    changed(changed(small_scenario, "gpus_per_node: 2", "gpus_per_node: 1"),
            "  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}\n", "");

// 6 ms of layers, 1 ms of optimizer, six copies of 5 us, and one all-reduce of 16080 bytes that
// nothing hides: two rounds of half of them at 1.25 GB/s and 5 us each.
TEST(StepTerms, OfAPairOfNodesAreItsLayersCopiesOptimizerAndCall) {
  const Told pair = told_of(pair_of_nodes);
  ASSERT_EQ(pair.terms.terms.size(), 4U);
  EXPECT_NEAR(pair.time_of(TermKind::passes), 6e-3, 1e-12);
  EXPECT_NEAR(pair.terms.compute.forward.value(), 2e-3, 1e-12);
  EXPECT_NEAR(pair.terms.compute.backward.value(), 4e-3, 1e-12);
  EXPECT_NEAR(pair.time_of(TermKind::optimizer), 1e-3, 1e-12);
  EXPECT_NEAR(pair.time_of(TermKind::copies), 30e-6, 1e-12);
  EXPECT_NEAR(pair.time_of(TermKind::exposed_call), 2 * (6.432e-6 + 5e-6), 1e-12);
  expect_whole(pair, "two nodes");
}

// Rank 1 computes 1.5 times as long: half of 7.03 ms more. It ends last, as its optimizer does.
TEST(StepTerms, SayWhatTheSlowestRankAdds) {
  const Told slow = told_of(pair_of_nodes + "ranks: {slowdown: {1: 1.5}}\n");
  EXPECT_EQ(slow.terms.rank, Rank(1));
  EXPECT_NEAR(slow.time_of(TermKind::passes), 6e-3, 1e-12);
  EXPECT_NEAR(slow.time_of(TermKind::slowest_rank), 3.515e-3, 1e-12);
  EXPECT_FALSE(slow.has(TermKind::others));
  expect_whole(slow, "a slow rank");
}

// 1 MB/s leaves the backward of one layer beside the other's call, which slows it to 1.5 times:
// compute is longer than described, and only that.
TEST(StepTerms, SayWhatContentionAdds) {
  const std::string beside =
      changed(changed(pair_of_nodes, "bulk_synchronous", "wait_free"), "10Gbps", "10MBps");
  const Told alone = told_of(beside + "contention: off\n");
  const Told slowed = told_of(beside + "contention: 1.5\n");
  EXPECT_FALSE(alone.has(TermKind::contention));
  EXPECT_GT(slowed.time_of(TermKind::contention), 1e-4);
  EXPECT_NEAR(slowed.time_of(TermKind::passes), alone.time_of(TermKind::passes), 1e-12);
  expect_whole(slowed, "contention");
}

// Of 10.568 ms rank 1 adds 3.515 to the 7 of one GPU, 99 % of what is lost; copies and the call
// less than a hundredth each.
TEST(Losses, AreSaidWithTheirShares) {
  const std::string slow = pair_of_nodes + "ranks: {slowdown: {1: 1.5}}\n";
  EXPECT_EQ(losses_in_words(told_of(slow).outcome),
            "2 GPUs reach 1.32x one; of the 0.675x lost: 99 % stragglers");
}

TEST(Losses, NameTheLongestCall) {
  const std::string slow_link = changed(pair_of_nodes, "10Gbps", "10MBps");
  const std::string words = losses_in_words(told_of(slow_link).outcome);
  EXPECT_NE(words.find("% exposed communication (all gradients, "), words.npos) << words;
}

TEST(StepTerms, OfOneGpuAreItsCompute) {
  const std::string one = changed(pair_of_nodes, "nodes: 2", "nodes: 1");
  const Told alone = told_of(one);
  EXPECT_FALSE(alone.has(TermKind::exposed_call));
  EXPECT_NEAR(alone.time_of(TermKind::passes) + alone.time_of(TermKind::optimizer), 7e-3, 1e-12);
  EXPECT_EQ(alone.terms.hidden_calls, 0U);
  expect_whole(alone, "one GPU");
}

TEST(StepTerms, AddUpForEveryStrategyThatHasAnEngineOrGroups) {
  for (const char* strategy : {"horovod", "fsdp", "ddp", "apex_ddp", "parameter_server"}) {
    const Told made = told_of(changed(small_scenario, "bulk_synchronous", strategy));
    expect_whole(made, strategy);
  }
  EXPECT_TRUE(
      told_of(changed(small_scenario, "bulk_synchronous", "horovod")).has(TermKind::engine_waits));
}

// A launch of 3 ms before each layer's forward and backward, and the optimizer: 8 ms with nothing
// beside them, and 3 ms less the 15 us of copies that hide the optimizer's.
TEST(StepTerms, SayWhatLaunchesAddThatNothingHides) {
  const std::string host = ", host: {per_operation: 3ms, computes: false}, optimizer";
  const Told late = told_of(changed(pair_of_nodes, ", optimizer", host));
  EXPECT_NEAR(late.time_of(TermKind::host), 10.985e-3, 1e-12);
  EXPECT_NEAR(late.terms.launches.value(), 15e-3, 1e-12);
  expect_whole(late, "launches");
}

}  // namespace
}  // namespace paceline
