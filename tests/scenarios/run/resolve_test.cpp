#include "scenarios/run/resolve.h"

#include <gtest/gtest.h>

#include "scenarios/loader/scenario_file.h"

namespace paceline {
namespace {

// Two nodes of eight GPUs.
Scenario scenario_of(const std::vector<std::pair<const char*, const char*>>& settings) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx1-v100";
  values.by_path["gpus"] = "16";
  for (const auto& [path, value] : settings) values.by_path[path] = value;
  return scenario_of_options(values, {});
}

TEST(AlgorithmOptions, AreThoseOfTheScenarioInEveryCall) {
  const Scenario scenario = scenario_of({{"collective.algorithm", "hierarchical"},
                                         {"collective.channels", "3"},
                                         {"collective.chunk_size", "64KiB"},
                                         {"collective.inner", "direct"},
                                         {"collective.outer", "recursive_doubling"},
                                         {"collective.servers", "2"},
                                         {"collective.server_placement", "separate"}});
  collectives::AlgorithmOptions expected;
  expected.channels = 3;
  expected.chunk_size = Bytes(64 << 10);
  expected.inner = "direct";
  expected.outer = "recursive_doubling";
  expected.servers = 2;
  expected.separate_servers = true;
  const PreparedPoint prepared = resolve(scenario, 0, nullptr);
  std::size_t calls = 0;
  for (const auto& operation : prepared.point.program.operations) {
    const auto* call = std::get_if<training::CollectiveCall>(&operation.work);
    if (call == nullptr) continue;
    ++calls;
    ASSERT_NE(call->options(), nullptr);
    EXPECT_EQ(*call->options(), expected);
  }
  EXPECT_GT(calls, 0U);
}

TEST(AlgorithmOptions, AreLeftToTheAlgorithmWhenAuto) {
  const Scenario scenario = scenario_of({{"collective.channels", "auto"},
                                         {"collective.chunk_size", "auto"},
                                         {"collective.servers", "auto"},
                                         {"collective.server_placement", "colocated"}});
  EXPECT_EQ(scenario.collective.options, collectives::AlgorithmOptions{});
}

std::uint32_t servers_of(const std::vector<std::pair<const char*, const char*>>& settings) {
  return resolve(scenario_of(settings), 0, nullptr).point.cluster.servers;
}

// One a node unless the scenario says how many, and no more than GPUs. Where the user does not ask
// for servers of their own, or no plan has any, there are none.
TEST(Servers, AreMachinesOfTheClusterWhenTheyAreSeparate) {
  const std::pair<const char*, const char*> algorithm{"collective.algorithm", "parameter_server"};
  const std::pair<const char*, const char*> separate{"collective.server_placement", "separate"};
  EXPECT_EQ(servers_of({algorithm, separate}), 2U);
  EXPECT_EQ(servers_of({algorithm, separate, {"collective.servers", "3"}}), 3U);
  EXPECT_EQ(servers_of({algorithm, separate, {"collective.servers", "99"}}), 16U);
  EXPECT_EQ(servers_of({algorithm, {"collective.servers", "3"}}), 0U);
  EXPECT_EQ(servers_of({separate}), 0U);
}

}  // namespace
}  // namespace paceline
