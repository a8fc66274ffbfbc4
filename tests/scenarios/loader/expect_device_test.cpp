// A device that a preset's machines do not have: a warning in every command that loads it, and an
// assumption of what is predicted.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/errors.h"
#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/loader/bad_scenario.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace expect_device_test {

constexpr const char* described_cluster =
    "  nodes: 2\n"
    "  gpus_per_node: 2\n"
    "  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}\n"
    "  network: {bandwidth: 10Gbps, latency: 5us}\n";

// The small scenario with a device, on such a cluster.
std::string scenario_on(const std::string& cluster, const std::string& device) {
  return changed(changed(small_scenario, described_cluster, cluster), "device: v100-sxm2-16gb",
                 "device: " + device);
}

constexpr const char* two_of_dgx1 = "  preset: dgx1-v100\n  nodes: 2\n";

// `device: ` stands in the fifth line of the small scenario, and its value from column 11 on.
constexpr const char* warning_of_dgx1 =
    "warning: s.yaml:5:11: device \"rtx-4090\" is not one that dgx1-v100 contains (v100-sxm2-16gb, "
    "v100-sxm2-32gb); the links are used unchanged; name another preset or give "
    "cluster.intra_node\n";

Ended run_on(const std::string& cluster, const std::string& device,
             const std::vector<std::string>& more = {}) {
  const Folder folder;
  folder.write("s.yaml", scenario_on(cluster, device));
  std::vector<std::string> words{"run", "s.yaml"};
  words.insert(words.end(), more.begin(), more.end());
  const Ended ended = paceline(words, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return ended;
}

TEST(ExpectDevice, WarnsOnceOfOneThatThePresetsMachinesDoNotHave) {
  EXPECT_EQ(run_on(two_of_dgx1, "rtx-4090").err, warning_of_dgx1);
  EXPECT_EQ(run_on("  preset: dgx1-v100\n", "rtx-4090", {"--set", "gpus=[8, 16, 32]"}).err,
            warning_of_dgx1);
}

TEST(ExpectDevice, SaysWhereASettingNamesIt) {
  const Ended ended =
      run_on(two_of_dgx1, "v100-sxm2-16gb",
             {"--set", "workload={model: resnet18, batch_per_gpu: 1, device: v100-sxm2-16gb}",
              "--set", "workload.device=rtx-4090"});
  EXPECT_EQ(
      ended.err.find("warning: --set workload.device=rtx-4090: device \"rtx-4090\" is not one"), 0U)
      << ended.err;
}

TEST(ExpectDevice, IsAnAssumptionOfTablesAndJson) {
  constexpr const char* sentence =
      "links: taken from dgx1-v100, whose devices are v100-sxm2-16gb, v100-sxm2-32gb, although the "
      "device is rtx-4090; for its own links name another preset, or set cluster.intra_node";
  EXPECT_NE(run_on(two_of_dgx1, "rtx-4090", {"--json", "-"}).out.find(sentence), std::string::npos);
  const std::string table = run_on(two_of_dgx1, "rtx-4090", {"--assumptions"}).out;
  EXPECT_NE(table.find("links: taken from dgx1-v100"), std::string::npos) << table;
}

TEST(ExpectDevice, WarnsWhereSomeKeysLieOverThePreset) {
  const std::string over = "  intra_node: {bandwidth: 12GBps}\n  network: {bandwidth: 10Gbps}\n";
  EXPECT_EQ(run_on(two_of_dgx1 + over, "rtx-4090").err, warning_of_dgx1);
}

TEST(ExpectDevice, SaysNothingOfDevicesThatThePresetHasOrMayHave) {
  EXPECT_EQ(run_on(two_of_dgx1, "v100-sxm2-32gb").err, "");
  EXPECT_EQ(run_on("  preset: pcie-tree-8\n", "l40s").err, "");
  EXPECT_EQ(run_on("  preset: dgx-h100\n", "h200-sxm5-141gb").err, "");
}

TEST(ExpectDevice, SaysNothingWhereTheLinksAreTheScenariosOwn) {
  const std::string over = "  intra_node: {kind: pcie, bandwidth: 12GBps}\n";
  EXPECT_EQ(run_on(two_of_dgx1 + over, "rtx-4090").err, "");
  EXPECT_EQ(run_on(described_cluster, "rtx-4090").err, "");
}

TEST(ExpectDevice, SaysNothingOfOneGpuNorOfWhatTheScenarioSaysItHas) {
  EXPECT_EQ(run_on("  preset: dgx1-v100\n", "rtx-4090", {"--set", "gpus=1"}).err, "");
  EXPECT_EQ(run_on(std::string(two_of_dgx1) + "  gpu: rtx-4090\n", "rtx-4090").err, "");
  EXPECT_EQ(run_on(std::string(two_of_dgx1) + "  gpus: any\n", "rtx-4090").err, "");
}

std::string warning_on_file(const char* devices, const char* device) {
  const Folder folder;
  folder.write("ours.yaml",
               std::string("schema: paceline.cluster/1\nname: ours\ngpus_per_node: 2\n") + devices +
                   "intra_node: {kind: pcie, bandwidth: 12GBps, latency: 1us}\n");
  folder.write("s.yaml", scenario_on("  preset: ours.yaml\n", device));
  const Ended ended = paceline({"run", "s.yaml"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return ended.err;
}

TEST(ExpectDevice, TakesAClusterFileForAPreset) {
  EXPECT_EQ(warning_on_file("", "rtx-4090"), "");
  EXPECT_EQ(warning_on_file("gpu: rtx-4090\n", "rtx-4090"), "");
  EXPECT_EQ(warning_on_file("gpu: rtx-3090\ngpus: [rtx-3090, rtx-4090]\n", "rtx-4090"), "");
  EXPECT_EQ(
      warning_on_file("gpu: rtx-3090\n", "rtx-4090"),
      "warning: s.yaml:5:11: device \"rtx-4090\" is not one that ours.yaml contains (rtx-3090); "
      "the links are used unchanged; name another preset or give cluster.intra_node\n");
}

// Its figures may be those of any card.
TEST(ExpectDevice, SaysNothingOfADeviceFile) {
  const Folder folder;
  folder.write("gpu.yaml",
               "schema: paceline.device/1\nname: mine\nmemory_bandwidth: 900GBps\n"
               "small_kernel_time: 5us\npeak: {fp32: 15TFLOPS}\n");
  folder.write("s.yaml", scenario_on(two_of_dgx1, "gpu.yaml"));
  const Ended ended = paceline({"run", "s.yaml"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
}

TEST(ExpectDevice, WarnsInAllCommandsThatLoadScenarios) {
  const Folder folder;
  folder.write("s.yaml", scenario_on(two_of_dgx1, "rtx-4090"));
  const std::vector<std::vector<std::string>> commands{
      {"check", "s.yaml"},
      {"strategies", "s.yaml"},
      {"advise", "s.yaml"},
      {"sweep", "s.yaml", "--store", "points.db"},
  };
  for (const auto& words : commands) {
    SCOPED_TRACE(words.front());
    const Ended ended = paceline(words, folder.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.err.substr(0, ended.err.find('\n') + 1), warning_of_dgx1);
    EXPECT_EQ(ended.err.find("warning:", 1), std::string::npos) << ended.err;
  }
}

TEST(ExpectDevice, WarnsOfTheDeviceOfACollectiveButOfNoneThatNobodyNamed) {
  const Folder folder;
  const auto said = [&](std::vector<std::string> words) {
    const Ended ended = paceline(words, folder.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.err;
  };
  EXPECT_EQ(
      said({"collective", "dgx1-v100", "--min", "1MiB", "--max", "1MiB", "--device", "rtx-4090"}),
      "warning: command line: device \"rtx-4090\" is not one that dgx1-v100 contains "
      "(v100-sxm2-16gb, v100-sxm2-32gb); the links are used unchanged; name another preset or give "
      "cluster.intra_node\n");
  EXPECT_EQ(said({"collective", "dgx1-v100", "--min", "1MiB", "--max", "1MiB"}), "");
  EXPECT_EQ(said({"nccl", "dgx1-v100"}), "");
}

const BadScenario bad_devices[] = {
    {"NumberOfGpusAsDevices", "  nodes: 2\n", "  nodes: 2\n  gpus: @8\n",
     "gpus \"8\" is neither any nor a list of devices; write gpus: [v100-sxm2-16gb, "
     "v100-sxm2-32gb]; gpus_per_node says how many there are"},
    {"DeviceThatIsNotShipped", "  nodes: 2\n", "  nodes: 2\n  gpus: [@mine]\n",
     "gpus \"mine\" is no shipped device; `paceline list devices` has them"},
    {"DevicesWithoutTheOneThatCounts", "  nodes: 2\n",
     "  nodes: 2\n  gpu: k80\n  gpus: @[l40s, rtx-4090]\n",
     "gpus does not have gpu, k80; add it, or write gpu: l40s"},
};

class BadDevices : public ::testing::TestWithParam<BadScenario> {};

TEST_P(BadDevices, AreRefusedWithTheirPlace) { expect_refused_there(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, BadDevices, ::testing::ValuesIn(bad_devices),
                         [](const auto& row) { return std::string(row.param.name); });

// The first and the last point of each: all others are between them.
TEST(ShippedScenarios, HaveDevicesOfTheirMachines) {
  std::vector<std::string> said;
  hear_warnings([&](const std::string& line) { said.push_back(line); });
  const std::filesystem::path folder(PACELINE_SOURCE_DIR "/scenarios/library");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto file = ScenarioFile::read(entry.path(), {});
    (void)file.scenario(0);
    (void)file.scenario(file.point_count() - 1);
  }
  hear_warnings(nullptr);
  EXPECT_TRUE(said.empty()) << said.front();
}

}  // namespace expect_device_test
}  // namespace paceline::test
