// paceline compare: one thing is changed in a simulated scenario, and named.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace compare_test {

using nlohmann::json;

// Buckets of 12 MB down to 2 MB of a step whose last ones are exposed.
constexpr const char* four_nodes = R"(schema: paceline/1
name: four nodes
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, repeat: 4, forward: 4ms, backward: 8ms, parameters: [2000000, 1000]}
    - {name: b, repeat: 4, forward: 4ms, backward: 8ms, parameters: [500000, 300]}
cluster: {nodes: 4, gpus_per_node: 1, network: {bandwidth: 10Gbps, latency: 20us}}
training: {strategy: ddp, bucket_cap: 4MiB, torch_version: "1.13", optimizer: {time: 2ms}}
contention: off
sweep: {gpus: [2, 4]}
)";

class Compare : public testing::Test {
 protected:
  void run(const std::string& name, std::vector<std::string> settings,
           const std::string& text = four_nodes) {
    folder_.write("scenario.yaml", text);
    std::vector<std::string> arguments{"run", "scenario.yaml", "--quiet", "--json", name};
    for (std::string& setting : settings) {
      arguments.insert(arguments.end(), {"--set", std::move(setting)});
    }
    const Ended ended = paceline(arguments, folder_.path());
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
  }

  json compared(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    arguments.insert(arguments.end(), {"--json", "-"});
    const Ended ended = paceline(arguments, folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return json::parse(ended.out);
  }

  // What differs between a.json and b.json at every point: a cause with nine tenths of it.
  void expect_named(const std::string& cause) {
    const json result = compared({"a.json", "b.json"});
    EXPECT_EQ(result.at("schema"), "paceline.comparison/1");
    ASSERT_EQ(result.at("pairs").size(), 2U);
    for (const json& pair : result.at("pairs")) {
      const double all = pair.at("difference_s");
      double sum = 0;
      for (const auto& [key, part] : pair.at("parts").items()) sum += part.get<double>();
      EXPECT_NEAR(sum, all, 1e-12);
      EXPECT_EQ(pair.at("mostly"), cause) << pair;
      EXPECT_TRUE(pair.at("is_clear"));
      EXPECT_GT(pair.at("parts").at(cause + "_s").get<double>() / all, 0.9) << pair;
    }
  }

  Folder folder_;
};

TEST_F(Compare, NamesLatency) {
  run("a.json", {});
  run("b.json", {"cluster.network.latency=500us"});
  expect_named("latency");
}

TEST_F(Compare, NamesBandwidth) {
  run("a.json", {});
  run("b.json", {"cluster.network.bandwidth=4Gbps"});
  expect_named("bandwidth");
  run("b.json", {"cluster.network.bandwidth=20Gbps"});
  expect_named("bandwidth");
}

TEST_F(Compare, NamesComputeThatIsSlowerOnAllRanks) {
  run("a.json", {});
  run("b.json", {"workload.layers.0.backward=12ms", "workload.layers.1.backward=12ms"});
  expect_named("compute");
}

TEST_F(Compare, NamesSkewWhereOneRankIsSlower) {
  run("a.json", {});
  run("b.json", {"ranks.slowdown={1: 1.3}"});
  expect_named("skew");
}

TEST_F(Compare, NamesNothingWhereNothingDiffers) {
  run("a.json", {});
  const json same = compared({"a.json", "a.json"});
  for (const json& pair : same.at("pairs")) {
    EXPECT_EQ(pair.at("difference_s"), 0);
    EXPECT_FALSE(pair.at("is_clear"));
  }
}

// One call a step: the line through its size has no height.
TEST_F(Compare, DoesNotTellLatencyFromBandwidthInCallsOfOneSize) {
  run("a.json", {"training={strategy: bulk_synchronous}"});
  run("b.json", {"training={strategy: bulk_synchronous}", "cluster.network.latency=5ms"});
  const json both = compared({"a.json", "b.json"});
  for (const json& pair : both.at("pairs")) {
    EXPECT_FALSE(pair.at("latency_told_apart"));
    EXPECT_EQ(pair.at("mostly"), "bandwidth");
    EXPECT_EQ(pair.at("parts").at("latency_s"), 0);
  }
  const Ended table = paceline({"compare", "a.json", "b.json"}, folder_.path());
  EXPECT_NE(table.out.find("bandwidth or latency"), std::string::npos) << table.out;
}

TEST_F(Compare, PairsPointsByTheirAxesAndSaysWhichAreAlone) {
  run("a.json", {"sweep.cluster.network.latency=[20us, 1ms]"});
  run("b.json", {"sweep.cluster.network.latency=[1ms, 3ms]", "sweep.gpus=[4]"});
  const json result = compared({"a.json", "b.json"});
  ASSERT_EQ(result.at("pairs").size(), 1U);
  EXPECT_EQ(result.at("pairs").at(0).at("gpus"), 4);
  EXPECT_EQ(result.at("pairs").at(0).at("difference_s"), 0);
  EXPECT_EQ(result.at("without_partner"),
            json::parse(R"(["A: 2 GPUs, cluster.network.latency=2e-05 s",
                            "A: 2 GPUs, cluster.network.latency=0.001 s",
                            "A: 4 GPUs, cluster.network.latency=2e-05 s",
                            "B: 4 GPUs, cluster.network.latency=0.003 s"])"));
}

// Published points have a step and nothing of what it is made of.
TEST_F(Compare, LaysPredictedBesideMeasuredOfOneFile) {
  run("a.json", {},
      std::string(four_nodes) + "measured: {source: s, points: [{gpus: 4, step: 200ms}]}\n");
  const json result = compared({"a.json"});
  ASSERT_EQ(result.at("pairs").size(), 1U);
  const json& pair = result.at("pairs").at(0);
  EXPECT_EQ(pair.at("a").at("is"), "predicted");
  EXPECT_EQ(pair.at("b").at("is"), "measured");
  EXPECT_NEAR(pair.at("b").at("step_s"), 0.2, 1e-12);
  EXPECT_EQ(pair.at("mostly"), "rest");
  EXPECT_EQ(result.at("without_partner").size(), 1U);
  const json predicted = compared({"a.json", "a.json", "--side", "predicted"});
  EXPECT_EQ(predicted.at("pairs").at(1).at("a").at("is"), "predicted");
  EXPECT_EQ(compared({"a.json", "a.json"}).at("pairs").at(1).at("a").at("is"), "measured");
}

// A network without calls is not split, and compute still is told from it.
TEST_F(Compare, WorksOnResultsWithoutCalls) {
  const auto without_calls = [&](const std::string& name) {
    json result = json::parse(text_of(folder_.path() / name));
    for (json& point : result.at("points")) point.at("predicted").erase("calls");
    folder_.write(name, result.dump());
  };
  run("a.json", {});
  run("b.json", {"cluster.network.bandwidth=4Gbps"});
  without_calls("a.json");
  without_calls("b.json");
  expect_named("bandwidth");
}

TEST_F(Compare, RefusesBadFilesInOneLine) {
  run("good.json", {});
  const json good = json::parse(text_of(folder_.path() / "good.json"));
  const auto refused = [&](const std::string& text, const std::string& message) {
    folder_.write("bad.json", text);
    for (const auto& files : {std::vector<std::string>{"bad.json", "good.json"},
                              std::vector<std::string>{"good.json", "bad.json"}}) {
      expect_refused(paceline({"compare", files[0], files[1]}, folder_.path()),
                     "paceline: bad.json: " + message);
    }
  };
  refused("", "cannot be read: nothing is in it");
  refused("{", "is not JSON: ");
  refused("\xff\xfe\n\n", "is not JSON: ");
  refused(std::string(100'000, '['), "is not JSON: ");
  refused("[1e999]", "is not ");
  refused("3", "is not a paceline.result/1; ");
  refused("{\"schema\": \"paceline.result/2\"}", "is not a paceline.result/1; ");
  refused("{\"schema\": \"paceline.result/1\"}", "is not a paceline.result/1: ");
  const auto changed_to = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    return changed.dump();
  };
  const std::string second = "is not a paceline.result/1: points: [1]: ";
  refused(changed_to("/points/1/predicted/step_s", 0), second + "step_s is zero");
  refused(changed_to("/points/1/predicted/step_s", -1), second + "step_s: is not a time");
  refused(changed_to("/points/1/predicted/step_s", "x"), second);
  refused(changed_to("/points/1/gpus", 0), second + "gpus is not a number of GPUs");
  refused(changed_to("/points/1/gpus", 4294967296), second + "gpus: not a whole number that fits");
  refused(changed_to("/points/1/axes", 7), second);
  refused(changed_to("/points/1/predicted/calls", json::object()), second);
  refused(changed_to("/points/1/predicted/calls/0/size_bytes", -4),
          second + "calls: [0]: size_bytes: not a whole ");
}

TEST_F(Compare, RefusesFilesThatAreNotThere) {
  expect_refused(paceline({"compare", "no.json"}, folder_.path()),
                 "paceline: no.json: cannot be read: No such file or directory");
  run("a.json", {});
  expect_refused(paceline({"compare", "a.json"}, folder_.path()),
                 "paceline: a.json: has no point that is both predicted and measured; ");
  expect_refused(paceline({"compare", "a.json", "a.json", "--side", "measured"}, folder_.path()),
                 "paceline: a.json: has no point with ");
  expect_refused(paceline({"compare", "a.json", "--side", "measured"}, folder_.path()),
                 "paceline: --side: chooses ");
}

}  // namespace compare_test
}  // namespace paceline::test
