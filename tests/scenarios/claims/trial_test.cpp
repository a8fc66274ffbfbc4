#include <gtest/gtest.h>

#include <string>

#include "scenarios/claims/verdict.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::claims {
namespace trial_test {

using test::changed;
using test::small_scenario;

// Two nodes of one GPU; 4020 gradients of fp32; a ring of two ranks.
const std::string two_ranks =
    changed(changed(small_scenario, "gpus_per_node: 2", "gpus_per_node: 1"),
            "  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}\n", "");

class TrialOfTwoRanks : public testing::Test {
 protected:
  TrialOfTwoRanks() {
    claim.name = "claim";
    claim.scenario = folder.write("scenario.yaml", two_ranks);
    claim.before = claim.after = {Settings{}};
    claim.claimed = {0.0, 1.0};
  }

  [[nodiscard]] std::vector<Trial> trials() const {
    Predictions predictions{RunOptions{}};
    return put_to_test(claim, predictions);
  }
  [[nodiscard]] double only_value() const { return trials().at(0).value.value(); }

  test::Folder folder;
  Claim claim;
};

// One rank: 2 + 4 ms of layers, 1 ms of optimizer. Without the latter 6 of 7 ms.
TEST_F(TrialOfTwoRanks, SavesTheTimeOfTheOptimizer) {
  claim.before = {{{"cluster.nodes", "1"}}};
  claim.after = {{{"cluster.nodes", "1"}, {"training.optimizer.time", "0ms"}}};
  claim.quantity = Quantity::time_saved;
  EXPECT_NEAR(only_value(), 1.0 / 7, 1e-12);
  claim.quantity = Quantity::throughput_ratio;
  EXPECT_NEAR(only_value(), 7.0 / 6, 1e-12);
  claim.quantity = Quantity::speedup;  // over the plain step of the same scenario
  EXPECT_NEAR(only_value(), 1, 1e-12);
}

// 16080 bytes, two rounds of half of them at 1.25 GB/s: 2 * (6.432 us + latency); the step has 7 ms
// beside, and copies of three tensors into one buffer and back, 5 us each (v100's small kernels);
// nothing is hidden. Gradients of fp16 are half of the bytes.
TEST_F(TrialOfTwoRanks, ComparesCommunication) {
  const double at_5us = 2 * (6.432e-6 + 5e-6), at_10us = 2 * (6.432e-6 + 10e-6);
  constexpr double rest = 7e-3 + 6 * 5e-6;
  claim.before = {{{"cluster.network.latency", "10us"}}};
  claim.quantity = Quantity::communication_ratio;
  EXPECT_NEAR(only_value(), at_10us / at_5us, 1e-9);
  claim.quantity = Quantity::communication_saved;
  EXPECT_NEAR(only_value(), 1 - at_5us / at_10us, 1e-9);
  claim.quantity = Quantity::exposed_saved;
  EXPECT_NEAR(only_value(), 1 - at_5us / at_10us, 1e-9);
  claim.quantity = Quantity::communication_share;
  EXPECT_NEAR(only_value(), at_5us / (rest + at_5us), 1e-9);
  claim.quantity = Quantity::exposed_share;
  EXPECT_NEAR(only_value(), at_5us / (rest + at_5us), 1e-9);
  EXPECT_NEAR(trials().at(0).exposed_before, at_10us / (rest + at_10us), 1e-9);
  claim.after = {{{"workload.precision", "{compute: fp32, gradient: fp16}"}}};
  claim.quantity = Quantity::traffic_saved;
  EXPECT_NEAR(only_value(), 0.5, 1e-12);
}

TEST_F(TrialOfTwoRanks, TakesTheBestOfSeveralSettings) {
  claim.after = {{{"cluster.network.latency", "1ms"}},
                 {{"cluster.network.latency", "1us"}},
                 {{"cluster.network.latency", "9us"}}};
  claim.quantity = Quantity::throughput_ratio;
  const Trial trial = trials().at(0);
  EXPECT_EQ(trial.before, "");
  EXPECT_EQ(trial.after, "latency=1us");
  EXPECT_GT(trial.value, 1.0);
}

TEST_F(TrialOfTwoRanks, GoesThroughTheGridInOrder) {
  claim.conditions = {{"cluster.nodes", {"1", "2"}}, {"workload.batch_per_gpu", {"1", "2", "4"}}};
  const auto all = trials();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0].at, (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(all[1].at, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(all[5].at, (std::vector<std::size_t>{1, 2}));
}

TEST_F(TrialOfTwoRanks, LeavesOutWhatDoesNotCount) {
  // Nothing to save without communication.
  claim.quantity = Quantity::communication_saved;
  claim.conditions = {{"cluster.nodes", {"1", "2"}}};
  auto all = trials();
  EXPECT_EQ(all[0].left_out, "there is no communication");
  EXPECT_FALSE(all[0].value);
  EXPECT_TRUE(all[1].value);
  // DataParallel is of one node.
  claim.quantity = Quantity::throughput_ratio;
  claim.after = {{{"training.strategy", "data_parallel"}}};
  claim.conditions = {};
  EXPECT_EQ(trials()[0].left_out, "is one process on one node, and the cluster has 2");
  // 23 us of 7 ms are less than a tenth.
  claim.after = {Settings{}};
  claim.given = {Quantity::communication_share, {0.1, std::nullopt}};
  EXPECT_EQ(trials()[0].left_out, "not given: communication_share is 0.3 %");
}

// BERT-Large and Adam alone, 16 bytes a parameter, are 5 GiB; activations of 256 samples are not.
TEST(Trial, LeavesOutWhatDoesNotFitItsGpu) {
  Claim claim;
  claim.base.by_path = {{"name", "c"},
                        {"workload.model", "bert-large"},
                        {"workload.batch_per_gpu", "256"},
                        {"workload.device", "v100-sxm2-16gb"},
                        {"cluster.preset", "flat"},
                        {"cluster.network.bandwidth", "10Gbps"},
                        {"gpus", "2"},
                        {"training.strategy", "ddp"},
                        {"simulation.fidelity", "folded"}};
  claim.before = claim.after = {Settings{}};
  Predictions predictions{RunOptions{}};
  const auto trials = put_to_test(claim, predictions);
  EXPECT_EQ(trials.at(0).left_out.rfind("does not fit: ", 0), 0U) << trials[0].left_out;
}

}  // namespace trial_test
}  // namespace paceline::claims
