// `paceline calibrate --cluster` and what takes its calibrations, through the built program.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace calibrate_machine_test {

using nlohmann::json;

// Four GPUs in a square whose sides have two lanes of 20 GB/s: two rings each way round all of it,
// 80 GB/s, and two between two neighbours, 40 GB/s. Three have no way round but by a host: 10 GB/s.
const std::string node =
    "gpus_per_node: 4\nintra_node: {kind: nvlink_mesh, bandwidth: 20GBps, latency: 1us, "
    "host_bandwidth: 10GBps,\n  lanes: [[0, 2, 0, 2], [2, 0, 2, 0], [0, 2, 0, 2], [2, 0, 2, 0]]}\n";
const std::string network = "network: {bandwidth: 100Gbps, latency: 3us}\n";

// A log of all-reduces that take 20 us and what rings of that bandwidth need.
std::string table_of(int gpus, double bytes_per_us) {
  std::string text = "# collective: all_reduce\n# GPUs: " + std::to_string(gpus) +
                     "\n# nodes: 1\nsize(B),time(us)\n";
  for (int octave = 16; octave <= 28; ++octave) {
    const double bytes = static_cast<double>(1U << octave);
    text += std::to_string(1U << octave) + "," +
            std::to_string(20 + 2.0 * (gpus - 1) / gpus * bytes / bytes_per_us) + "\n";
  }
  return text;
}

class CalibrateMachine : public testing::Test {
 protected:
  CalibrateMachine() {
    (void)folder_.write("square.yaml",
                        "schema: paceline.cluster/1\nname: square\n" + node + network);
    (void)folder_.write("two.csv", table_of(2, 40e3));
    (void)folder_.write("four.csv", table_of(4, 80e3));
  }
  [[nodiscard]] Ended calibrate(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"calibrate", "-o", "made.yaml", "four.csv"};
    all.insert(all.end(), more.begin(), more.end());
    return paceline(all, folder_.path());
  }
  // The summary of what is predicted of two GPUs.
  [[nodiscard]] json two_gpus() const {
    const Ended ended = paceline(
        {"validate", "--calibration", "made.yaml", "--json", "-", "two.csv"}, folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return json::parse(ended.out).at("collectives_predicted").at("paceline");
  }
  // One step on a node of so many of the square's GPUs.
  [[nodiscard]] Ended step_on(int gpus) const {
    std::string text =
        changed(small_scenario, "collective: {library: plan, algorithm: ring}\n", "");
    const auto from = text.find("cluster:"), to = text.find("training:");
    text.replace(from, to - from, "cluster: {preset: square.yaml, calibration: made.yaml}\n");
    text += "gpus: " + std::to_string(gpus) + "\n";
    (void)folder_.write("step.yaml", text);
    return paceline({"run", "step.yaml"}, folder_.path());
  }

  Folder folder_;
};

TEST_F(CalibrateMachine, TellsAGroupThatNoLogHas) {
  ASSERT_EQ(calibrate({}).exit_code, 0);
  EXPECT_GT(two_gpus().at("geometric_mean_percent"), 30);
  const Ended made = calibrate({"--cluster", "square.yaml"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(
      made.out.find("square.yaml: rings of 1, 2, ... ranks a node carry, in a node and between "
                    "nodes, of what all do: 1 and 1, 0.5 and 1, 0.5 and 1, 1 and 1\n"),
      std::string::npos)
      << made.out;
  EXPECT_LT(two_gpus().at("geometric_mean_percent"), 15);
  EXPECT_EQ(step_on(2).exit_code, 0);
}

TEST_F(CalibrateMachine, IsAskedForWhereALogOfAMeshLacks) {
  ASSERT_EQ(calibrate({}).exit_code, 0);
  EXPECT_EQ(step_on(4).exit_code, 0);
  expect_refused(
      step_on(2),
      "paceline: cluster.calibration: has no log of all_reduce with 2 ranks a node, and a "
      "mesh has other rings for each number; calibrate again with --cluster NAME, or with "
      "such a log");
  ASSERT_EQ(calibrate({"two.csv"}).exit_code, 0);
  EXPECT_EQ(step_on(2).exit_code, 0);
}

TEST_F(CalibrateMachine, IsRefusedWhereItIsASmallerOne) {
  ASSERT_EQ(calibrate({"--cluster", "square.yaml"}).exit_code, 0);
  (void)folder_.write("eight.csv", table_of(8, 80e3));
  expect_refused(
      paceline({"validate", "--calibration", "made.yaml", "eight.csv"}, folder_.path()),
      "paceline: eight.csv: has 8 ranks a node, and square.yaml 4; take a calibration of "
      "the machine that the log is of");
  expect_refused(
      paceline({"calibrate", "-o", "other.yaml", "eight.csv", "--cluster", "square.yaml"},
               folder_.path()),
      "paceline: eight.csv: has 8 ranks a node, and square.yaml 4; name the machine that "
      "the logs are of");
  (void)folder_.write("square.yaml",
                      "schema: paceline.cluster/1\nname: eight\ngpus_per_node: 8\n"
                      "intra_node: {kind: nvswitch, bandwidth: 80GBps, latency: 1us}\n");
  expect_refused(step_on(8),
                 "paceline: cluster.calibration: is of another machine: the cluster has 8 ranks a "
                 "node, and square.yaml 4; calibrate again with --cluster of this machine");
}

TEST_F(CalibrateMachine, IsOneThatIsKnown) {
  expect_refused(calibrate({"--cluster", "dgx1-v10"}), "paceline: ");
  expect_refused(calibrate({"--cluster", "absent.yaml"}), "paceline: ");
}

}  // namespace calibrate_machine_test
}  // namespace paceline::test
