// Scenarios of sections that have texts of their own.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scenarios/document/reader.h"
#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace sections_test {

using loader::Field;
using Sections = std::map<std::string, Field>;
using Settings = std::vector<ScenarioFile::Setting>;

// A section as the only value of a file.
Field section(const std::string& file, const std::string& path, const std::string& text) {
  const auto document = loader::parse_document(file, text);
  return {document, document->root, path};
}

Sections sections() {
  return {{"name", section("a.yaml", "name", "of two files")},
          {"workload", section("a.yaml", "workload", "{model: resnet50, batch_per_gpu: 8}")},
          {"workload.device", section("b.yaml", "workload.device", "v100-sxm2-16gb")},
          {"cluster", section("b.yaml", "cluster", "{preset: dgx1-v100, network: {latency: 7us}}")},
          {"training", section("a.yaml", "training", "{strategy: ddp}")}};
}

ScenarioFile with(const Settings& settings) {
  return ScenarioFile::of_sections("ours", sections(), settings);
}

std::string refusal_of(const Sections& of, const Settings& settings) {
  try {
    (void)ScenarioFile::of_sections("ours", of, settings);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Sections, AreAScenarioTogether) {
  const auto file = with({});
  EXPECT_EQ(file.name(), "of two files");
  EXPECT_EQ(file.path(), "ours");
  EXPECT_EQ(file.point_count(), 1U);
  const Scenario scenario = file.scenario(0);
  EXPECT_EQ(scenario.workload.device.name, "v100-sxm2-16gb");
  EXPECT_EQ(scenario.cluster.nodes, 1U);
  EXPECT_EQ(scenario.cluster.network.latency, Seconds(7e-6));  // over the preset
}

TEST(Sections, HaveSingleValuesReplacedBySettings) {
  const Scenario scenario = with({{"cluster.nodes", "3"},
                                  {"cluster.network.latency", "9us"},
                                  {"workload.device", "a100-sxm4-40gb"}})
                                .scenario(0);
  EXPECT_EQ(scenario.cluster.nodes, 3U);
  EXPECT_EQ(scenario.cluster.gpus_per_node, 8U);
  EXPECT_EQ(scenario.cluster.network.latency, Seconds(9e-6));
  EXPECT_EQ(scenario.workload.device.name, "a100-sxm4-40gb");
}

// What a file says is not what a setting says: logs of a cluster stand in for what its section has.
TEST(Sections, AreNoSettings) {
  EXPECT_EQ(with({}).scenario(0).set_paths, std::set<std::string>{});
  EXPECT_EQ(with({{"cluster.nodes", "3"}, {"workload.device", "k80"}}).scenario(0).set_paths,
            (std::set<std::string>{"cluster.nodes", "workload.device"}));
}

TEST(Sections, MayBeSwept) {
  const auto file = with({{"gpus", "[1, 8, 16]"}});
  ASSERT_EQ(file.point_count(), 3U);
  EXPECT_EQ(file.scenario(2).cluster.nodes, 2U);
}

TEST(Sections, SayWhichOfTheirTextsIsWrong) {
  Sections bad = sections();
  bad.insert_or_assign("cluster", section("b.yaml", "cluster", "\n\n{preset: dgx1-v10}"));
  EXPECT_EQ(refusal_of(bad, {}).substr(0, 53),
            "b.yaml:3:10: preset \"dgx1-v10\" is not known; did you ");
  bad = sections();
  bad.insert_or_assign("workload", section("a.yaml", "workload", "{model: resnet50, bach: 8}"));
  EXPECT_EQ(refusal_of(bad, {}).substr(0, 47), "a.yaml:1:19: unknown key \"workload.bach\"; known");
  bad.insert_or_assign("gpus", section("b.yaml", "gpus", "8"));
  EXPECT_EQ(refusal_of(bad, {{"cluster.nodes", "2"}}),
            "--set cluster.nodes=2: nodes \"2\" has no effect: gpus says how many nodes there are; "
            "leave one of the two out");
}

TEST(Sections, LackWhatAFileWouldLack) {
  Sections bad = sections();
  bad.erase("training");
  EXPECT_EQ(refusal_of(bad, {}), "ours: training is missing; write training: {strategy: ddp}");
  EXPECT_EQ(refusal_of(bad, {{"training.strategy", "ddp"}}), "");
}

// By which runs are told apart.
TEST(Sections, HaveAHashOfTheirValues) {
  Sections other = sections();
  EXPECT_EQ(ScenarioFile::of_sections("ours", other, {}).sha256(), with({}).sha256());
  other.insert_or_assign("workload.device", section("b.yaml", "workload.device", "k80"));
  EXPECT_NE(ScenarioFile::of_sections("ours", other, {}).sha256(), with({}).sha256());
  EXPECT_EQ(with({}).values().at("cluster.network.latency").text, "7us");
  EXPECT_EQ(with({{"cluster.network.latency", "9us"}}).values().at("cluster.network.latency").text,
            "9us");
}

}  // namespace sections_test
}  // namespace paceline
