// Known rows: what they say of points that were not measured.

#include "scenarios/predict/evidence.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "scenarios/advise/strategies.h"
#include "scenarios/errors.h"
#include "scenarios/measure/loop.h"
#include "scenarios/predict/link_forms.h"
#include "scenarios/predict/point_source.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace evidence_test {

using test::changed;
using uncertain::Unknown;
using Settings = std::vector<ScenarioFile::Setting>;

constexpr std::size_t network = static_cast<std::size_t>(Unknown::network);

// A step of 60 ms of compute and calls of 100 MB, between hosts of which nothing is said.
constexpr std::string_view unknown_hosts = R"(schema: paceline/1
name: unknown hosts
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers: [{name: a, forward: 20ms, backward: 40ms, parameters: [25000000]}]
cluster: {gpus_per_node: 1, network: {bandwidth: 25Gbps, latency: 10us, transport: tcp}}
training: {strategy: wait_free, optimizer: {time: 0ms}}
collective: {library: nccl}
simulation: {fidelity: folded}
sweep: {gpus: [1, 2, 4, 8]}
)";

class EvidenceOfAFile : public testing::Test {
 protected:
  std::vector<PointOutcome> outcomes(const std::string& end = "", const Settings& settings = {},
                                     const RunOptions& options = {},
                                     std::string_view text = unknown_hosts) {
    return run_scenario(read(end, settings, text), options);
  }
  ScenarioFile read(const std::string& end, const Settings& settings = {},
                    std::string_view text = unknown_hosts) {
    return ScenarioFile::read(folder_.write("s.yaml", std::string(text) + end), settings);
  }

  // A point of so many GPUs that was measured to take so many times as long as predicted.
  static std::string known_row(const PointOutcome& predicted, double longer,
                               const char* known = "true") {
    return fmt::format(
        "measured:\n  source: a test\n  points:\n"
        "    - {{gpus: {}, throughput: {:.12g} samples/s, known: {}}}\n",
        predicted.gpus, predicted.predicted_throughput().value() / longer, known);
  }

  test::Folder folder_;
};

double width_of(const PointOutcome& outcome) {
  return std::log(outcome.predicted->interval.high / outcome.predicted->interval.low);
}

bool says_known_rows(const PointOutcome& outcome) {
  return std::ranges::any_of(outcome.assumptions, [](const std::string& one) {
    return one.starts_with("known rows: ") && one.find("the network") != std::string::npos;
  });
}

// Hosts of which nothing is said lie up to a factor of four apart.
TEST_F(EvidenceOfAFile, OfTwoGpusMovesEightAndNarrowsTheirInterval) {
  const auto before = outcomes();
  const auto after = outcomes(known_row(before[1], 2));
  const auto longer = [&](std::size_t i) {
    return after[i].predicted->totals.step / before[i].predicted->totals.step;
  };
  EXPECT_EQ(longer(0), 1);  // one GPU's step is an input
  EXPECT_NEAR(longer(1), 2, 0.4);
  EXPECT_GT(longer(3), 1.3);
  EXPECT_LT(width_of(after[3]), width_of(before[3]));
  EXPECT_TRUE(says_known_rows(after[3]));
  EXPECT_FALSE(says_known_rows(before[3]));
  EXPECT_FALSE(says_known_rows(after[0]));
  EXPECT_FALSE(after[1].counts());
}

// Where compute is modelled a slow row is mostly of a slow GPU: one alone is as slow, so that
// speedups stay below the number of GPUs.
TEST_F(EvidenceOfAFile, SaysTheSpeedOfOneGpuWhereThatIsModelled) {
  const std::string modelled =
      "schema: paceline/1\nname: modelled\n"
      "workload: {model: bert-base, batch_per_gpu: 8, device: a100-sxm4-40gb}\n"
      "cluster: {preset: dgx-a100}\ntraining: {strategy: ddp}\n"
      "simulation: {fidelity: folded}\nsweep: {gpus: [1, 2, 8]}\n";
  const auto before = outcomes("", {}, {}, modelled);
  const auto after = outcomes(known_row(before[1], 1.3), {}, {}, modelled);
  const double alone = after[0].predicted->totals.step / before[0].predicted->totals.step;
  EXPECT_GT(alone, 1.2);
  EXPECT_LT(alone, 1.3);
  EXPECT_NEAR(after[2].one_gpu_step / before[2].one_gpu_step, alone, 1e-9);
  EXPECT_NEAR(after[0].predicted_speedup(), 1, 1e-9);
  EXPECT_LT(after[2].predicted_speedup(), 8);
}

// The belief has the step's value: its parts are composed anew, and add up.
TEST_F(EvidenceOfAFile, IsInTheStepsParts) {
  const auto before = outcomes();
  const auto after = outcomes(known_row(before[1], 2));
  const Prediction &was = *before[3].predicted, &is = *after[3].predicted;
  const double factor = std::exp(is.believed.values[network]);
  EXPECT_GT(factor, 1.5);
  EXPECT_NEAR(is.totals.communication / was.totals.communication, factor, 1e-6);
  EXPECT_NEAR((is.totals.step - was.totals.step).value(),
              (is.totals.exposed_communication - was.totals.exposed_communication).value() +
                  (is.totals.compute - was.totals.compute).value(),
              1e-9);
}

TEST_F(EvidenceOfAFile, ThatIsAsPredictedNarrowsAndDoesNotMove) {
  const auto before = outcomes();
  const auto after = outcomes(known_row(before[1], 1));
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i].predicted->totals.step / before[i].predicted->totals.step, 1, 1e-9);
  }
  EXPECT_LT(width_of(after[3]), 0.8 * width_of(before[3]));
}

// A row that was measured and is not known, or is of one GPU, says nothing.
TEST_F(EvidenceOfAFile, IsOfSeveralGpusAndMarked) {
  const auto before = outcomes();
  const auto file = read(known_row(before[1], 2, "false"));
  Preparer unmarked(file);
  EXPECT_TRUE(points_as_evidence(unmarked).empty());
  EXPECT_EQ(belief_of(file.path(), {}, {}), nullptr);
  const auto known = read(known_row(before[1], 2));
  Preparer marked(known);
  EXPECT_EQ(points_as_evidence(marked), std::vector<std::size_t>{1});
  const auto belief = belief_of(known.path(), {}, {});
  ASSERT_TRUE(belief);
  EXPECT_TRUE(belief->is_conditioned());
  EXPECT_FALSE(unconditioned_belief().is_conditioned());
}

// Twice as long as predicted: log 2.
TEST_F(EvidenceOfAFile, IsTheLogarithmOfMeasuredOverPredicted) {
  const auto before = outcomes();
  const auto measured = outcomes(known_row(before[1], 2, "false"));
  const uncertain::KnownRow row = known_row_of(measured[1]);
  EXPECT_NEAR(row.measured, std::log(2), 1e-9);
  EXPECT_EQ(row.response.place.log2_nodes, 1);
  EXPECT_GT(row.response.at(Unknown::network, 1), 0.3);
}

// Predictions of other points than the file's own are told what it says.
TEST_F(EvidenceOfAFile, MayBeThatOfAnotherFile) {
  const auto before = outcomes();
  RunOptions options;
  const std::string known = known_row(before[1], 2);
  options.belief = belief_of(read(known).path(), {}, {});
  const auto told = outcomes("", {}, options), own = outcomes(known);
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(told[i].predicted->totals.step, own[i].predicted->totals.step);
    EXPECT_EQ(told[i].predicted->interval.high, own[i].predicted->interval.high);
  }
  options.belief = std::make_shared<const uncertain::Belief>(unconditioned_belief());
  EXPECT_EQ(outcomes(known, {}, options)[3].predicted->totals.step,
            before[3].predicted->totals.step);
}

TEST_F(EvidenceOfAFile, SaysTheSameWhateverTheJobsAndEveryTime) {
  const std::string known = known_row(outcomes()[1], 1.7);
  RunOptions three;
  three.jobs = 3;
  const auto one = outcomes(known), other = outcomes(known, {}, three);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].predicted->totals.step, other[i].predicted->totals.step);
    EXPECT_EQ(one[i].assumptions, other[i].assumptions);
  }
}

TEST_F(EvidenceOfAFile, IsTheSameInEveryFidelity) {
  const std::string known = known_row(outcomes()[1], 1.7);
  const double alone = outcomes(known)[3].predicted->totals.step.value();
  for (const char* fidelity : {"flow", "folded"}) {
    const Settings settings{{"simulation.fidelity", fidelity}};
    EXPECT_NEAR(outcomes(known, settings)[3].predicted->totals.step.value() / alone, 1, 0.02)
        << fidelity;
  }
}

// All strategies are told, among them the one that was measured.
TEST_F(EvidenceOfAFile, IsTakenByComparisonsOfStrategies) {
  const auto before = outcomes();
  const Settings known{{ScenarioFile::known_path,
                        fmt::format("gpus=2,throughput={:.12g} samples/s",
                                    before[1].predicted_throughput().value() / 2),
                        false, true}};
  read("");
  const std::string path = (folder_.path() / "s.yaml").string();
  const auto step_of = [&](const std::vector<advise::StrategyComparison>& compared) {
    for (const auto& row : compared.back().rows) {
      if (row.strategy == "wait_free") return row.attempt.outcome->predicted->totals.step;
    }
    return Seconds();
  };
  const Seconds told = step_of(advise::compare_strategies({path}, known, {}));
  const Seconds untold = step_of(advise::compare_strategies({path}, {}, {}));
  EXPECT_EQ(untold, before[3].predicted->totals.step);
  EXPECT_GT(told / untold, 1.3);
}

// Sweeps: forms have the belief of the file.

constexpr std::string_view swept = R"(schema: paceline/1
name: grid
workload: {model: resnet50, batch_per_gpu: 32, precision: fp32, device: v100-sxm2-32gb}
cluster:
  gpus_per_node: 4
  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}
  network: {bandwidth: 100Gbps, latency: 3us}
training: {strategy: ddp}
collective: {library: plan, algorithm: ring}
simulation: {fidelity: folded}
sweep:
  gpus: [8, 32]
  cluster.network.latency: [1us, 2us, 4us, 8us, 16us, 30us, 50us, 70us, 100us]
  cluster.network.bandwidth: [10Gbps, 16Gbps, 25Gbps, 40Gbps, 56Gbps, 100Gbps, 200Gbps, 400Gbps]
measured:
  source: a test
  points:
    - {gpus: 8, cluster.network.latency: 4us, cluster.network.bandwidth: 10Gbps,
       throughput: 1100 samples/s, known: true}
)";

TEST_F(EvidenceOfAFile, IsInFormsAsInPointsThatAreSimulated) {
  const auto belief = belief_of(read("", {}, swept).path(), {}, {});
  ASSERT_TRUE(belief);
  LinkForms forms(read("", {}, swept), false, *belief);
  PointSource source(read("", {}, swept), false, *belief);
  const auto run = outcomes("", {}, {}, swept);
  double moved = 0;
  for (std::size_t point = 0; point < run.size(); point += 7) {
    const auto formed = forms.outcome(point);
    ASSERT_TRUE(formed && formed->predicted);
    const Prediction &one = *formed->predicted, &other = *run[point].predicted;
    EXPECT_NEAR(one.totals.step / other.totals.step, 1, 1e-6) << point;
    EXPECT_NEAR(one.interval.high / other.interval.high, 1, 1e-6) << point;
    EXPECT_NEAR(one.interval.low / other.interval.low, 1, 1e-6) << point;
    EXPECT_EQ(source.outcome(point).predicted->totals.step, other.totals.step) << point;
    moved = std::max(moved, std::abs(one.believed.moved));
  }
  EXPECT_GT(moved, 0.05);
}

}  // namespace evidence_test
}  // namespace paceline
