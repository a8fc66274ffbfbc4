// --known: what a user measured of a point, on the command line.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace known_test {

using nlohmann::json;
using test::changed;
using test::Ended;
using test::expect_refused;
using test::Folder;
using test::paceline;
using test::small_scenario;

class KnownOption : public testing::Test {
 protected:
  // Of a command on the small scenario, which has four GPUs.
  [[nodiscard]] Ended ended(std::vector<std::string> arguments, const std::string& end = "") const {
    folder_.write("scenario.yaml", changed(small_scenario, "", end));
    return paceline(std::move(arguments), folder_.path());
  }

  Folder folder_;
};

constexpr const char* row = "gpus=2,throughput=2000 samples/s";

TEST_F(KnownOption, IsShownBesideThePredictionOfItsPoint) {
  const Ended run = ended({"run", "scenario.yaml", "--known", row});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("% known"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("measured: --known"), std::string::npos) << run.out;
}

TEST_F(KnownOption, IsInTheResult) {
  const json result =
      json::parse(ended({"run", "scenario.yaml", "--known", row, "--json", "-"}).out);
  ASSERT_EQ(result.at("points").size(), 2U);
  EXPECT_EQ(result.at("points").at(0).at("gpus"), 2);
  EXPECT_EQ(result.at("points").at(0).at("measured").at("known"), true);
  EXPECT_EQ(result.at("points").at(0).at("measured").at("throughput_per_s"), 2000);
  EXPECT_TRUE(result.at("points").at(1).at("measured").is_null());
  EXPECT_EQ(result.at("context").at("settings"),
            json::parse(R"(["known=gpus=2,throughput=2000 samples/s"])"));
}

// Student's 2.015 of five degrees of freedom, times 2 % unless the row says another.
TEST_F(KnownOption, HasTheIntervalOfItsDeviation) {
  const auto interval_of = [&](const std::string& more) {
    const json described = json::parse(ended({"run", "scenario.yaml", "--json", "-"}).out);
    const json& four = described.at("points").back().at("predicted");
    const std::string known =
        "gpus=4,step=" + std::to_string(four.at("step_s").get<double>() * 1e6) + "us" + more;
    const Ended run = ended({"run", "scenario.yaml", "--known", known, "--json", "-"});
    const json point = json::parse(run.out).at("points").back().at("predicted");
    return std::log(point.at("step_s_high").get<double>() / point.at("step_s").get<double>());
  };
  EXPECT_NEAR(interval_of(""), 2.015 * 0.02, 1e-3);
  EXPECT_NEAR(interval_of(",std=0.1"), 2.015 * 0.1, 1e-3);
}

TEST_F(KnownOption, MayBeGivenSeveralTimes) {
  const json result = json::parse(
      ended({"run", "scenario.yaml", "--known", row, "--known", "gpus=8,step=9ms", "--json", "-"})
          .out);
  ASSERT_EQ(result.at("points").size(), 3U);
  EXPECT_TRUE(result.at("points").at(1).at("measured").is_null());
  EXPECT_EQ(result.at("points").at(2).at("measured").at("known"), true);
}

// Of three measured points, one is told: two are judged.
TEST_F(KnownOption, IsJudgedByNone) {
  const std::string points =
      "sweep: {gpus: [2, 4, 8]}\nmeasured:\n  source: a test\n  points:\n"
      "    - {gpus: 2, throughput: 2000 samples/s}\n"
      "    - {gpus: 4, throughput: 4000 samples/s}\n"
      "    - {gpus: 8, throughput: 8000 samples/s}\n";
  const Ended all = ended({"validate", "scenario.yaml", "--known", row, "--json", "-"}, points);
  EXPECT_EQ(json::parse(all.out).at("rows").size(), 2U) << all.err;
}

TEST_F(KnownOption, IsTakenByAllThatPredict) {
  for (const char* command : {"advise", "strategies"}) {
    const Ended made = ended({command, "scenario.yaml", "--known", row, "--json", "-"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    expect_refused(ended({command, "scenario.yaml", "--known", "gpus=3,step=1s"}),
                   "paceline: --known gpus=3,step=1s: gpus \"3\" does not fill nodes of 2 GPUs");
  }
  const Ended swept = ended({"sweep", "scenario.yaml", "--store", "s.db", "--known", row});
  EXPECT_EQ(swept.exit_code, 0) << swept.err;
  EXPECT_NE(swept.out.find("2 points"), std::string::npos) << swept.out;
}

// Two GPUs took 8 ms, and 7.04 were predicted: what several cost each other is more, on four, too.
TEST_F(KnownOption, MovesWhatIsAdvised) {
  const auto step = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"advise", "scenario.yaml", "--json", "-"});
    return json::parse(ended(std::move(arguments)).out).at("step_s").get<double>();
  };
  EXPECT_GT(step({"--known", row}), 1.05 * step({}));
  EXPECT_NEAR(step({"--known", "gpus=2,step=7.04ms"}), step({}), 0.01 * step({}));
}

TEST_F(KnownOption, SaysInOneLineWhatIsWrong) {
  expect_refused(ended({"run", "scenario.yaml", "--known", "gpus=2"}),
                 "paceline: --known gpus=2: has no figure; write --known \"gpus=2,");
  expect_refused(ended({"run", "scenario.yaml", "--known", "gpus=1,throughput=350 samples/s"}),
                 "paceline: --known gpus=1,throughput=350 samples/s: is of one GPU, whose speed is "
                 "an input; write --set \"workload.single_gpu_throughput=350 samples/s\"");
  folder_.write("other.yaml", std::string(small_scenario));
  expect_refused(ended({"strategies", "scenario.yaml", "other.yaml", "--known", row}),
                 std::string("paceline: --known ") + row +
                     ": describes one scenario, and 2 are given; give one, or mark ");
  expect_refused(ended({"validate", "--loop", "scenario.yaml", "--known", row}),
                 std::string("paceline: --known ") + row + ": has no effect: --loop ");
  expect_refused(ended({"validate", "scenario.yaml", "--leave-out", "source", "--known", row}),
                 std::string("paceline: --known ") + row + ": has no effect: --leave-out ");
}

}  // namespace known_test
}  // namespace paceline
