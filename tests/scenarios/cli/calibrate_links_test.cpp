// Ping-pongs through `paceline calibrate`, and what `run` makes of them.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace calibrate_links_test {

const std::string fixtures = std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/ping_pong/";

class CalibrateLinks : public testing::Test {
 protected:
  [[nodiscard]] Ended calibrate(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"calibrate", "-o", "links.yaml"};
    all.insert(all.end(), more.begin(), more.end());
    return paceline(all, folder_.path());
  }
  [[nodiscard]] double step(std::vector<std::string> settings) const {
    settings.insert(settings.begin(), {"run", "s.yaml", "--json", "-", "--quiet"});
    const Ended ended = paceline(settings, folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const auto result = nlohmann::json::parse(ended.out);
    return result.at("points").at(0).at("predicted").at("step_s").get<double>();
  }

  Folder folder_;
};

// A scenario with the calibration takes as long as one that names what the fixture was made from.
TEST_F(CalibrateLinks, GivesARunTheNetworkThatWasMeasured) {
  const Ended made = calibrate({fixtures + "osu_latency.txt", "--between", "nodes"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("network: 24 sizes of osu_latency.txt"), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("switches of protocol seen above 8KiB"), std::string::npos) << made.out;
  folder_.write("s.yaml", small_scenario);
  const std::string calibrated = "cluster.calibration=links.yaml";
  const double by_fit = step({"--set", calibrated});
  const double by_hand = step({"--set", "cluster.network={latency: 2us, bandwidth: 10GBps}"});
  const double without = step({});
  EXPECT_NEAR(by_fit - by_hand, 0, 0.01 * (without - by_hand));
  const Ended run =
      paceline({"run", "s.yaml", "--assumptions", "--set", calibrated}, folder_.path());
  EXPECT_NE(run.out.find("calibrated: network uses 2.005us and 10GBps from osu_latency.txt"),
            std::string::npos)
      << run.out;
  // A setting is what is asked for.
  EXPECT_GT(step({"--set", calibrated, "--set", "cluster.network.latency=1ms"}), by_fit + 1e-3);
}

TEST_F(CalibrateLinks, ShowsInTheClusterThatIsExplained) {
  ASSERT_EQ(calibrate({fixtures + "table.csv"}).exit_code, 0);
  folder_.write("s.yaml", small_scenario);
  const Ended ended =
      paceline({"run", "s.yaml", "--explain-cluster", "--set", "cluster.calibration=links.yaml"},
               folder_.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("calibrated: intra_node uses"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("GPU port       1 GPU         50GBps"), std::string::npos) << ended.out;
}

TEST_F(CalibrateLinks, IsNotNeededByCallsThatLogsTell) {
  const std::string log =
      std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/logs/rtx3090-2node.csv";
  folder_.write("s.yaml", small_scenario);
  ASSERT_EQ(calibrate({log}).exit_code, 0);
  const double by_log = step({"--set", "cluster.calibration=links.yaml"});
  const Ended made = calibrate({log, fixtures + "osu_latency.txt", "--between", "nodes"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(step({"--set", "cluster.calibration=links.yaml"}), by_log);
  EXPECT_NE(by_log, step({}));
}

// Of calls that logs tell no plan is made; what they do not tell needs the switches that it names.
TEST_F(CalibrateLinks, LeavesPlansOfSwitchesToClustersThatHaveThem) {
  folder_.write("s.yaml", small_scenario);
  const std::vector<std::string> by_switches{
      "run",   "s.yaml",
      "--set", "cluster.calibration=links.yaml",
      "--set", "cluster.gpus_per_node=2",
      "--set", "cluster.intra_node={kind: pcie, bandwidth: 10GBps}",
      "--set", "collective={library: plan, algorithm: nvls}"};
  const std::string logs = std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/logs/";
  ASSERT_EQ(calibrate({logs + "rtx3090-2node.csv"}).exit_code, 0);
  const Ended known = paceline(by_switches, folder_.path());
  EXPECT_EQ(known.exit_code, 0) << known.err;
  ASSERT_EQ(calibrate({fixtures + "table.csv"}).exit_code, 0);
  expect_refused(paceline(by_switches, folder_.path()),
                 "paceline: collective.algorithm: \"nvls\" is for nodes on NVSwitch; name another");
}

TEST_F(CalibrateLinks, SkipsRowsThatCannotBeWithTheirLine) {
  const Ended ended = calibrate({fixtures + "imb_ping_pong.txt", "--between", "gpus"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("imb_ping_pong.txt:35: skipped: a time of \"needed\""),
            std::string::npos)
      << ended.out;
}

TEST_F(CalibrateLinks, RefusesWhatDoesNotSayWhatLiesBetween) {
  const std::string osu = fixtures + "osu_latency.txt";
  expect_refused(calibrate({osu}), "paceline: " + osu +
                                       ":7: does not say what lies between the two ranks; add "
                                       "--between nodes or gpus");
  const std::string table = fixtures + "table.csv";
  expect_refused(calibrate({table, "--between", "nodes"}),
                 "paceline: " + table + ":14: is of intra_node, as it says");
  expect_refused(calibrate({osu, "--between", "racks"}),
                 "paceline: --between: \"racks\" is not known; known: nodes, gpus");
}

TEST_F(CalibrateLinks, RefusesTooLittle) {
  const std::string start = "# ping_pong: network\nsize(B),time(us)\n";
  folder_.write("few.csv", start + "0,2\n8,2\n");
  expect_refused(calibrate({"few.csv"}),
                 "paceline: few.csv: has times of 2 sizes only; a fit takes at least 6");
  folder_.write("none.csv", start + "0,-2\n");
  expect_refused(calibrate({"none.csv"}),
                 "paceline: none.csv:3: none of the table's 1 rows can be used: a time of \"-2\"");
  folder_.write("moon.csv", "# ping_pong: moon\n");
  expect_refused(calibrate({"moon.csv"}), "paceline: moon.csv:1: says a ping-pong of \"moon\"");
}

TEST_F(CalibrateLinks, AreNoLogsToValidate) {
  ASSERT_EQ(calibrate({fixtures + "table.csv"}).exit_code, 0);
  const std::string table = fixtures + "table.csv";
  expect_refused(paceline({"validate", "--calibration", "links.yaml", table}, folder_.path()),
                 "paceline: " + table + ": is a ping-pong, not a log of collectives");
}

}  // namespace calibrate_links_test
}  // namespace paceline::test
