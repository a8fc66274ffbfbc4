// paceline.result/1 as `paceline run --json` writes it.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

using nlohmann::json;

constexpr const char* swept =
    "sweep: {training.strategy: [bulk_synchronous], cluster.network.latency: [1ms], gpus: [1, 4]}\n"
    "measured:\n"
    "  source: a test\n"
    "  points:\n"
    "    - {gpus: 1, throughput: 1000 samples/s}\n"
    "    - {gpus: 4, throughput: 2500 samples/s, known: true}\n";

class ResultJson : public testing::Test {
 protected:
  json result(const std::string& text, std::vector<std::string> more = {}) {
    folder_.write("scenario.yaml", text);
    std::vector<std::string> arguments{"run", "scenario.yaml", "--json", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = paceline(arguments, folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return json::parse(ended.out);
  }

  Folder folder_;
};

TEST_F(ResultJson, SaysWhatMadeIt) {
  const json of_run = result(std::string(small_scenario), {"--seed", "7"});
  EXPECT_EQ(of_run.at("schema"), "paceline.result/1");
  const json& context = of_run.at("context");
  EXPECT_TRUE(
      std::regex_match(context.at("paceline").get<std::string>(), std::regex(R"(\d+\.\d+\.\d+)")));
  EXPECT_NE(context.at("commit"), "");
  EXPECT_EQ(context.at("scenario"), "scenario.yaml");
  EXPECT_TRUE(std::regex_match(context.at("scenario_sha256").get<std::string>(),
                               std::regex("[0-9a-f]{64}")));
  EXPECT_NE(context.at("host"), "");
  EXPECT_EQ(context.at("seed"), 7);
}

// A prediction may change with it.
TEST_F(ResultJson, SaysWhichSimGridItWasBuiltWith) {
  const json context = result(std::string(small_scenario)).at("context");
  EXPECT_TRUE(
      std::regex_match(context.at("simgrid").get<std::string>(), std::regex(R"(\d+\.\d+(\.\d+)?)")))
      << context.at("simgrid");
}

TEST_F(ResultJson, HasAxesInSiUnitsWithTheUnitBesideThem) {
  const json axes = result(changed(small_scenario, "", swept)).at("points").at(1).at("axes");
  EXPECT_EQ(axes, json::parse(R"([
    {"path": "training.strategy", "unit": "", "value": "bulk_synchronous"},
    {"path": "cluster.network.latency", "unit": "s", "value": 0.001},
    {"path": "gpus", "unit": "1", "value": 4.0}])"));
}

// Latency 1 ms: six rounds of 1 ms + 1,005 x 4 B / 1.25 GB/s; 7.030 ms of compute (see
// run_scenario_test.cpp); 32 samples a step.
TEST_F(ResultJson, HasTheFiguresOfThePoint) {
  const auto nothing_known = changed(swept, ", known: true", "");
  const json point = result(changed(small_scenario, "", nothing_known)).at("points").at(1);
  const double communication = 6 * (1e-3 + 1005 * 4 / 1.25e9), step = 7.030e-3 + communication;
  const json& predicted = point.at("predicted");
  EXPECT_EQ(point.at("gpus"), 4);
  EXPECT_EQ(point.at("nodes"), 2);
  EXPECT_EQ(point.at("fidelity"), "folded");
  EXPECT_EQ(point.at("transfers"), 24);
  EXPECT_NEAR(predicted.at("step_s"), step, 1e-9);
  EXPECT_NEAR(predicted.at("communication_s"), communication, 1e-9);
  EXPECT_NEAR(predicted.at("exposed_communication_s"), communication, 1e-9);
  EXPECT_NEAR(predicted.at("compute_s"), 7.030e-3, 1e-9);
  EXPECT_NEAR(predicted.at("throughput_per_s"), 32 / step, 1e-6);
  EXPECT_NEAR(predicted.at("speedup"), 4 * 7e-3 / step, 1e-9);
  EXPECT_NEAR(predicted.at("efficiency"), 7e-3 / step, 1e-9);
  EXPECT_LT(predicted.at("step_s_low"), step);
  EXPECT_GT(predicted.at("step_s_high"), step);
  const json& measured = point.at("measured");
  EXPECT_NEAR(measured.at("step_s"), 32 / 2500.0, 1e-12);
  EXPECT_EQ(measured.at("throughput_per_s"), 2500);
  EXPECT_EQ(measured.at("speedup"), 2.5);
  EXPECT_NEAR(point.at("error_percent"), 100 * (32 / step - 2500) / 2500, 1e-6);
}

// Published figures: neither samples nor spread.
TEST_F(ResultJson, IsNullWhereThereIsNothing) {
  const json measured = result(changed(small_scenario, "", swept)).at("points").at(1);
  EXPECT_TRUE(measured.at("measured").at("samples").is_null());
  EXPECT_TRUE(measured.at("measured").at("mad_s").is_null());
  const json alone = result(std::string(small_scenario)).at("points").at(0);
  EXPECT_TRUE(alone.at("measured").is_null());
  EXPECT_TRUE(alone.at("error_percent").is_null());
  EXPECT_TRUE(alone.at("axes").empty());
  const json without_one_gpu =
      result(changed(small_scenario, "", swept), {"--set", "gpus=[4]"}).at("points").at(0);
  EXPECT_TRUE(without_one_gpu.at("measured").at("speedup").is_null());
}

TEST_F(ResultJson, SaysWhatSimulatedAndWhatCheckedAPoint) {
  const json flow =
      result(changed(small_scenario, "fidelity: folded", "fidelity: flow")).at("points").at(0);
  EXPECT_EQ(flow.at("fidelity"), "flow");
  EXPECT_EQ(flow.at("transfers"), 24);
  EXPECT_TRUE(flow.at("checked_by").is_null());
  const json folded = result(std::string(small_scenario)).at("points").at(0);
  EXPECT_EQ(folded.at("fidelity"), "folded");
  EXPECT_EQ(folded.at("checked_by"), "simgrid");
}

// The slowest of four takes 1.029 spreads of 3.2 % more. Contention: two channels of 80
// multiprocessors, 0.025, and 3 x 1.25 of 900 GB/s at most, 0.004.
TEST_F(ResultJson, ListsWhatWasAssumed) {
  const auto text = changed(small_scenario, "library: plan, algorithm: ring", "library: nccl");
  const json assumed = result(text).at("points").at(0).at("assumed");
  ASSERT_EQ(assumed.size(), 5U);
  EXPECT_EQ(assumed.at(0), "nccl 2.28, assumed: all_reduce by Ring LL128");
  EXPECT_EQ(assumed.at(1),
            "nccl: the cluster's links decide the number of channels; CollNet is not used");
  EXPECT_EQ(
      assumed.at(2),
      "ranks: the slowest rank is assumed to compute 3.3 % longer than average (spread between "
      "ranks and steps: 3.2 %)");
  EXPECT_EQ(assumed.at(3),
            "contention: compute runs 1.03x slower while overlapped with a collective, because of "
            "channels and memory traffic");
  EXPECT_EQ(assumed.at(4),
            "contention: collectives run 1.20x slower while overlapped with compute");
}

}  // namespace
}  // namespace paceline::test
