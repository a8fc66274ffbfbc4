#include "scenarios/predict/run_scenario.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/judge/left_out.h"
#include "scenarios/report/report.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace run_scenario_test {

using test::changed;
using test::small_scenario;
using Settings = std::vector<ScenarioFile::Setting>;

ScenarioFile read(const std::string& text, const Settings& settings) {
  const test::Folder folder;
  return ScenarioFile::read(folder.write("scenario.yaml", text), settings);
}

std::vector<PointOutcome> outcomes_of(const std::string& text, const Settings& settings) {
  RunOptions options;
  options.jobs = 2;
  auto outcomes = run_scenario(read(text, settings), options);
  for (const PointOutcome& outcome : outcomes) {
    if (!outcome.predicted) throw std::runtime_error(outcome.failure->why);
  }
  return outcomes;
}

StepTotals totals_of(const Settings& settings) {
  return outcomes_of(std::string(small_scenario), settings).front().predicted->totals;
}

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

const Settings by_flow{{"simulation.fidelity", "flow"}};

void expect_equal(const StepTotals& a, const StepTotals& b, double relative) {
  const double tolerance = relative * a.step.value();
  EXPECT_NEAR(a.step.value(), b.step.value(), tolerance);
  EXPECT_NEAR(a.compute.value(), b.compute.value(), tolerance);
  EXPECT_NEAR(a.communication.value(), b.communication.value(), tolerance);
  EXPECT_NEAR(a.exposed_communication.value(), b.exposed_communication.value(), tolerance);
}

// Two nodes of two GPUs: each link carries one flow a direction, and 4,020 elements are cut evenly
// in four. There the formulas are exact.
TEST(ClosedForm, EqualsTheSimulationWhereNoLinkIsShared) {
  for (const char* strategy : {"bulk_synchronous", "wait_free", "ddp"}) {
    for (const char* gpus : {"1", "2", "4"}) {
      SCOPED_TRACE(std::string(strategy) + " on " + gpus);
      const Settings settings{{"training.strategy", strategy}, {"gpus", gpus}};
      expect_equal(totals_of(settings), totals_of(with(settings, by_flow)), 1e-9);
    }
  }
}

// One GPU a node on eight ranks: one flow a NIC and direction at a time.
TEST(ClosedForm, EqualsTheSimulationOfOtherAlgorithms) {
  for (const char* algorithm :
       {"ring", "halving_doubling", "recursive_doubling", "binomial_tree", "hierarchical"}) {
    SCOPED_TRACE(algorithm);
    const Settings settings{{"cluster.nodes", "8"},
                            {"cluster.gpus_per_node", "1"},
                            {"collective.algorithm", algorithm}};
    expect_equal(totals_of(settings), totals_of(with(settings, by_flow)), 1e-9);
  }
}

// 2(p-1) rounds of a ring of 4 ranks; a round takes the latency 5 us of the network hops plus 1,005
// elements of 4 bytes over 1.25 GB/s = 3.216 us. The all-reduce: 6 x 8.216 = 49.296 us. Before it
// the passes take 6 ms and three gradient tensors are copied into the flat buffer, at the 5 us of a
// small kernel each; after it they are copied back, and the optimizer takes 1 ms.
TEST(Step, IsThatOfTheHandDerivation) {
  const double all_reduce = 6 * (5e-6 + 1005 * 4 / 1.25e9);
  const auto totals = totals_of(by_flow);
  EXPECT_NEAR(totals.communication.value(), all_reduce, 1e-12);
  EXPECT_NEAR(totals.exposed_communication.value(), all_reduce, 1e-12);
  EXPECT_NEAR(totals.compute.value(), 6e-3 + 3 * 5e-6 + 3 * 5e-6 + 1e-3, 1e-12);
  EXPECT_NEAR(totals.step.value(), 7.030e-3 + all_reduce, 1e-12);
}

// A node's two GPUs take 16 samples a step, which its CPUs get ready beside it: in 16 ms, longer
// than the step and no less sure, or in 1.6 ms, which it hides.
TEST(Step, WaitsForWhatANodeGetsReady) {
  for (const Settings& fidelity : {Settings{}, by_flow}) {
    const Settings slow = with(fidelity, {{"workload.input_rate", "1000 samples/s"}});
    const auto outcome = outcomes_of(std::string(small_scenario), slow).front();
    EXPECT_NEAR(outcome.predicted->totals.step.value(), 16e-3, 1e-12);
    EXPECT_NEAR(outcome.predicted->interval.low.value(), 16e-3, 1e-12);
    EXPECT_EQ(outcome.losses->parts.front().kind, LossKind::input);
    expect_equal(totals_of(with(fidelity, {{"workload.input_rate", "10000 samples/s"}})),
                 totals_of(fidelity), 1e-12);
  }
}

// Rank 3 computes 1.5 times as long: 1.5 x 7.030 ms in all, and its part of the all-reduce starts
// when it is ready. What the others did before that can only have shortened the 49.296 us.
TEST(Slowdown, OfOneRankMakesTheStepLonger) {
  for (const Settings& fidelity : {Settings{}, by_flow}) {
    const double fast = totals_of(fidelity).step.value();
    const double slow = totals_of(with(fidelity, {{"ranks.slowdown", "{3: 1.5}"}})).step.value();
    EXPECT_GT(slow, fast);
    EXPECT_GT(slow, 1.5 * 7.030e-3);
    EXPECT_LE(slow, 1.5 * 7.030e-3 + 49.296e-6 + 1e-9);
  }
}

TEST(Slowdown, OfARankThatIsNotThereIsSaidAndHasNoEffect) {
  const auto outcome =
      outcomes_of(std::string(small_scenario), {{"ranks.slowdown", "{9: 1.5}"}}).front();
  EXPECT_EQ(outcome.predicted->totals.step, totals_of({}).step);
  EXPECT_EQ(outcome.assumptions.back(),
            "ranks: this point does not contain rank 9, so its slowdown has no effect here");
}

TEST(Jitter, IsTheSameForTheSameSeedAndAnotherForAnother) {
  const Settings jitter{{"ranks.jitter", "10%"}};
  const auto of_seed = [&](const char* seed) {
    return totals_of(with(jitter, {{"simulation.seed", seed}})).step.value();
  };
  std::set<double> steps;
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    EXPECT_EQ(of_seed(seed), of_seed(seed));
    steps.insert(of_seed(seed));
    EXPECT_NE(of_seed(seed), totals_of({}).step.value());
  }
  EXPECT_EQ(steps.size(), 5U);
  EXPECT_EQ(totals_of(with(jitter, by_flow)).step, totals_of(with(jitter, by_flow)).step);
}

// A rank is slower or faster by at most the jitter, and the slowest one ends the step.
TEST(Jitter, StaysWithinItsBounds) {
  for (const char* seed : {"1", "7", "99"}) {
    const double step =
        totals_of({{"ranks.jitter", "10%"}, {"simulation.seed", seed}}).step.value();
    EXPECT_GE(step, 0.9 * 7.030e-3);
    EXPECT_LE(step, 1.1 * 7.030e-3 + 49.296e-6 + 1e-9);
  }
}

TEST(Jitter, OfZeroChangesNothing) {
  EXPECT_EQ(totals_of({{"ranks.jitter", "0%"}}).step, totals_of({}).step);
}

// The measurement is an input: on one GPU the prediction gives it back.
TEST(SingleGpuThroughput, ReproducesItselfOnOneGpu) {
  for (const char* throughput : {"119.6 samples/s", "1000 samples/s", "0.001 samples/s"}) {
    for (const char* passes : {"1", "3"}) {
      const auto outcome =
          outcomes_of(std::string(small_scenario), {{"workload.single_gpu_throughput", throughput},
                                                    {"training.gradient_accumulation", passes},
                                                    {"gpus", "1"}})
              .front();
      const double expected = std::stod(throughput);
      EXPECT_NEAR(outcome.predicted_throughput().value(), expected, expected * 1e-12);
      EXPECT_NEAR(outcome.predicted_speedup(), 1, 1e-12);
    }
  }
}

// A network whose step was not measured is marked as such, unless a
// measurement scales it or the layers' times are given.
TEST(Compute, IsSaidToBeAssumedWhereItIs) {
  const auto modelled =
      changed(small_scenario,
              "  layers:\n    - {name: a, forward: 1ms, backward: 2ms, parameters: [1000, 20]}\n"
              "    - {name: b, forward: 1ms, backward: 2ms, parameters: [3000]}\n",
              "  model: resnet18\n");
  const auto says = [](const std::string& text, const Settings& settings) {
    const auto outcomes = outcomes_of(text, settings);
    std::string compute;
    for (const std::string& assumption : outcomes.front().assumptions) {
      if (assumption.rfind("compute: ", 0) == 0) compute += assumption;
    }
    return compute;
  };
  const Settings h100{{"workload.device", "h100-sxm5-80gb"}, {"workload.precision", "amp"}};
  const auto begins = [](const std::string& text, std::string_view words) {
    return text.substr(0, words.size()) == words;
  };
  EXPECT_TRUE(begins(says(modelled, h100), "compute: the speed of resnet18 on h100-sxm5-80gb is "));
  EXPECT_EQ(says(modelled, with(h100, {{"workload.single_gpu_throughput", "900 samples/s"}})),
            "compute: scaled to 900 samples/s on one GPU");
  EXPECT_TRUE(begins(says(modelled, {}), "compute: the speed of resnet18 on v100-sxm2-16gb is "));
  EXPECT_EQ(says(std::string(small_scenario), {}), "");
}

TEST(SingleGpuThroughput, ReproducesItselfInEveryShippedScenario) {
  const auto folder = std::filesystem::path(PACELINE_SOURCE_DIR) / "scenarios/library";
  int scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto as_shipped = ScenarioFile::read(entry.path(), {}).axes();
    const bool has_nodes = std::ranges::any_of(
        as_shipped, [](const ScenarioFile::Axis& axis) { return axis.path == "cluster.nodes"; });
    const Settings one_node{{"sweep.cluster.nodes", "[1]"}, {"sweep.cluster.gpus_per_node", "[1]"}};
    const auto file =
        ScenarioFile::read(entry.path(), has_nodes ? one_node : Settings{{"gpus", "[1]"}});
    RunOptions options;
    const auto outcomes = run_scenario(file, options);
    for (const PointOutcome& outcome : outcomes) {
      if (!outcome.measured) continue;
      SCOPED_TRACE(entry.path());
      ++scenarios;
      EXPECT_NEAR(*outcome.error_percent(), 0, 0.05);  // their throughputs have four digits
    }
  }
  EXPECT_GT(scenarios, 0);
}

// Throughput = samples a step / step; speedup = throughput over that of the plain model on one GPU:
// 6 ms of passes and 1 ms of optimizer, without the wrapper's copies of three tensors in and out,
// 5 us each.
TEST(Speedup, IsOverThePlainModelOnOneGpu) {
  const auto outcome = outcomes_of(std::string(small_scenario), {}).front();
  const double step = 7.030e-3 + 49.296e-6;
  EXPECT_NEAR(outcome.predicted_throughput().value(), 4 * 8 / step, 1e-6);
  EXPECT_NEAR(outcome.predicted_speedup(), 4 * 7e-3 / step, 1e-9);
}

constexpr const char* two_measured =
    "sweep: {gpus: [1, 2, 4]}\n"
    "measured:\n"
    "  source: a test\n"
    "  points:\n"
    "    - {gpus: 1, throughput: 1000 samples/s}\n"
    "    - {gpus: 2, throughput: 2000 samples/s, known: true}\n"
    "    - {gpus: 4, throughput: 4000 samples/s}\n";

// One-GPU rows are inputs and known rows are evidence: one row is left, that of four GPUs.
TEST(KnownPoints, AreShownButCountInNoMean) {
  const auto text = changed(small_scenario, "", two_measured);
  const auto outcomes = outcomes_of(text, {});
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_FALSE(outcomes[0].counts());
  EXPECT_FALSE(outcomes[1].counts());
  EXPECT_TRUE(outcomes[2].counts());
  for (const PointOutcome& outcome : outcomes) EXPECT_TRUE(outcome.error_percent());
  const auto rows = validation_rows("s", "", outcomes);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().point, "gpus=4");
  EXPECT_EQ(summarise(rows, false).predicted.mean_absolute, std::abs(*outcomes[2].error_percent()));
  std::ostringstream table;
  write_table(table, read(text, {}), outcomes);
  EXPECT_NE(table.str().find("error of throughput over 1 predicted point: mean"), std::string::npos)
      << table.str();
  EXPECT_NE(table.str().find("% known"), std::string::npos) << table.str();
}

// 100 x (predicted - measured) / measured of throughput.
TEST(Error, IsOfThroughput) {
  const auto nothing_known = changed(two_measured, ", known: true", "");
  const auto outcomes = outcomes_of(changed(small_scenario, "", nothing_known), {});
  const double predicted = 4 * 8 / (7.030e-3 + 49.296e-6);
  EXPECT_NEAR(*outcomes[2].error_percent(), 100 * (predicted - 4000) / 4000, 1e-6);
  EXPECT_EQ(outcomes[2].measured_speedup(), 4.0);  // 4,000 over 1,000
}

// Without a measured one-GPU point there is no measured speedup.
TEST(Error, NeedsAMeasuredOneGpuPointForTheSpeedup) {
  const auto outcomes =
      outcomes_of(changed(small_scenario, "", two_measured), {{"gpus", "[2, 4]"}});
  EXPECT_FALSE(outcomes[1].measured_speedup());
  EXPECT_TRUE(outcomes[1].error_percent());
}

// The null models of `validate` on the four-GPU row: four times the measured one-GPU throughput,
// and the one-GPU step of 7 ms with all communication after it.
TEST(Validation, ComparesWithTheNullModels) {
  const auto rows =
      validation_rows("s", "", outcomes_of(changed(small_scenario, "", two_measured), {}));
  EXPECT_NEAR(rows.front().perfect_scaling_percent, 0, 1e-9);
  const double serial = 4 * 8 / (7e-3 + 49.296e-6);
  EXPECT_NEAR(rows.front().no_overlap_percent, 100 * (serial - 4000) / 4000, 1e-6);
  EXPECT_FALSE(rows.front().in_headline);
}

// A ring all-reduce of four ranks: 2 x 3 rounds of 4 transfers.
TEST(Transfers, AreThoseOfThePlan) {
  for (const Settings& fidelity : {Settings{}, by_flow}) {
    EXPECT_EQ(outcomes_of(std::string(small_scenario), fidelity).front().predicted->transfers, 24U);
  }
}

TEST(Transfers, AboveTheLimitAreRefusedUnlessForced) {
  const auto file = read(changed(small_scenario, "  nodes: 2", "  nodes: 4000"), by_flow);
  EXPECT_THROW((void)run_scenario(file, {}), InputError);
}

TEST(Outcomes, ComeInTheOrderOfTheGridWhateverTheJobs) {
  const auto text = changed(small_scenario, "",
                            "sweep: {gpus: [4, 1, 2], cluster.network.latency: [5us, 1ms]}\n");
  const auto file = read(text, by_flow);
  RunOptions one, three;
  three.jobs = 3;
  const auto a = run_scenario(file, one), b = run_scenario(file, three);
  ASSERT_EQ(a.size(), 6U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].gpus, b[i].gpus);
    EXPECT_EQ(a[i].predicted->totals.step, b[i].predicted->totals.step);
  }
  EXPECT_EQ(a[0].gpus, 4U);
  EXPECT_EQ(a[2].gpus, 1U);
  EXPECT_EQ(a[5].gpus, 2U);
}

TEST(Progress, CountsEveryPointOnce) {
  const auto file = read(changed(small_scenario, "", "sweep: {gpus: [4, 1, 2]}\n"), by_flow);
  std::vector<std::size_t> seen;
  RunOptions options;
  options.jobs = 2;
  std::set<std::string> under_way;
  bool is_over = false;
  options.progress = [&](const Progress& now) {
    EXPECT_FALSE(is_over);
    is_over = now.is_over;
    if (is_over) return;
    EXPECT_EQ(now.all, 3U);
    if (now.doing.empty()) {
      seen.push_back(now.done);
    } else {
      under_way.insert(now.doing);
    }
  };
  (void)run_scenario(file, options);
  EXPECT_EQ(seen, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_FALSE(under_way.empty());
  EXPECT_TRUE(is_over);
}

constexpr std::string_view engine_scenario =
    R"(schema: paceline/1
name: an engine
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 1ms, backward: 1ms, parameters: [500000]}
    - {name: b, forward: 4ms, backward: 6ms, parameters: [1000000]}
cluster:
  nodes: 2
  gpus_per_node: 1
  network: {bandwidth: 1GBps, latency: 0us}
training:
  strategy: horovod
  cycle_time: 1.5ms
  negotiation: 250us
  fusion: false
  optimizer: {kind: sgd, time: 2ms}
collective: {library: plan, algorithm: ring}
simulation: {fidelity: folded}
)";

// tests/models/training/horovod_test.cpp derives 19.75 ms: an engine that waits for its calls wakes
// for the second when the first is done. Here an exchange and a division of some us are in it too.
TEST(Engines, ArePredictedUntilTheyDecideAsBefore) {
  const auto step = [](const Settings& settings) {
    return outcomes_of(std::string(engine_scenario), settings).front();
  };
  for (const char* fidelity : {"folded", "flow"}) {
    const auto waits = step({{"simulation.fidelity", fidelity}});
    EXPECT_NEAR(waits.predicted->totals.step.value(), 19.75e-3, 0.05e-3) << fidelity;
    EXPECT_EQ(waits.predicted->calls.size(), 2U);
  }
}

// A rank of half the speed has its gradients at 22 and 24 ms: the wakes are at 22.5 and 24,
// or 26.75, when the call on b is done.
TEST(Engines, WaitForTheLastRank) {
  const auto outcome =
      outcomes_of(std::string(engine_scenario), {{"ranks.slowdown.1", "2"}}).front();
  ASSERT_EQ(outcome.predicted->calls.size(), 2U);
  const CallTimes &b = outcome.predicted->calls[0], &a = outcome.predicted->calls[1];
  EXPECT_GT(b.start + b.skew, Seconds(22e-3));
  EXPECT_LT(b.start + b.skew, Seconds(24.1e-3));
  EXPECT_GE(a.start + a.skew, b.end);
}

}  // namespace run_scenario_test
}  // namespace paceline
