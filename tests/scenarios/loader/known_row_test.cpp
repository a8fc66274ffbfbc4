// What is known of a point by --known, and not by the file.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/loader/axis_value.h"
#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace known_row_test {

using test::changed;
using test::Folder;
using test::small_scenario;
using Settings = std::vector<ScenarioFile::Setting>;
using Points = std::vector<std::size_t>;

// The small scenario, of four GPUs and batch 8, with this behind it, and rows that are known.
ScenarioFile known(const std::string& end, const std::vector<std::string>& rows,
                   Settings settings = {}) {
  const Folder folder;
  for (const std::string& row : rows) {
    settings.push_back({.path = ScenarioFile::known_path, .value = row, .is_known = true});
  }
  return ScenarioFile::read(folder.write("scenario.yaml", changed(small_scenario, "", end)),
                            settings);
}

// What is refused, without the option that messages begin with.
std::string fault_of(const std::string& end, const std::vector<std::string>& rows) {
  try {
    (void)known(end, rows);
  } catch (const InputError& error) {
    const std::string all = error.what(), option = "--known " + rows.back() + ": ";
    return all.starts_with(option) ? all.substr(option.size()) : "elsewhere: " + all;
  }
  return "";
}

std::vector<std::string> texts(const ScenarioFile::Axis& axis) {
  std::vector<std::string> all;
  for (const AxisValue& value : axis.values) all.push_back(value.text);
  return all;
}
using Texts = std::vector<std::string>;

TEST(KnownRow, IsAMeasuredPointOfTheGridThatIsKnown) {
  const auto file = known("sweep: {gpus: [2, 4]}\n", {"gpus=2,throughput=350 samples/s"});
  EXPECT_EQ(file.known_points(), Points{0});
  ASSERT_TRUE(file.measured(0));
  EXPECT_TRUE(file.measured(0)->known);
  EXPECT_EQ(file.measured(0)->throughput, SamplesPerSecond(350));
  EXPECT_EQ(file.measured_source(), "--known");
  EXPECT_EQ(file.point_count(), 2U);
}

// Two GPUs share a node here, four are on two.
TEST(KnownRow, SaysOfTheNetworkWhatItCrosses) {
  const char* grid = "sweep: {gpus: [2, 4]}\n";
  EXPECT_EQ(known(grid, {"gpus=2,throughput=350 samples/s"}).network(),
            NetworkKnowledge::described);
  EXPECT_EQ(known(grid, {"gpus=4,throughput=350 samples/s"}).network(), NetworkKnowledge::measured);
  EXPECT_EQ(known("sweep: {gpus: [2]}\n", {"gpus=2,throughput=350 samples/s"}).network(),
            NetworkKnowledge::measured);
}

// Batch 8 on two GPUs in 0.2 s: 80 samples/s. Spaces around a path and a value are nothing.
TEST(KnownRow, MayGiveTheStep) {
  const auto file = known("sweep: {gpus: [2, 4]}\n", {" gpus = 2 , step = 0.2s"});
  EXPECT_DOUBLE_EQ(file.measured(0)->throughput.value(), 80);
}

// Of 100 tokens a sample, 3500 tokens/s are 35 samples/s.
TEST(KnownRow, MayBeOfTokens) {
  const std::string model =
      "workload: {model: bert-base, sequence: 100, batch_per_gpu: 8, device: "
      "v100-sxm2-16gb}\n";
  const Folder folder;
  std::string text(small_scenario);
  const auto from = text.find("workload:"), to = text.find("cluster:");
  const auto path = folder.write("scenario.yaml", text.replace(from, to - from, model));
  const auto file = ScenarioFile::read(
      path,
      {{.path = ScenarioFile::known_path, .value = "throughput=3500 tokens/s", .is_known = true}});
  EXPECT_DOUBLE_EQ(file.measured(0)->throughput.value(), 35);
}

TEST(KnownRow, AddsItsGpusToTheirAxisInOrder) {
  const auto file = known(
      "sweep: {gpus: [2, 8], training.strategy: [ddp, wait_free]}\n",
      {"gpus=4,training.strategy=wait_free,step=1s", "gpus=16,training.strategy=ddp,step=2s"});
  ASSERT_EQ(file.axes().size(), 2U);
  EXPECT_EQ(texts(file.axes()[0]), (Texts{"2", "4", "8", "16"}));
  // (gpus, strategy), the last one fastest: (4, wait_free) is number 3, (16, ddp) number 6.
  EXPECT_EQ(file.known_points(), (Points{3, 6}));
  EXPECT_EQ(file.scenario(3).cluster.ranks(), RankCount(4));
}

TEST(KnownRow, MakesAnAxisOfGpusBesideTheSizeOfTheScenario) {
  const auto file = known("", {"gpus=2,step=1s"});
  ASSERT_EQ(file.axes().size(), 1U);
  EXPECT_EQ(file.axes()[0].path, "gpus");
  EXPECT_EQ(texts(file.axes()[0]), (Texts{"2", "4"}));
  EXPECT_EQ(file.scenario(1).cluster.ranks(), RankCount(4));
  EXPECT_EQ(file.known_points(), Points{0});
  const auto set = known("", {"gpus=2,step=1s"}, {{"gpus", "8"}});
  EXPECT_EQ(texts(set.axes()[0]), (Texts{"2", "8"}));
  const auto of_nodes = known("", {"gpus=2,step=1s"}, {{"cluster.nodes", "8"}});
  EXPECT_EQ(texts(of_nodes.axes()[0]), (Texts{"2", "16"}));
  EXPECT_EQ(of_nodes.scenario(1).cluster.nodes, 8U);
}

TEST(KnownRow, NeedNotNameTheSizeOfTheScenario) {
  for (const char* row : {"step=1s", "gpus=4,step=1s"}) {
    const auto file = known("", {row});
    EXPECT_TRUE(file.axes().empty());
    EXPECT_EQ(file.known_points(), Points{0});
  }
  // The first of these makes an axis, and the second belongs to the scenario as it is.
  const auto file = known("", {"gpus=2,step=1s", "step=3s"});
  EXPECT_EQ(file.known_points(), (Points{0, 1}));
}

// Points of the file need not name the one size that there was.
TEST(KnownRow, LeavesPointsOfTheFileWhereTheyWere) {
  const std::string measured = "measured: {source: a test, points: [{throughput: 9 samples/s}]}\n";
  for (const char* sweep : {"", "sweep: {gpus: [4]}\n"}) {
    const auto file = known(sweep + measured, {"gpus=8,step=1s"});
    ASSERT_TRUE(file.measured(0)) << sweep;
    EXPECT_FALSE(file.measured(0)->known);
    EXPECT_EQ(file.known_points(), Points{1});
    EXPECT_EQ(file.measured_source(), "a test; --known");
  }
}

TEST(KnownRow, TakesThePlaceOfTheFilesPoint) {
  const auto file = known(
      "sweep: {gpus: [2, 4]}\n"
      "measured: {source: a test, points: [{gpus: 2, throughput: 9 samples/s}]}\n",
      {"gpus=2,throughput=7 samples/s"});
  EXPECT_EQ(file.measured(0)->throughput, SamplesPerSecond(7));
  EXPECT_TRUE(file.measured(0)->known);
}

// Points of the file are another system's then; the row was measured of this one.
TEST(KnownRow, IsOfTheScenarioAsItIsSet) {
  const auto file = known(
      "sweep: {gpus: [2, 4]}\n"
      "measured: {source: a test, points: [{gpus: 4, throughput: 9 samples/s}]}\n",
      {"gpus=2,step=1s"}, {{"workload.batch_per_gpu", "16"}});
  EXPECT_FALSE(file.measured(1));
  EXPECT_DOUBLE_EQ(file.measured(0)->throughput.value(), 32);  // 2 x 16 in a second
  EXPECT_EQ(file.measured_source(), "--known");
}

TEST(KnownRow, MayNameNodesWhereThatIsTheAxis) {
  const auto file =
      known("sweep: {cluster.nodes: [1, 2]}\n", {"cluster.nodes=1,throughput=9 samples/s"});
  EXPECT_EQ(file.known_points(), Points{0});
  EXPECT_EQ(fault_of("sweep: {cluster.nodes: [1, 2]}\n", {"gpus=2,step=1s"}),
            "gpus \"2\" is not a value of this sweep, where cluster.nodes says how many there are; "
            "name its cluster.nodes instead");
}

TEST(KnownRow, IsNotOfOneGpuWhoseSpeedIsAnInput) {
  const std::string hint =
      "is of one GPU, whose speed is an input; write --set "
      "\"workload.single_gpu_throughput=350 samples/s\"";
  EXPECT_EQ(fault_of("", {"gpus=1,throughput=350 samples/s"}), hint);
  EXPECT_EQ(fault_of("sweep: {cluster.nodes: [1], cluster.gpus_per_node: [1]}\n",
                     {"throughput=350 samples/s"}),
            hint);
  EXPECT_NE(fault_of("", {"gpus=1,step=1s"}).find("single_gpu_throughput=..."), std::string::npos);
}

TEST(KnownRow, NamesEachAxisOfSeveralValues) {
  EXPECT_EQ(fault_of("sweep: {gpus: [2, 4], cluster.network.latency: [1us, 2us], "
                     "training.strategy: [ddp]}\n",
                     {"step=1s"}),
            "measured point matches 4 points of the grid; name its gpus, cluster.network.latency");
  EXPECT_EQ(
      fault_of("sweep: {gpus: [2, 4], cluster.network.latency: [1us, 2us]}\n", {"gpus=8,step=1s"}),
      "measured point matches 2 points of the grid; name its cluster.network.latency");
}

TEST(KnownRow, SaysWhatIsWrongOfIt) {
  const std::string sweep = "sweep: {gpus: [2, 4], training.strategy: [ddp, wait_free]}\n";
  const std::pair<const char*, const char*> wrong[] = {
      {"gpus", "\"gpus\" is not path=value; write --known \"gpus=2,throughput=350 samples/s\""},
      {"=2,step=1s", "\"=2\" is not path=value; write --known "},
      {"gpus= ,step=1s", "gpus has no value; write --known "},
      {"gpus=2,gpus=4,step=1s", "gpus is named twice; name it once"},
      {"gpus=2", "has no figure; write --known \"gpus=2,throughput=350 samples/s\""},
      {"gpus=2,thruoghput=9 samples/s", "unknown key \"thruoghput\"; did you mean throughput?"},
      {"gpus=2,step=1s,throughput=9 samples/s", "gives both throughput and step; leave one "},
      {"gpus=2,throughput=350", "throughput \"350\" has no unit; write 350 samples/s"},
      {"gpus=2,step=0s", "step \"0s\" is not a time above zero"},
      {"gpus=two,step=1s", "gpus \"two\" is not a number"},
      {"gpus=3,training.strategy=ddp,step=1s", "gpus \"3\" does not fill nodes of 2 GPUs; "},
      {"gpus=2,training.stratgy=ddp,step=1s",
       "unknown key \"training.stratgy\"; did you mean training.strategy?"},
      {"gpus=2,training.strategy=fsdp,step=1s",
       "training.strategy \"fsdp\" is not a value of its axis; it has ddp, wait_free"},
  };
  for (const auto& [row, message] : wrong) {
    EXPECT_TRUE(fault_of(sweep, {row}).starts_with(message))
        << row << ": " << fault_of(sweep, {row});
  }
  EXPECT_EQ(fault_of("", {"step=1s", "gpus=4,step=2s"}),
            "is of the same point as another --known; keep one of them");
}

// One node crosses no network, and one GPU's step has no buckets: such points are one run.
TEST(KnownRow, IsOfTheFirstOfPointsThatAreOneRun) {
  const std::string end = "sweep: {gpus: [2, 4], cluster.network.bandwidth: [10Gbps, 25Gbps]}\n";
  const std::string one_node = "gpus=2,step=5ms";
  const auto file = known(end, {one_node}, {{"cluster.gpus_per_node", "2"}});
  EXPECT_EQ(file.known_points(), (Points{0}));
  try {
    (void)known(end, {"gpus=4,step=5ms"}, {{"cluster.gpus_per_node", "2"}});
    FAIL() << "two nodes have two networks";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("matches 2 points of the grid"), std::string::npos);
  }
}

// Whatever has the value that the file has, or that holds without one, is what was measured.
TEST(MeasuredPoint, StaysWhereASettingChangesNothing) {
  const std::string end = "measured: {source: here, points: [{throughput: 100 samples/s}]}\n";
  for (const ScenarioFile::Setting& same : Settings{{"workload.batch_per_gpu", "8"},
                                                    {"training.gradient_accumulation", "1"},
                                                    {"simulation.seed", "7"},
                                                    {"cluster.network.transport", "rdma"},
                                                    {"collective.channels", "auto"}}) {
    const auto file = known(end, {}, {same});
    EXPECT_TRUE(file.measured(0)) << same.path;
    EXPECT_EQ(file.changed_by(), "") << same.path;
  }
  const auto file = known(end, {}, {{"training.gradient_accumulation", "2"}});
  EXPECT_FALSE(file.measured(0));
  EXPECT_EQ(file.changed_by(), "training.gradient_accumulation=2");
}

}  // namespace known_row_test
}  // namespace paceline
