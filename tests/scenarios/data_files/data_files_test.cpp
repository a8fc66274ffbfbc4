// Files of the other kinds, which a scenario names: networks, devices and clusters that are bad.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

class BadDataFiles : public testing::Test {
 protected:
  // What a run of the scenario says.
  Ended run(std::string_view text) {
    folder_.write("good.yaml", text);
    return paceline({"run", "good.yaml"}, folder_.path());
  }

  Folder folder_;
};

TEST_F(BadDataFiles, AreRefusedAtTheirOwnLines) {
  const auto run_with = [&](const char* key, const char* value, std::string_view text) {
    folder_.write("mine.yaml", text);
    const std::string scenario = folder_.write("good.yaml", small_scenario);
    return paceline({"run", scenario, "--set", std::string(key) + "=" + value, "--set",
                     "workload.layers=[{forward: 1ms, backward: 2ms}]"},
                    folder_.path());
  };
  expect_refused(run_with("workload.device", "mine.yaml", "shcema: paceline.device/1\n"),
                 "paceline: mine.yaml:1:1: unknown key \"shcema\"; did you mean schema?");
  expect_refused(run_with("workload.device", "mine.yaml", "schema: paceline.device/1\nnmae: x\n"),
                 "paceline: mine.yaml:2:1: unknown key \"nmae\"; did you mean name?");
  expect_refused(run_with("workload.device", "mine.yaml", "schema: paceline.device/2\n"),
                 "paceline: mine.yaml:1:9: schema \"paceline.device/2\" is not paceline.device/1");
  expect_refused(run_with("cluster.preset", "mine.yaml",
                          "schema: paceline.cluster/1\nname: x\ngpus_per_nodes: 4\n"),
                 "paceline: mine.yaml:3:1: unknown key \"gpus_per_nodes\"; did you mean");
  expect_refused(run_with("cluster.preset", "mine.yaml", "schema: paceline.cluster/1\n---\na: b\n"),
                 "paceline: mine.yaml:2:1: starts a second document");
}

TEST_F(BadDataFiles, MayBeNetworksWithMisspeltLayers) {
  const std::string scenario =
      changed(small_scenario,
              "  layers:\n    - {name: a, forward: 1ms, backward: 2ms, parameters: [1000, 20]}\n"
              "    - {name: b, forward: 1ms, backward: 2ms, parameters: [3000]}\n",
              "  model: mine.yaml\n");
  const std::string head = "schema: paceline.network/1\nname: mine\nlayers:\n";
  folder_.write("mine.yaml", head + "  - {linaer: fc, in: 3, out: 4}\n");
  expect_refused(run(scenario),
                 "paceline: mine.yaml:4:6: unknown key \"layers.linaer\"; did you mean linear?");
  folder_.write("mine.yaml", head + "  - {conv: c, in: 3, out: 4, kernle: 1}\n");
  expect_refused(run(scenario),
                 "paceline: mine.yaml:4:30: unknown key \"layers.kernle\"; did you mean kernel?");
  folder_.write("mine.yaml", head + "  - {in: 3, out: 4}\n");
  expect_refused(run(scenario), "paceline: mine.yaml:4:5: a layer of no known kind");
  folder_.write("mine.yaml", head +
                                 "  - {conv: c, in: 6, out: 4, kernel: 1, stride: 1, "
                                 "out_size: 1, groups: 4}\n");
  expect_refused(run(scenario),
                 "paceline: mine.yaml:4:73: groups \"4\" does not divide in and out");
}

}  // namespace
}  // namespace paceline::test
