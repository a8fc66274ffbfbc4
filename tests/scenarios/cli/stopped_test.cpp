// A signal ends commands that predict much with what is done by then.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace stopped_test {

namespace fs = std::filesystem;
using nlohmann::json;

class StoppedCommand : public testing::Test {
 protected:
  StoppedCommand() {
    fs::copy_file(PACELINE_BINARY, folder_.path() / "paceline");
    const std::string flow = changed(small_scenario, "fidelity: folded", "fidelity: flow");
    folder_.write("scenario.yaml", flow);
    const std::string measured =
        flow +
        "sweep: {gpus: [1, 2, 4]}\n"
        "measured: {source: a test, points: [{gpus: 2, throughput: 1000 samples/s}, "
        "{gpus: 4, throughput: 2000 samples/s}]}\n";
    folder_.write("measured.yaml", measured);
    folder_.write("again.yaml", measured);
    folder_.write("result.json", "old");
  }

  // The first `count` simulations are done, the next one hangs.
  void hang_after(int count) const {
    folder_.write("count", "0");
    fs::remove(folder_.path() / "hung");
    folder_.write("paceline-sim",
                  "#!/bin/sh\n"
                  "while read -r line; do\n"
                  "  n=$(($(cat count) + 1)); echo $n > count\n"
                  "  if [ $n -gt " +
                      std::to_string(count) +
                      " ]; then echo > hung; sleep 60; fi\n"
                      "  printf '%s\\n' \"$line\" | " PACELINE_SIM_BINARY
                      "\n"
                      "done\n");
    fs::permissions(folder_.path() / "paceline-sim", fs::perms::owner_all);
  }

  struct Left {
    int signal = 0;
    std::string out, err;
    json result;  // null: the old one
  };

  // Runs the command until a simulation hangs, then interrupts it.
  Left interrupted(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), (folder_.path() / "paceline").string());
    arguments.insert(arguments.end(), {"--json", "result.json"});
    const Started command(arguments, folder_.path());
    while (!fs::exists(folder_.path() / "hung") && !command.has_ended()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(command.process(), SIGINT);
    const Ended ended = command.end();
    Left left{ended.signal, ended.out, ended.err, {}};
    const std::string result = text_of(folder_.path() / "result.json");
    if (result != "old") left.result = json::parse(result);
    return left;
  }

  Folder folder_;
};

void expect_kept(const std::string& done, const json& result, const std::string& err, int signal) {
  EXPECT_EQ(signal, SIGINT);
  EXPECT_EQ(err, "paceline: stopped by a signal; done: " + done + "\n");
  ASSERT_FALSE(result.is_null());
  EXPECT_EQ(result.at("complete"), false);
}

TEST_F(StoppedCommand, StrategiesKeepsTheStepsThatAreDone) {
  hang_after(3);
  const auto [signal, out, err, result] =
      interrupted({"strategies", "scenario.yaml", "--jobs", "1"});
  const auto& rows = result.at("comparisons").at(0).at("strategies");
  expect_kept(std::to_string(rows.size()) + " steps", result, err, signal);
  EXPECT_GE(rows.size(), 1U);
  EXPECT_TRUE(rows.at(0).at("step_s").is_number());
  EXPECT_EQ(out.find("fastest"), std::string::npos) << "of some nobody knows";
}

TEST_F(StoppedCommand, ValidateKeepsThePointsThatAreDone) {
  hang_after(2);
  const auto [signal, out, err, result] =
      interrupted({"validate", "measured.yaml", "again.yaml", "--jobs", "1"});
  const auto& rows = result.at("rows");
  expect_kept(std::to_string(rows.size()) + " points", result, err, signal);
  EXPECT_EQ(rows.size(), 1U);
}

TEST_F(StoppedCommand, AdviseKeepsWhatLimitsTheStep) {
  hang_after(4);
  const auto [signal, out, err, result] = interrupted({"advise", "scenario.yaml", "--jobs", "1"});
  expect_kept(std::to_string(result.at("variants").get<int>()) + " variants", result, err, signal);
  EXPECT_TRUE(result.at("step_s").is_number());
  EXPECT_NE(out.find("limited by"), std::string::npos);
}

// The first step takes milliseconds, the next one hangs.
TEST_F(StoppedCommand, AdviseKeepsThemAtItsTimeLimit) {
  hang_after(4);
  const Ended ended =
      run_program({(folder_.path() / "paceline").string(), "advise", "scenario.yaml", "--jobs", "1",
                   "--time-limit", "3s", "--json", "result.json"},
                  folder_.path());
  EXPECT_EQ(ended.signal, SIGALRM);
  EXPECT_NE(ended.out.find("unfinished)"), std::string::npos) << ended.out;
  const json result = json::parse(text_of(folder_.path() / "result.json"));
  EXPECT_EQ(result.at("complete"), false);
  EXPECT_EQ(ended.err, "paceline: stopped by --time-limit; done: " +
                           std::to_string(result.at("variants").get<int>()) + " variants\n");
}

TEST_F(StoppedCommand, ClaimsKeepsThoseThatWerePutToTheTestWhole) {
  for (const char* name : {"first", "second"}) {
    folder_.write(std::string(name) + ".yaml",
                  "schema: paceline.claim/1\n"
                  "claim: two nodes are faster\n"
                  "source: a test\n"
                  "scenario: scenario.yaml\n"
                  "before: [{gpus: 2}]\n"
                  "after: [{gpus: 4}]\n"
                  "quantity: throughput_ratio\n"
                  "range: {least: 1.0}\n"
                  "conditions: {workload.batch_per_gpu: [4, 8" +
                      std::string(*name == 's' ? ", 16" : "") + "]}\n");
  }
  hang_after(1000);
  ASSERT_EQ(
      run_program({(folder_.path() / "paceline").string(), "claims", "first.yaml"}, folder_.path())
          .exit_code,
      0);
  hang_after(std::stoi(text_of(folder_.path() / "count")));
  const auto [signal, out, err, result] = interrupted({"claims", "first.yaml", "second.yaml"});
  expect_kept("1 of 2 claims", result, err, signal);
  EXPECT_EQ(result.at("claims").size(), 1U);
}

TEST_F(StoppedCommand, CollectiveKeepsTheSizesThatAreDone) {
  hang_after(2);
  const auto [signal, out, err, result] =
      interrupted({"collective", "dgx1-v100", "--gpus", "16", "--min", "1MiB", "--max", "64MiB",
                   "--fidelity", "flow", "--jobs", "1"});
  expect_kept("2 of 7 sizes", result, err, signal);
  EXPECT_EQ(result.at("rows").size(), 2U);
}

TEST_F(StoppedCommand, LeavesTheResultBeforeWhereNothingIsDone) {
  for (const char* command : {"strategies", "advise", "validate"}) {
    hang_after(0);
    const auto [signal, out, err, result] = interrupted({command, "measured.yaml", "--jobs", "1"});
    EXPECT_EQ(signal, SIGINT);
    EXPECT_EQ(out, "") << command;
    EXPECT_EQ(err, "paceline: stopped by a signal\n") << command;
    EXPECT_TRUE(result.is_null()) << command;
  }
}

}  // namespace stopped_test
}  // namespace paceline::test
