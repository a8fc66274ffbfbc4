#include "scenarios/loader/scenario_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace scenario_file_test {

using test::changed;
using test::Folder;
using test::small_scenario;
using Settings = std::vector<ScenarioFile::Setting>;

ScenarioFile read(const std::string& text, const Settings& settings = {}) {
  const Folder folder;
  return ScenarioFile::read(folder.write("scenario.yaml", text), settings);
}

ScenarioFile with_end(const std::string& end, const Settings& settings = {}) {
  return read(changed(small_scenario, "", end), settings);
}

// The values of the axes at each point, as the file spells them: "2 1us", "2 2us", ...
std::vector<std::string> grid(const ScenarioFile& file) {
  std::vector<std::string> rows;
  for (std::size_t point = 0; point < file.point_count(); ++point) {
    std::string row;
    for (const AxisValue& value : file.axes_of(point)) row += (row.empty() ? "" : " ") + value.text;
    rows.push_back(row);
  }
  return rows;
}

using Rows = std::vector<std::string>;

TEST(Settings, WithoutAValueLeaveOutWhatTheFileHas) {
  const std::string end =
      "sweep: {gpus: [2, 4], training.optimizer.time: [1ms, 2ms]}\n"
      "measured: {source: a test, points: [{gpus: 2, training.optimizer.time: 1ms, step: 9ms}]}\n";
  EXPECT_EQ(with_end(end).point_count(), 4U);
  EXPECT_EQ(grid(with_end(end, {{"sweep.training.optimizer.time", ""}})), (Rows{"2", "4"}));
  EXPECT_EQ(grid(with_end(end, {{"gpus", ""}, {"measured", ""}})), (Rows{"1ms", "2ms"}));
  // Measured points of an axis that is gone are of other runs.
  const auto without_axis = with_end(end, {{"gpus", ""}});
  EXPECT_EQ(without_axis.changed_by(), "gpus=");
  EXPECT_EQ(without_axis.unmatched().size(), 1U);
  const Scenario two = with_end("", {{"cluster.intra_node.latency", ""}}).scenario(0);
  EXPECT_NE(two.cluster.intra_node.latency, with_end("").scenario(0).cluster.intra_node.latency);
  EXPECT_EQ(with_end("", {{"collective.algorithm", ""}}).changed_by(), "collective.algorithm=");
  EXPECT_EQ(with_end("", {{"simulation.fidelity", ""}}).changed_by(), "");
  try {
    (void)with_end("", {{"training.comm_hook", ""}});
    ADD_FAILURE() << "left out what is not there";
  } catch (const InputError& error) {
    EXPECT_TRUE(
        std::string(error.what()).starts_with("--set training.comm_hook=: leaves out what "))
        << error.what();
  }
}

TEST(Grid, IsOnePointWithoutASweep) {
  const auto file = with_end("");
  ASSERT_EQ(file.point_count(), 1U);
  EXPECT_TRUE(file.axes_of(0).empty());
  EXPECT_EQ(file.name(), "two nodes");
  EXPECT_EQ(file.scenario(0).cluster.ranks(), RankCount(4));
}

TEST(Grid, IsTheProductOfTheAxesInFileOrderTheLastOneFastest) {
  const auto file =
      with_end("sweep:\n  gpus: [4, 2]\n  cluster.network.latency: [2us, 1us, 3us]\n");
  EXPECT_EQ(grid(file), (Rows{"4 2us", "4 1us", "4 3us", "2 2us", "2 1us", "2 3us"}));
  EXPECT_EQ(file.scenario(2).cluster.network.latency, Seconds(3e-6));
  EXPECT_EQ(file.scenario(3).cluster.ranks(), RankCount(2));
}

TEST(Grid, TakesASingleValueAsAnAxisOfOne) {
  EXPECT_EQ(grid(with_end("sweep: {gpus: 2}\n")), (Rows{"2"}));
}

TEST(Grid, KeepsValuesInSiUnitsAndWordsAsTheyAre) {
  const auto file = with_end(
      "sweep:\n  gpus: [4]\n  cluster.network.latency: [1.5ms]\n  cluster.network.bandwidth: "
      "[8Gbps]\n"
      "  training.strategy: [ddp]\n");
  const auto point = file.axes_of(0);
  ASSERT_EQ(point.size(), 4U);
  EXPECT_EQ(point[0].unit, "1");
  EXPECT_EQ(std::get<double>(point[0].value), 4);
  EXPECT_EQ(point[1].unit, "s");
  EXPECT_EQ(std::get<double>(point[1].value), 1.5e-3);
  EXPECT_EQ(point[2].unit, "B/s");
  EXPECT_EQ(std::get<double>(point[2].value), 1e9);
  EXPECT_EQ(point[3].unit, "");
  EXPECT_EQ(std::get<std::string>(point[3].value), "ddp");
}

// 1,000^4 points, of which the last but one has the last values but of its last axis. What is
// measured is found without looking at all of them.
TEST(Grid, IsReadPointByPointHoweverLargeItIs) {
  std::string values;
  for (int i = 0; i < 1000; ++i) values += std::to_string(i + 1) + ", ";
  std::string text;
  for (const char* path :
       {"workload.batch_per_gpu", "simulation.seed", "training.gradient_accumulation", "gpus"}) {
    text += fmt::format("  {}: [{}]\n", path, values);
  }
  const Folder folder;
  const auto file = ScenarioFile::read(
      folder.write("scenario.yaml",
                   changed(small_scenario, "",
                           "sweep:\n" + text +
                               "measured: {source: a test, points: [{gpus: 2, simulation.seed: 1, "
                               "workload.batch_per_gpu: 1, training.gradient_accumulation: 1000, "
                               "step: 1s}]}\n")),
      {}, ScenarioFile::points_max_one_by_one);
  ASSERT_EQ(file.point_count(), 1'000'000'000'000U);
  std::string last;
  for (const AxisValue& value : file.axes_of(999'999'999'998)) last += value.text + " ";
  EXPECT_EQ(last, "1000 1000 1000 999 ");
  EXPECT_TRUE(file.measured(999'001));  // (0 x 1,000 + 0) x 1,000 + 999) x 1,000 + 1
  EXPECT_FALSE(file.measured(999'000));
}

TEST(Values, AreThoseOfTheFileAndTheSettingsWithoutWhatAxesGive) {
  const auto file = with_end("sweep: {gpus: [2, 4], cluster.network.latency: [1us]}\n",
                             {{"training", "{strategy: ddp}"}, {"training.bucket_cap", "1MiB"}});
  const auto values = file.values();
  EXPECT_EQ(values.at("workload.layers.1.name").text, "b");
  EXPECT_EQ(values.at("workload.layers.0.parameters.1").text, "20");
  EXPECT_EQ(values.at("training.strategy").text, "ddp");
  EXPECT_EQ(values.at("training.bucket_cap").text, "1MiB");
  for (const char* path :
       {"name", "sweep.gpus", "cluster.network.latency", "training.optimizer.kind"}) {
    EXPECT_FALSE(values.contains(path)) << path;
  }
}

// 100,000 points are the limit.
TEST(Grid, HasAtMostAHundredThousandPoints) {
  std::string values;
  for (int i = 0; i < 1000; ++i) values += std::to_string(i + 1) + ", ";
  const auto sweep = [&](const std::string& gpus) {
    return "sweep:\n  workload.batch_per_gpu: [" + values + "]\n  simulation.seed: [" + gpus +
           "]\n";
  };
  std::string hundred;
  for (int i = 0; i < 100; ++i) hundred += std::to_string(i) + ", ";
  EXPECT_EQ(with_end(sweep(hundred)).point_count(), 100'000U);
  EXPECT_THROW((void)with_end(sweep(hundred + "100")), InputError);
}

TEST(Settings, ReplaceValuesOfTheFile) {
  const auto file = with_end("", {{"cluster.network.latency", "9us"}, {"name", "another"}});
  EXPECT_EQ(file.scenario(0).cluster.network.latency, Seconds(9e-6));
  EXPECT_EQ(file.name(), "another");
}

TEST(Settings, AddValuesThatTheFileLacks) {
  const auto file = with_end("", {{"cluster.network.efficiency", "50%"}, {"gpus", "2"}});
  EXPECT_EQ(file.scenario(0).cluster.network.efficiency, 0.5);
  EXPECT_EQ(file.scenario(0).cluster.ranks(), RankCount(2));
  EXPECT_TRUE(file.axes_of(0).empty());
}

TEST(Settings, ReplaceAnAxisInItsPlace) {
  const auto file = with_end("sweep:\n  gpus: [2, 4]\n  cluster.network.latency: [1us, 2us]\n",
                             {{"gpus", "[4]"}});
  EXPECT_EQ(grid(file), (Rows{"4 1us", "4 2us"}));
  const auto of_sweep = with_end("sweep:\n  gpus: [2, 4]\n  cluster.network.latency: [1us, 2us]\n",
                                 {{"sweep.gpus", "[2]"}, {"cluster.network.latency", "7us"}});
  EXPECT_EQ(grid(of_sweep), (Rows{"2 7us"}));
}

TEST(Settings, AddAnAxisBehindThoseOfTheFile) {
  const auto file =
      with_end("sweep: {gpus: [2, 4]}\n", {{"sweep.cluster.network.latency", "[1us, 2us]"}});
  EXPECT_EQ(grid(file), (Rows{"2 1us", "2 2us", "4 1us", "4 2us"}));
  EXPECT_EQ(grid(with_end("", {{"gpus", "[2, 4]"}})), (Rows{"2", "4"}));
}

TEST(Settings, GoInOrderTheLastOneOfAPathCounts) {
  const auto file =
      with_end("", {{"cluster.network.latency", "9us"}, {"cluster.network.latency", "8us"}});
  EXPECT_EQ(file.scenario(0).cluster.network.latency, Seconds(8e-6));
}

TEST(Settings, ReachIntoMapsOfRanks) {
  const auto file = with_end("ranks: {slowdown: {1: 2}}\n", {{"ranks.slowdown.3", "1.5"}});
  EXPECT_EQ(file.scenario(0).ranks.slowdown, (std::map<std::uint32_t, double>{{1, 2.0}, {3, 1.5}}));
}

TEST(Settings, ReachIntoListsOfLayersByNumber) {
  const auto file = with_end("", {{"workload.layers.1.forward", "9ms"}});
  EXPECT_EQ(file.scenario(0).workload.layers.at(0).forward, Seconds(1e-3));
  EXPECT_DOUBLE_EQ(file.scenario(0).workload.layers.at(1).forward.value(), 9e-3);
}

TEST(Settings, ReplaceAWholeSection) {
  const auto file = with_end("", {{"cluster.network", "{bandwidth: 1Gbps}"}});
  EXPECT_EQ(file.scenario(0).cluster.network.bandwidth, BytesPerSecond(125e6));
  EXPECT_EQ(file.scenario(0).cluster.network.latency, Seconds(0));
}

// An axis may be any path that a setting may be: here the slowdown of one rank.
TEST(Settings, MeanTheSameAsAxes) {
  const auto file = with_end("sweep: {ranks.slowdown.3: [1, 1.5]}\n");
  EXPECT_EQ(file.scenario(0).ranks.slowdown.at(3), 1);
  EXPECT_EQ(file.scenario(1).ranks.slowdown.at(3), 1.5);
}

std::string measured(const std::string& points) {
  return "measured: {source: a test, points: [" + points + "]}\n";
}

TEST(MeasuredPoints, BelongToThePointOfTheGridThatTheyName) {
  const auto file = with_end("sweep: {gpus: [2, 4]}\n" +
                             measured("{gpus: 4, throughput: 100 samples/s, known: true}"));
  EXPECT_FALSE(file.measured(0));
  ASSERT_TRUE(file.measured(1));
  EXPECT_EQ(file.measured(1)->throughput, SamplesPerSecond(100));
  EXPECT_TRUE(file.measured(1)->known);
  EXPECT_EQ(file.measured_source(), "a test");
  EXPECT_TRUE(file.unmatched().empty());
}

TEST(KnownPoints, AreNumberedInTheOrderOfTheGrid) {
  const auto file = with_end("sweep: {gpus: [1, 2, 4]}\n" +
                             measured("{gpus: 4, step: 1s, known: true}, {gpus: 1, step: 1s}, "
                                      "{gpus: 2, step: 1s, known: true}"));
  EXPECT_EQ(file.known_points(), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(file.network(), NetworkKnowledge::measured);
}

TEST(KnownPoints, AreThoseOfNoOtherSystem) {
  const auto file =
      with_end("sweep: {gpus: [2, 4]}\n" + measured("{gpus: 4, step: 1s, known: true}"),
               {{"training.gradient_accumulation", "3"}});
  EXPECT_TRUE(file.known_points().empty());
}

// The same value in another spelling is the same value: the units decide, not the text.
TEST(MeasuredPoints, AreMatchedInOtherSpellings) {
  const std::pair<const char*, const char*> spellings[] = {{"1ms", "1000us"},  {"1ms", "0.001s"},
                                                           {"3us", "0.003ms"}, {"100us", "0.1ms"},
                                                           {"300ns", "0.3us"}, {"7us", "0.007ms"}};
  for (const auto& [of_axis, of_point] : spellings) {
    const auto file =
        with_end(std::string("sweep: {cluster.network.latency: [2s, ") + of_axis + "]}\n" +
                 measured(std::string("{cluster.network.latency: ") + of_point + ", step: 1s}"));
    EXPECT_TRUE(file.measured(1)) << of_axis << " and " << of_point;
  }
  const auto bandwidth =
      with_end("sweep: {gpus: [4.0], cluster.network.bandwidth: [1Gbps, 10Gbps]}\n" +
               measured("{gpus: 4, cluster.network.bandwidth: 1.25GBps, step: 1s}"));
  EXPECT_TRUE(bandwidth.measured(1));
  const auto size =
      with_end("sweep: {training.strategy: [ddp], training.bucket_cap: [1KiB, 1kB]}\n" +
               measured("{training.bucket_cap: 1024B, step: 1s}"));
  EXPECT_TRUE(size.measured(0));
}

// 1 MB is not 1 MiB, and 4 us are not 4 GPUs.
TEST(MeasuredPoints, AreNotMatchedByTheirDigits) {
  const auto file =
      with_end("sweep: {training.strategy: [ddp], training.bucket_cap: [1MB, 1MiB]}\n" +
               measured("{training.bucket_cap: 1000000B, step: 1s}"));
  EXPECT_TRUE(file.measured(0));
  EXPECT_FALSE(file.measured(1));
}

TEST(MeasuredPoints, NeedNotNameAnAxisOfOneValue) {
  const auto file = with_end("sweep: {gpus: [2, 4], cluster.network.latency: [1us]}\n" +
                             measured("{gpus: 2, step: 1s}"));
  EXPECT_TRUE(file.measured(0));
}

// batch x GPUs / step: 8 x 4 / 0.5 s; with three passes a step three times that.
TEST(MeasuredPoints, MayGiveTheStepInsteadOfTheThroughput) {
  const std::string end = "sweep: {gpus: [2, 4]}\n" + measured("{gpus: 4, step: 500ms}");
  EXPECT_DOUBLE_EQ(with_end(end).measured(1)->throughput.value(), 64);
}

TEST(MeasuredPoints, DeviateOnlyWhereTheyAreKnown) {
  const std::string end = "sweep: {gpus: [2, 4]}\n";
  EXPECT_EQ(
      with_end(end + measured("{gpus: 4, step: 1s, known: true, std: 0.1}")).measured(1)->deviation,
      0.1);
  EXPECT_THROW((void)with_end(end + measured("{gpus: 4, step: 1s, std: 0.1}")), InputError);
}

// What was measured is another system's once a setting changes this one.
TEST(MeasuredPoints, AreLeftOutWhenASettingChangesWhatWasMeasured) {
  const std::string end = "sweep: {gpus: [2, 4]}\n" + measured("{gpus: 4, step: 500ms}");
  EXPECT_FALSE(with_end(end, {{"training.gradient_accumulation", "3"}}).measured(1));
  EXPECT_TRUE(with_end(end, {{"simulation.fidelity", "folded"}}).measured(1));
  for (const char* of_the_model : {"contention", "call_contention"}) {
    EXPECT_TRUE(with_end(end, {{of_the_model, "1.3"}}).measured(1)) << of_the_model;
  }
  EXPECT_TRUE(with_end(end, {{"ranks.spread", "1%"}}).measured(1));
}

TEST(MeasuredPoints, OutsideTheGridAreNamedAndLeftOut) {
  const auto file =
      with_end("sweep: {gpus: [2, 4]}\n" + measured("{gpus: 2, step: 1s}, {gpus: 4, step: 1s}"),
               {{"gpus", "[4]"}});
  ASSERT_EQ(file.unmatched().size(), 1U);
  EXPECT_EQ(file.unmatched().front().line, 18U);
  EXPECT_TRUE(file.measured(0));
}

// dgx1-v100: eight GPUs a node, 22.5 GBps a lane, 12 GBps to the host, four NICs of 100 Gbps.
TEST(Presets, GiveWhatTheClusterLacksKeyByKey) {
  const auto file =
      read(changed(changed(small_scenario,
                           "  nodes: 2\n  gpus_per_node: 2\n"
                           "  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}\n"
                           "  network: {bandwidth: 10Gbps, latency: 5us}\n",
                           "  preset: dgx1-v100\n  nodes: 3\n  intra_node: {latency: 7us}\n"
                           "  network: {nics_per_node: 2}\n"),
                   "", ""));
  const auto cluster = file.scenario(0).cluster;
  EXPECT_EQ(cluster.name, "dgx1-v100");
  EXPECT_EQ(cluster.nodes, 3U);
  EXPECT_EQ(cluster.gpus_per_node, 8U);
  EXPECT_EQ(cluster.intra_node.kind, topology::IntraNodeKind::nvlink_mesh);
  EXPECT_EQ(cluster.intra_node.latency, Seconds(7e-6));
  EXPECT_EQ(cluster.intra_node.bandwidth, BytesPerSecond(22.5e9));
  EXPECT_EQ(cluster.intra_node.host_bandwidth, BytesPerSecond(12e9));
  EXPECT_EQ(cluster.intra_node.lanes.at(0), (std::vector<std::uint32_t>{0, 1, 1, 2, 2, 0, 0, 0}));
  EXPECT_EQ(cluster.network.nics_per_node, 2U);
  EXPECT_EQ(cluster.network.bandwidth, BytesPerSecond(12.5e9));
  EXPECT_DOUBLE_EQ(cluster.network.efficiency, 0.92);
}

TEST(Presets, MayBeFilesBesideTheScenario) {
  const Folder folder;
  folder.write("mine.yaml",
               "schema: paceline.cluster/1\nname: mine\ngpus_per_node: 2\n"
               "intra_node: {bandwidth: 3GBps}\nnetwork: {bandwidth: 8Gbps}\n");
  const auto path = folder.write(
      "scenario.yaml",
      changed(
          small_scenario,
          "  gpus_per_node: 2\n  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}\n"
          "  network: {bandwidth: 10Gbps, latency: 5us}\n",
          "  preset: mine.yaml\n  network: {latency: 1us}\n"));
  const auto file = ScenarioFile::read(path, {});
  EXPECT_EQ(file.scenario(0).cluster.ranks(), RankCount(4));
  EXPECT_EQ(file.scenario(0).cluster.network.bandwidth, BytesPerSecond(1e9));
  EXPECT_EQ(file.scenario(0).cluster.network.latency, Seconds(1e-6));
}

TEST(Gpus, BelowOneNodeArePartOfANode) {
  const auto file = read(changed(small_scenario, "gpus_per_node: 2", "gpus_per_node: 8"),
                         {{"gpus", "[1, 3, 8, 24]"}});
  const std::pair<std::uint32_t, std::uint32_t> nodes_and_gpus[] = {{1, 1}, {1, 3}, {1, 8}, {3, 8}};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto cluster = file.scenario(i).cluster;
    EXPECT_EQ(cluster.nodes, nodes_and_gpus[i].first);
    EXPECT_EQ(cluster.gpus_per_node, nodes_and_gpus[i].second);
  }
}

TEST(Gpus, BelowOneNodeKeepTheNicsLegal) {
  const auto file = read(changed(changed(small_scenario, "gpus_per_node: 2", "gpus_per_node: 8"),
                                 "latency: 5us", "latency: 5us, nics_per_node: 4"),
                         {{"gpus", "[3, 16]"}});
  EXPECT_EQ(file.scenario(0).cluster.network.nics_per_node, 3U);
  EXPECT_EQ(file.scenario(1).cluster.network.nics_per_node, 4U);
}

ScenarioFile made(const ScenarioValues& values, const Settings& settings = {}) {
  return ScenarioFile::of_values("made", values, settings);
}

ScenarioValues on_four_gpus() {
  ScenarioValues values = small_values();
  values.set_given({{"cluster.nodes", "4"},
                    {"cluster.gpus_per_node", "1"},
                    {"cluster.network.bandwidth", "1GBps"},
                    {"collective.algorithm", ""}});
  return values;
}

TEST(MadeScenarios, AreReadAndSetAsFilesAre) {
  const ScenarioFile file = made(on_four_gpus(), {{"gpus", "[2, 4]"}, {"name", "another"}});
  EXPECT_EQ(file.name(), "another");
  EXPECT_EQ(grid(file), (Rows{"2", "4"}));
  EXPECT_EQ(file.scenario(1).cluster.ranks(), RankCount(4));
  EXPECT_EQ(file.scenario(1).cluster.network.bandwidth, BytesPerSecond(1e9));
  EXPECT_EQ(file.sha256(), made(on_four_gpus()).sha256());
  EXPECT_NE(file.sha256(), made(small_values(), {{"cluster.gpus_per_node", "1"}}).sha256());
}

// A value is not YAML: braces and quotes in it stand for themselves.
TEST(MadeScenarios, TakeTextsAsTheyAre) {
  for (const char* name : {"{a: b}", "[1]", "~", "\"a\\", "# a", ""}) {
    ScenarioValues values = on_four_gpus();
    values.by_path["name"] = name;
    EXPECT_EQ(made(values).name(), name);
  }
}

TEST(MadeScenarios, AreRefusedByTheirName) {
  const std::pair<const char*, const char*> refused[] = {
      {"\xff", "made: workload.model is not text: its byte 0 is no UTF-8"},
      {"a\n", "made: model \"a?\" has a control character"},
      {"", "made: model \"\" is not known; known: "}};
  for (const auto& [model, said] : refused) {
    ScenarioValues values = on_four_gpus();
    values.by_path["workload.model"] = model;
    try {
      (void)made(values);
      ADD_FAILURE() << said;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(said)) << error.what();
    }
  }
}

// A sample on each of four GPUs in half a second.
TEST(MadeScenarios, MayHaveBeenMeasured) {
  ScenarioValues values = on_four_gpus();
  values.measured = {"a test", Seconds(0.5)};
  EXPECT_EQ(made(values).measured(0)->throughput, SamplesPerSecond(8));
  EXPECT_EQ(made(values).measured_source(), "a test");
  EXPECT_FALSE(made(values, {{"gpus", "2"}}).measured(0));
}

TEST(ScenarioOfOptions, IsASingleOne) {
  EXPECT_EQ(scenario_of_options(on_four_gpus(), {{"gpus", "2"}}).cluster.ranks(), RankCount(2));
  EXPECT_THROW((void)scenario_of_options(on_four_gpus(), {{"gpus", "[2, 4]"}}), InputError);
}

// As YAML has it: a mark before the first line and one after the last.
TEST(Documents, MayBeginAndEndWithTheirMarks) {
  EXPECT_EQ(read("---\n" + std::string(small_scenario)).name(), "two nodes");
  EXPECT_EQ(with_end("...\n").name(), "two nodes");
  EXPECT_EQ(with_end("...\n\n# the end\n\n").name(), "two nodes");
}

// A pipe has neither a size nor a folder: paths in it start at the working directory.
TEST(Documents, MayComeThroughPipes) {
  const Folder folder;
  folder.write("scenario.yaml",
               changed(changed(small_scenario, "  gpus_per_node: 2\n", "  preset: mine.yaml\n"),
                       "fidelity: folded", "fidelity: folded, seed: 7"));
  folder.write("mine.yaml", "schema: paceline.cluster/1\nname: mine\ngpus_per_node: 2\n");
  const auto run = [&](const std::string& command) {
    return test::run_program({"/bin/bash", "-c", command}, folder.path());
  };
  const std::string program = PACELINE_BINARY " run ";
  const auto of_file = run(program + "scenario.yaml");
  EXPECT_EQ(of_file.exit_code, 0) << of_file.err;
  for (const std::string& through :
       {"cat scenario.yaml | " + program + "/dev/stdin", program + "/dev/stdin < scenario.yaml",
        program + "<(cat scenario.yaml)"}) {
    const auto ended = run(through);
    EXPECT_EQ(ended.exit_code, 0) << through << ": " << ended.err;
    EXPECT_EQ(ended.out, of_file.out) << through;
  }
}

TEST(Sha256, IsThatOfTheFile) {
  const Folder folder;
  const auto path = folder.write("scenario.yaml", small_scenario);
  const auto sum = test::run_program({"/usr/bin/sha256sum", path}, folder.path());
  ASSERT_EQ(sum.exit_code, 0);
  EXPECT_EQ(ScenarioFile::read(path, {}).sha256(), sum.out.substr(0, 64));
}

// A message carries the place for programs too.
TEST(InputErrors, CarryTheirPlace) {
  try {
    (void)with_end("gpus: 3\n");
    FAIL() << "3 GPUs do not fill nodes of 2";
  } catch (const InputError& error) {
    EXPECT_EQ(error.where().line, 17U);
    EXPECT_EQ(error.where().column, 7U);
  }
}

}  // namespace scenario_file_test
}  // namespace paceline
