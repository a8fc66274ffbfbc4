#include "scenarios/predict/link_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/predict/evidence.h"
#include "scenarios/predict/point_source.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace link_forms_test {

// Two GPU counts, nine latencies and eight bandwidths; by NCCL's choice, which changes among them.
constexpr const char* grid = R"(schema: paceline/1
name: grid
workload: {model: resnet50, batch_per_gpu: 32, precision: fp32, device: v100-sxm2-32gb}
cluster:
  gpus_per_node: 4
  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}
  network: {bandwidth: 100Gbps, latency: 3us}
training: {strategy: ddp}
simulation: {fidelity: folded}
sweep:
  gpus: [8, 32]
  cluster.network.latency: [1us, 2us, 4us, 8us, 16us, 30us, 50us, 70us, 100us]
  cluster.network.bandwidth: [10Gbps, 16Gbps, 25Gbps, 40Gbps, 56Gbps, 100Gbps, 200Gbps, 400Gbps]
)";

ScenarioFile file_of(const std::string& text, const std::vector<ScenarioFile::Setting>& set = {}) {
  const test::Folder folder;
  return ScenarioFile::read(folder.write("grid.yaml", text), set);
}

TEST(LinkForms, AreNearPointsThatAreSimulated) {
  const ScenarioFile file = file_of(grid);
  LinkForms forms(file, false, unconditioned_belief());
  PointSource source(file, false, unconditioned_belief());
  double worst = 0;
  for (std::size_t point = 0; point < file.point_count(); point += 5) {
    const auto formed = forms.outcome(point);
    ASSERT_TRUE(formed && formed->predicted);
    const PointOutcome simulated = source.outcome(point);
    const Prediction &one = *formed->predicted, &other = *simulated.predicted;
    worst = std::max(worst, std::abs(one.totals.step / other.totals.step - 1));
    // It hangs on how near calls are to what their wires allow.
    EXPECT_NEAR(one.interval.low / other.interval.low, 1, 0.05);
    EXPECT_NEAR(one.interval.high / other.interval.high, 1, 0.02);
    EXPECT_EQ(formed->gpus, simulated.gpus);
    EXPECT_EQ(formed->name(), simulated.name());
  }
  EXPECT_LE(worst, 0.01);
}

// Whatever was asked for before.
TEST(LinkForms, GiveTheSameInAnyOrder) {
  LinkForms forwards(file_of(grid), false, unconditioned_belief());
  LinkForms backwards(file_of(grid), false, unconditioned_belief());
  const std::size_t count = file_of(grid).point_count();
  std::vector<double> steps;
  for (std::size_t point = 0; point < count; ++point) {
    steps.push_back(forwards.outcome(point)->predicted->totals.step.value());
  }
  for (std::size_t point = count; point-- > 0;) {
    EXPECT_EQ(backwards.outcome(point)->predicted->totals.step.value(), steps[point]);
  }
}

// What was measured at one point is that one's alone.
TEST(LinkForms, HaveWhatWasMeasuredAtThePoint) {
  const std::string measured = std::string(grid) +
                               "measured:\n"
                               "  by: us\n"
                               "  source: a test\n"
                               "  points:\n"
                               "    - {gpus: 8, cluster.network.latency: 2us, "
                               "cluster.network.bandwidth: 10Gbps, throughput: 1000 samples/s}\n";
  LinkForms forms(file_of(measured), false, unconditioned_belief());
  EXPECT_FALSE(forms.outcome(0)->measured);
  ASSERT_TRUE(forms.outcome(8)->measured);
  EXPECT_EQ(forms.outcome(8)->measured->throughput.value(), 1000);
}

// The links' axes are not what points are told apart by.
TEST(LinkForms, HaveGroupsOfPointsThatDifferInLinks) {
  const LinkForms forms(file_of(grid), false, unconditioned_belief());
  EXPECT_EQ(forms.group_of(0), forms.group_of(71));
  EXPECT_NE(forms.group_of(0), forms.group_of(72));
}

// Where some tens of a group's points are asked for they are simulated themselves.
TEST(LinkForms, AreNotOfASample) {
  EXPECT_TRUE(LinkForms(file_of(grid), false, unconditioned_belief(), 0.9).outcome(0));
  EXPECT_FALSE(LinkForms(file_of(grid), false, unconditioned_belief(), 0.8).outcome(0));
}

TEST(LinkForms, AreNotOfFewPointsOrOtherSteps) {
  const ScenarioFile::Setting few{"sweep.cluster.network.latency", "[1us, 2us]"};
  EXPECT_FALSE(LinkForms(file_of(grid, {few}), false, unconditioned_belief()).outcome(0));
  const ScenarioFile::Setting flow{"simulation.fidelity", "flow"};
  EXPECT_FALSE(LinkForms(file_of(grid, {flow}), false, unconditioned_belief()).outcome(0));
  const ScenarioFile::Setting mixed{"sweep.cluster.network.latency",
                                    "[2us, 1us, 4us, 8us, 16us, 30us, 50us, 70us, 100us]"};
  EXPECT_FALSE(LinkForms(file_of(grid, {mixed}), false, unconditioned_belief()).outcome(0));
  const ScenarioFile::Setting slow{"ranks.slowdown", "{3: 1.2}"};
  EXPECT_FALSE(LinkForms(file_of(grid, {slow}), false, unconditioned_belief()).outcome(0));
  const ScenarioFile::Setting gloo{"collective.library", "gloo"};
  EXPECT_FALSE(LinkForms(file_of(grid, {gloo}), false, unconditioned_belief()).outcome(0));
}

}  // namespace link_forms_test
}  // namespace paceline
