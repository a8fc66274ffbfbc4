// What a scenario says of NCCL: its version, algorithm and protocol.

#include "scenarios/loader/load_collective.h"

#include <gtest/gtest.h>

#include <string>

#include "scenarios/loader/scenario_file.h"

namespace paceline {
namespace {

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
  EXPECT_EQ(loaded({"", "", "ll128"}).nccl.protocol, Protocol::ll128);
  EXPECT_EQ(loaded({"", "", "simple"}).nccl.protocol, Protocol::simple);
}

// An algorithm that is not NCCL's is simulated as it is, without a protocol.
TEST(NcclSettings, TakeAnyAlgorithmAsAPlan) {
  const CollectiveSettings settings = loaded({"", "hierarchical", ""});
  EXPECT_EQ(settings.algorithm, "hierarchical");
  EXPECT_FALSE(settings.nccl.algorithm);
  EXPECT_EQ(refused({"", "direct", "ll"}),
            "command line: algorithm \"direct\" is none of NCCL's, so it has no protocol; "
            "leave protocol out");
}

TEST(NcclSettings, AreRefusedWhereTheyMeanNothing) {
  EXPECT_NE(refused({"2.x", "", ""}).find("is no version of NCCL; write \"2.18\""),
            std::string::npos);
  EXPECT_NE(refused({"", "", "l1"}).find("\"l1\" is not known"), std::string::npos);
  EXPECT_NE(refused({"2.18", "", "", "gloo"}).find("is for library: nccl; leave it out"),
            std::string::npos);
  EXPECT_NE(refused({"", "ring", "ll", "plan"}).find("is for library: nccl; leave it out"),
            std::string::npos);
}

// A DGX-1's GPUs are joined without switches.
TEST(CollectiveSettings, RefuseSwitchesThatAreNotThere) {
  EXPECT_NE(refused({"", "nvls", "", "plan"})
                .find("algorithm \"nvls\" is for nodes on NVSwitch; name another"),
            std::string::npos)
      << refused({"", "nvls", "", "plan"});
}

}  // namespace
}  // namespace paceline
