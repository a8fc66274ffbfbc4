// What one scenario's known rows say of its machine through `paceline calibrate`, and what `run`
// makes of it in another scenario.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace calibrate_learnt_test {

using Arguments = std::vector<std::string>;

// 40 MB of gradients over 10 Gb/s take about as long as the compute.
std::string scenario_of(std::string_view strategy) {
  const std::string large = changed(small_scenario, "[1000, 20]", "[1000000, 20]");
  return changed(large, "strategy: bulk_synchronous", fmt::format("strategy: {}", strategy));
}

class CalibrateLearnt : public testing::Test {
 protected:
  CalibrateLearnt() {
    folder_.write("a.yaml", scenario_of("bulk_synchronous"));
    folder_.write("b.yaml", scenario_of("wait_free"));
  }

  [[nodiscard]] Ended call(Arguments arguments) const {
    return paceline(arguments, folder_.path());
  }
  // Of a.yaml, whose step was measured `longer` times as long as predicted.
  [[nodiscard]] Ended learn(double longer, Arguments more = {}) const {
    Arguments all{"calibrate", "a.yaml", "-o", "learnt.yaml", "--known", row(longer)};
    all.insert(all.end(), more.begin(), more.end());
    return call(all);
  }
  [[nodiscard]] std::string row(double longer) const {
    return fmt::format("gpus=4,step={:.9f}s", longer * last_step({"a.yaml"}));
  }
  // The last point's predicted.
  [[nodiscard]] double last_step(Arguments arguments) const { return last(arguments, "step_s"); }
  [[nodiscard]] double last(Arguments arguments, const char* figure) const {
    arguments.insert(arguments.begin(), "run");
    arguments.insert(arguments.end(), {"--json", "-", "--quiet"});
    const Ended ended = call(arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return nlohmann::json::parse(ended.out).at("points").back().at("predicted").at(figure);
  }

  static inline const Arguments named{"b.yaml", "--set", "cluster.calibration=learnt.yaml"};
  Folder folder_;
};

// Compute and what several GPUs cost each other are a workload's own, and are sure to some 2 %: so
// much of the row's 10 % may go to them where it is in the file, and none where it is another's.
TEST_F(CalibrateLearnt, ConditionsAnotherScenarioAsIfItsRowsWereInIt) {
  const Ended made = learn(1.1);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("learnt from a.yaml"), std::string::npos) << made.out;
  const double before = last_step({"b.yaml"});
  const double after = last_step(named);
  folder_.write("both.yaml", scenario_of("bulk_synchronous") +
                                 "sweep: {training.strategy: [bulk_synchronous, wait_free]}\n");
  const double as_if =
      last_step({"both.yaml", "--known", row(1.1) + ",training.strategy=bulk_synchronous"});
  EXPECT_GT(after, 1.03 * before);
  EXPECT_NEAR(after, as_if, 0.02 * as_if);
}

TEST_F(CalibrateLearnt, MakesTheIntervalNarrowerWhenRowsAreAsPredicted) {
  ASSERT_EQ(learn(1).exit_code, 0);
  const auto width = [&](const Arguments& arguments) {
    return last(arguments, "step_s_high") / last(arguments, "step_s_low");
  };
  EXPECT_NEAR(last_step(named), last_step({"b.yaml"}), 1e-4);
  EXPECT_LT(width(named), width({"b.yaml"}));
}

TEST_F(CalibrateLearnt, IsSaidInOneLine) {
  ASSERT_EQ(learn(1.2).exit_code, 0);
  const Ended run =
      call({"run", "b.yaml", "--assumptions", "--set", "cluster.calibration=learnt.yaml"});
  EXPECT_NE(run.out.find("learnt from a.yaml (1 row): the network 1."), std::string::npos)
      << run.out;
}

// A sweep's points share a form, and have the evidence in it.
TEST_F(CalibrateLearnt, ConditionsSweeps) {
  ASSERT_EQ(learn(1.2).exit_code, 0);
  Arguments sweep{"sweep", "--quiet", "--store", "store", "--csv", "points.csv"};
  sweep.insert(sweep.end(), named.begin(), named.end());
  ASSERT_EQ(call(sweep).exit_code, 0);
  const std::string csv = text_of(folder_.path() / "points.csv");
  EXPECT_NE(csv.find(fmt::format("{:.6g}", last_step(named)).substr(0, 6)), std::string::npos)
      << csv;
}

// Points are made one by one, and nothing is kept of the first when the others are asked for.
TEST_F(CalibrateLearnt, ConditionsSweepsOfTheCluster) {
  ASSERT_EQ(learn(1.2).exit_code, 0);
  const std::string latencies = "sweep.cluster.network.latency=[4us, 5us, 6us]";
  Arguments sweep{"sweep", "--quiet", "--store", "points.db", "--set", latencies};
  Arguments unconditioned = sweep;
  sweep.insert(sweep.end(), named.begin(), named.end());
  EXPECT_EQ(call(sweep).exit_code, 0);
  unconditioned.insert(unconditioned.end(), {"b.yaml"});
  EXPECT_EQ(call(unconditioned).exit_code, 0);
}

TEST_F(CalibrateLearnt, TakesEveryMeasuredPointWhereAsked) {
  folder_.write("a.yaml", scenario_of("bulk_synchronous") +
                              "sweep: {gpus: [1, 2, 4]}\nmeasured:\n  source: here\n  points:\n"
                              "    - {gpus: 1, step: 7ms}\n    - {gpus: 2, step: 8ms}\n"
                              "    - {gpus: 4, step: 20ms}\n");
  expect_refused(call({"calibrate", "a.yaml", "-o", "learnt.yaml"}),
                 "paceline: a.yaml: has no known point of several GPUs to learn from; ");
  ASSERT_EQ(call({"calibrate", "a.yaml", "-o", "learnt.yaml", "--all-rows"}).exit_code, 0);
  const std::string text = text_of(folder_.path() / "learnt.yaml");
  EXPECT_NE(text.find("- gpus_per_node: 2\n        nodes: 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("- gpus_per_node: 2\n        nodes: 2\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("- gpus_per_node: 1"), std::string::npos) << text;
}

TEST_F(CalibrateLearnt, RefusesAMachineOfAnotherKind) {
  ASSERT_EQ(learn(1.2).exit_code, 0);
  folder_.write("tcp.yaml", changed(scenario_of("wait_free"), "latency: 5us}",
                                    "latency: 5us, transport: tcp}"));
  const Arguments calibrated{"--set", "cluster.calibration=learnt.yaml"};
  expect_refused(
      call({"run", "tcp.yaml", calibrated[0], calibrated[1]}),
      "paceline: cluster.calibration: was learnt from a.yaml over rdma, and this cluster has tcp");
  folder_.write("pcie.yaml", changed(scenario_of("wait_free"), "nvswitch", "pcie"));
  expect_refused(
      call({"run", "pcie.yaml", calibrated[0], calibrated[1]}),
      "paceline: cluster.calibration: was learnt from a.yaml over nvswitch, and this cluster has "
      "pcie");
}

TEST_F(CalibrateLearnt, RefusesTheVeryScenarioItIsOf) {
  ASSERT_EQ(learn(1.2).exit_code, 0);
  expect_refused(call({"run", "a.yaml", "--set", "cluster.calibration=learnt.yaml"}),
                 "paceline: cluster.calibration: was learnt from this very scenario");
  // Another workload of the same text is another scenario.
  EXPECT_EQ(call({"run", "a.yaml", "--set", "cluster.calibration=learnt.yaml", "--set",
                  "training.strategy=wait_free"})
                .exit_code,
            0);
}

TEST_F(CalibrateLearnt, RefusesWhatWouldDoNothing) {
  const std::string log =
      std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/logs/rtx3090-2node.csv";
  expect_refused(call({"calibrate", log, "-o", "c.yaml", "--all-rows"}),
                 "paceline: --all-rows: has no effect: no scenario is given");
  expect_refused(call({"calibrate", log, "-o", "c.yaml", "--known", "gpus=4,step=1s"}),
                 "paceline: --known gpus=4,step=1s: describes one scenario, and 0");
  expect_refused(learn(1, {"--cluster", "dgx-a100"}),
                 "paceline: --cluster: has no effect: no log is given");
}

// Both in one file: calls have the logs' times, whatever the row says of links.
TEST_F(CalibrateLearnt, LeavesLinksToLogsBesideIt) {
  const std::string log =
      std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/ping_pong/osu_latency.txt";
  const Arguments between{log, "--between", "nodes"};
  ASSERT_EQ(call({"calibrate", log, "--between", "nodes", "-o", "links.yaml"}).exit_code, 0);
  ASSERT_EQ(learn(1.5, between).exit_code, 0);
  const double by_logs = last_step({"b.yaml", "--set", "cluster.calibration=links.yaml"});
  // Only what hides is left for the row to say, and it says that nothing more does.
  EXPECT_NEAR(last_step(named), by_logs, 0.1 * by_logs);
  const Ended run =
      call({"run", "b.yaml", "--assumptions", "--set", "cluster.calibration=learnt.yaml"});
  EXPECT_EQ(run.out.find("the network 1."), std::string::npos) << run.out;
}

}  // namespace calibrate_learnt_test
}  // namespace paceline::test
