#include "scenarios/calibration/learnt_steps.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "scenarios/calibration/calibration.h"
#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace {

using uncertain::Unknown;

constexpr std::string_view learnt_file = R"yaml(schema: paceline.calibration/1
learnt:
  - scenario: "a.yaml"
    sha256: 12ab
    settings: "batch_per_gpu=8"
    rows:
      - gpus_per_node: 4
        nodes: 2
        intra_node: pcie
        transport: tcp
        measured: 0.25
        node: "PCIe with peers"
        network: "TCP of own hosts"
        hides_behind_slow: true
        box: 0.5
        compute: 0.014
        moves:
          compute: [[-0.25, -0.125], [0.25, 0.125]]
          network: [[-1, -0.1], [-0.3, -0.05], [0.3, 0.1], [1, 0.5]]
          overlap: [[0.5, 0.125], [1, 0.375]]
        believed:
          network: "1.25x (1.1x to 1.4x)"
)yaml";

Calibration read(std::string_view text) {
  const test::Folder folder;
  return read_calibration(folder.write("c.yaml", text));
}

std::string written(const Calibration& calibration) {
  std::ostringstream text;
  write_calibration(text, calibration);
  return text.str();
}

std::string message_of(const std::string& from, const std::string& to) {
  try {
    (void)read(test::changed(learnt_file, from, to));
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("c.yaml"));
  }
  ADD_FAILURE() << "is read: " << to;
  return "";
}

TEST(LearntSteps, AreReadAsTheyAreWritten) {
  const Calibration calibration = read(learnt_file);
  ASSERT_EQ(calibration.learnt.size(), 1U);
  const LearntSteps& steps = calibration.learnt.front();
  EXPECT_EQ(steps.scenario, "a.yaml");
  EXPECT_EQ(steps.settings, "batch_per_gpu=8");
  ASSERT_EQ(steps.rows.size(), 1U);
  EXPECT_EQ(steps.rows.front().intra_node, topology::IntraNodeKind::pcie);
  EXPECT_EQ(steps.rows.front().transport, topology::Transport::tcp);
  const uncertain::KnownRow& row = steps.rows.front().known;
  EXPECT_EQ(row.measured, 0.25);
  EXPECT_EQ(row.response.place.log2_ranks, 3);
  EXPECT_EQ(row.response.place.log2_gpus_per_node, 2);
  EXPECT_EQ(row.response.place.log2_nodes, 1);
  EXPECT_EQ(row.response.place.network, uncertain::LinkClass::tcp_own);
  EXPECT_TRUE(row.response.place.hides_behind_slow);
  // Half way from 0 to 0.3, and from 0 to -0.3.
  EXPECT_DOUBLE_EQ(row.response.at(Unknown::network, 0.15), 0.05);
  EXPECT_DOUBLE_EQ(row.response.at(Unknown::network, -0.15), -0.025);
  EXPECT_EQ(row.response.at(Unknown::wrapper, 1), 0);
  EXPECT_TRUE(calibration.fits.empty());
  EXPECT_TRUE(calibration.links.empty());
  const std::string again = written(calibration);
  EXPECT_EQ(written(read(again)), again);
}

TEST(LearntSteps, AreFoundByTheLoaderWithoutBeingRead) {
  const test::Folder folder;
  const std::string path = (folder.path() / "c.yaml").string();
  // Which of its two parts the scenario has.
  const auto parts = [&] {
    const Scenario scenario = scenario_of_options(
        small_values(), {{"cluster.gpus_per_node", "1"}, {"cluster.calibration", path}});
    return std::pair(scenario.calibration == path, scenario.learnt == path);
  };
  EXPECT_EQ(parts(), std::pair(true, false));  // whoever reads it says that it is not there
  folder.write("c.yaml", learnt_file);
  EXPECT_EQ(parts(), std::pair(false, true));
  // Written anew, it is looked at anew.
  folder.write("c.yaml", std::string(learnt_file) + "links: []\n");
  EXPECT_EQ(parts(), std::pair(true, true));
  folder.write("c.yaml", "schema: paceline.calibration/1\ncollectives: []\n");
  EXPECT_EQ(parts(), std::pair(true, false));
}

TEST(LearntSteps, AreRefusedWithTheirPlace) {
  EXPECT_EQ(message_of("measured: 0.25", "measured: long").find("c.yaml:11:19: measured \"long\""),
            0U);
  EXPECT_EQ(message_of("nodes: 2", "nods: 2").find("c.yaml:8:9: "), 0U);
  EXPECT_EQ(message_of("measured: 0.25", "measured: 50").find("c.yaml:11:19: measured \"50\""), 0U);
  EXPECT_EQ(message_of("transport: tcp", "transport: udp").find("c.yaml:10:20: transport"), 0U);
  EXPECT_EQ(message_of("\"TCP of own hosts\"", "wires").find("c.yaml:13:18: network"), 0U);
  EXPECT_EQ(message_of("[0.5, 0.125]", "[1.5, 0.125]").find("c.yaml:20:22: "), 0U);
  EXPECT_NE(message_of("[-0.3, -0.05]", "[-2, -0.05]").find("does not come after the one before"),
            std::string::npos);
  EXPECT_NE(message_of("[-0.3, -0.05]", "[0, 0]").find("without 0"), std::string::npos);
  EXPECT_NE(message_of("[-0.3, -0.05]", "[-0.3]").find("is not two numbers"), std::string::npos);
  EXPECT_NE(message_of("        moves:", "        movs:").find("movs"), std::string::npos);
  EXPECT_NE(message_of("gpus_per_node: 4\n        nodes: 2", "gpus_per_node: 1\n        nodes: 1")
                .find("is of one GPU"),
            std::string::npos);
}

}  // namespace
}  // namespace paceline
