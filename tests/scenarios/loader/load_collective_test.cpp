// What a scenario says of NCCL: its version, algorithm and protocol.

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/loader/sections.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace load_collective_test {

using cost::nccl::Algorithm;
using cost::nccl::Protocol;

struct Nccl {
  std::string version, algorithm, protocol, library = "nccl";
};

CollectiveSettings loaded(const Nccl& nccl) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx1-v100";
  values.set_given({{"collective.library", nccl.library},
                    {"collective.version", nccl.version},
                    {"collective.algorithm", nccl.algorithm},
                    {"collective.protocol", nccl.protocol}});
  return scenario_of_options(values, {}).collective;
}

std::string refused(const Nccl& nccl) {
  try {
    (void)loaded(nccl);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(NcclSettings, LeaveAllToNcclUnlessTheySaySo) {
  const CollectiveSettings settings = loaded({});
  EXPECT_FALSE(settings.nccl_minor);
  EXPECT_FALSE(settings.nccl.algorithm);
  EXPECT_FALSE(settings.nccl.protocol);
  const CollectiveSettings automatic = loaded({"", "auto", "auto"});
  EXPECT_FALSE(automatic.nccl.algorithm);
  EXPECT_FALSE(automatic.nccl.protocol);
}

TEST(NcclSettings, FixWhatTheyName) {
  EXPECT_EQ(loaded({"2.18.3", "", ""}).nccl_minor, 18U);
  EXPECT_EQ(loaded({"2.8", "", ""}).nccl_minor, 8U);
  EXPECT_EQ(loaded({"", "ring", ""}).nccl.algorithm, Algorithm::ring);
  EXPECT_EQ(loaded({"", "tree", ""}).nccl.algorithm, Algorithm::tree);
  EXPECT_EQ(loaded({"", "double_binary_tree", ""}).nccl.algorithm, Algorithm::tree);
  EXPECT_EQ(loaded({"", "collnet_direct", ""}).nccl.algorithm, Algorithm::collnet_direct);
  EXPECT_EQ(loaded({"", "collnet_chain", ""}).nccl.algorithm, Algorithm::collnet_chain);
  EXPECT_EQ(loaded({"", "pat", ""}).nccl.algorithm, Algorithm::pat);
  EXPECT_EQ(loaded({"", "pat", "", "plan"}).algorithm, "pat");
  EXPECT_EQ(loaded({"", "", "ll128"}).nccl.protocol, Protocol::ll128);
  EXPECT_EQ(loaded({"", "", "simple"}).nccl.protocol, Protocol::simple);
}

// An algorithm that is not NCCL's is simulated as it is, without a protocol.
TEST(NcclSettings, TakeAnyAlgorithmAsAPlan) {
  const CollectiveSettings settings = loaded({"", "hierarchical", ""});
  EXPECT_EQ(settings.algorithm, "hierarchical");
  EXPECT_FALSE(settings.nccl.algorithm);
  EXPECT_EQ(refused({"", "direct", "ll"}),
            "command line: algorithm \"direct\" is not an algorithm of NCCL, so it has no "
            "protocol; leave protocol out");
}

TEST(NcclSettings, AreRefusedWhereTheyMeanNothing) {
  EXPECT_NE(refused({"2.x", "", ""}).find("is not a version of NCCL; write \"2.18\""),
            std::string::npos);
  EXPECT_NE(refused({"", "", "l1"}).find("\"l1\" is not known"), std::string::npos);
  EXPECT_NE(refused({"2.18", "", "", "gloo"}).find("is for library: nccl; leave it out"),
            std::string::npos);
  EXPECT_NE(
      refused({"", "collnet_chain", "", "plan"}).find("belongs to library: nccl; name another"),
      std::string::npos);
  EXPECT_NE(refused({"", "ring", "ll", "plan"}).find("is for library: nccl; leave it out"),
            std::string::npos);
}

cost::nccl::Channels channels_of(const std::vector<std::pair<std::string, std::string>>& given) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx1-v100";
  for (const auto& [key, value] : given) values.by_path["collective." + key] = value;
  return scenario_of_options(values, {}).collective.nccl.channels;
}

TEST(NcclSettings, LimitChannels) {
  EXPECT_FALSE(channels_of({}).has_limits());
  EXPECT_EQ(channels_of({{"channels", "4"}}).exactly, 4U);
  EXPECT_EQ(channels_of({{"min_ctas", "24"}}).least, 24U);
  EXPECT_EQ(channels_of({{"max_ctas", "4"}}).most, 4U);
  EXPECT_EQ(channels_of({{"min_ctas", "4"}, {"max_ctas", "4"}}).least, 4U);
  EXPECT_EQ(channels_of({{"version", "2.24"}, {"max_ctas", "32"}}).most, 32U);
}

// In the small scenario's line 15.
TEST(NcclSettings, RefuseLimitsThatCannotBe) {
  using namespace std::string_literals;
  for (const auto& [settings, key, message] :
       {std::tuple("min_ctas: 8, max_ctas: 4"s, "min_ctas: "s,
                   "min_ctas \"8\" is above max_ctas; write no more than that"s),
        {"version: \"2.24\", max_ctas: 33",
         "max_ctas: ", "max_ctas \"33\" is more channels than NCCL 2.24 has; write 1 to 32"},
        {"channels: 4, min_ctas: 2", "min_ctas: ",
         "min_ctas \"2\" cannot be combined with channels, which says how many there are; leave "
         "one of the two out"},
        {"max_ctas: 0", "max_ctas: ", "max_ctas \"0\" "},
        {"library: plan, max_ctas: 2",
         "max_ctas: ", "max_ctas \"2\" is for library: nccl; leave it out"}}) {
    const std::string library = settings.starts_with("library") ? "" : "library: nccl, ";
    const std::string line = "collective: {" + library + settings;
    const test::Folder folder;
    folder.write("bad.yaml", test::changed(test::small_scenario,
                                           "collective: {library: plan, algorithm: ring", line));
    const std::string column = std::to_string(line.find(key) + key.size() + 1);
    test::expect_refused(test::paceline({"run", "bad.yaml"}, folder.path()),
                         "paceline: bad.yaml:15:" + column + ": " + message);
  }
}

// A DGX-1's GPUs are joined without switches.
TEST(CollectiveSettings, RefuseSwitchesThatAreNotThere) {
  EXPECT_NE(refused({"", "nvls", "", "plan"})
                .find("algorithm \"nvls\" is for nodes on NVSwitch; name another"),
            std::string::npos)
      << refused({"", "nvls", "", "plan"});
}

// SHARP is InfiniBand's.
TEST(CollectiveSettings, RefuseANetworkThatAddsOverTcp) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx-a100";
  values.by_path["cluster.network.sharp"] = "true";
  EXPECT_TRUE(scenario_of_options(values, {}).cluster.network.sharp);
  values.by_path["cluster.network.transport"] = "tcp";
  try {
    (void)scenario_of_options(values, {});
    FAIL() << "is taken";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("sharp \"true\" is of InfiniBand's switches; set transport: rdma"),
              std::string::npos)
        << error.what();
  }
}

// Logs say what calls take, whatever the algorithm.
TEST(CollectiveSettings, MayNameSwitchesWhereLogsGiveTimes) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx1-v100";
  values.by_path["cluster.calibration"] = "logs.yaml";
  values.set_given({{"collective.library", "plan"}, {"collective.algorithm", "nvls"}});
  EXPECT_EQ(scenario_of_options(values, {}).collective.algorithm, "nvls");
}

// PATH_NVB came with 2.9.
TEST(NcclSettings, UseLanesOverNeighboursFrom2_9On) {
  const auto uses = [](const std::vector<std::pair<std::string, std::string>>& settings) {
    ScenarioValues values = small_values();
    values.by_path["cluster.preset"] = "dgx1-v100";
    for (const auto& [path, value] : settings) values.by_path[path] = value;
    return scenario_of_options(values, {}).cluster.intra_node.over_neighbours;
  };
  EXPECT_TRUE(uses({}));
  EXPECT_TRUE(uses({{"collective.version", "2.9.6"}}));
  EXPECT_FALSE(uses({{"collective.version", "2.8.4"}}));
  EXPECT_FALSE(uses({{"collective.nvb", "false"}}));
  EXPECT_FALSE(uses({{"collective.library", "mpi"}}));
  EXPECT_FALSE(uses({{"cluster.preset", "dgx-a100"}}));
  EXPECT_FALSE(uses({{"training.strategy", "data_parallel"}, {"cluster.nodes", "1"}}));
}

}  // namespace load_collective_test
}  // namespace paceline
