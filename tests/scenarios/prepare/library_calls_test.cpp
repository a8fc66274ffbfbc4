#include "scenarios/prepare/library_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/loader/scenario_file.h"

namespace paceline {
namespace library_calls_test {

using collectives::Collective;
using training::CollectiveCall;

// Four nodes of eight A100.
Scenario scenario_of(const std::vector<std::pair<const char*, const char*>>& settings) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx-a100";
  values.by_path["gpus"] = "32";
  for (const auto& [path, value] : settings) values.by_path[path] = value;
  return scenario_of_options(values, {});
}

CollectiveCall call_of(Collective collective, std::uint64_t bytes) {
  return {collective, ElementCount(bytes / 4), ElementSize(4)};
}

TEST(LibraryCalls, AreWhatNcclChoosesForEachSize) {
  const Scenario scenario = scenario_of({});
  LibraryCalls library(scenario);
  CollectiveCall small = call_of(Collective::all_reduce, 4096);
  EXPECT_EQ(library.plan(small), "LL");
  EXPECT_EQ(algorithm_of(small), "double_binary_tree");
  EXPECT_GT(small.simulated()->wire.bytes, 2);
  CollectiveCall large = call_of(Collective::all_reduce, std::uint64_t{4} << 30);
  EXPECT_EQ(library.plan(large), "Simple");
  EXPECT_EQ(algorithm_of(large), "ring");
  EXPECT_EQ(library.assumptions().sentences(),
            (std::vector<std::string>{
                "nccl 2.28, assumed: all_reduce by Ring Simple, Tree LL",
                "nccl: the cluster's links decide the number of channels; CollNet is not used"}));
}

TEST(LibraryCalls, AreWhatTheScenarioFixes) {
  const Scenario scenario = scenario_of({{"collective.version", "2.8"},
                                         {"collective.algorithm", "ring"},
                                         {"collective.protocol", "ll"},
                                         {"collective.chunk_size", "64KiB"}});
  LibraryCalls library(scenario);
  CollectiveCall call = call_of(Collective::all_reduce, std::uint64_t{4} << 30);
  EXPECT_EQ(library.plan(call), "LL");
  EXPECT_EQ(call.simulated()->options.chunk_size, Bytes(64 << 10));
  ASSERT_EQ(library.assumptions().sentences().size(), 3U);
  EXPECT_EQ(library.assumptions().sentences()[0], "nccl 2.18: all_reduce by Ring LL");
  EXPECT_EQ(library.assumptions().sentences()[1], "nccl 2.8 is not modelled; 2.18 is used instead");
}

// One plan for NVLS and NVLSTree; the report says which of them it is.
TEST(LibraryCalls, NameWhatSwitchesReduce) {
  const Scenario scenario =
      scenario_of({{"cluster.preset", "dgx-h100"}, {"workload.device", "h100-sxm5-80gb"}});
  LibraryCalls library(scenario);
  CollectiveCall call = call_of(Collective::all_reduce, 1 << 30);
  EXPECT_EQ(library.plan(call), "Simple");
  EXPECT_EQ(algorithm_of(call), "nvls");
  const auto sentences = library.assumptions().sentences();
  EXPECT_EQ(std::ranges::count(sentences, "nccl 2.28, assumed: all_reduce by NVLSTree Simple"), 1);
  const Scenario off = scenario_of({{"cluster.preset", "dgx-h100"},
                                    {"workload.device", "h100-sxm5-80gb"},
                                    {"collective.nvls", "false"}});
  LibraryCalls without(off);
  EXPECT_EQ(without.plan(call), "Simple");
}

// A call takes NCCL's time whatever its chunks are: what they take before the first and behind the
// last is no part of the time before it.
TEST(LibraryCalls, OfSwitchesTakeNcclsTimeWithChunksThatAreNamed) {
  const auto start_of = [](const char* chunk) {
    const Scenario scenario = scenario_of({{"cluster.preset", "dgx-h100"},
                                           {"workload.device", "h100-sxm5-80gb"},
                                           {"gpus", "8"},
                                           {"collective.algorithm", "nvls"},
                                           {"collective.chunk_size", chunk}});
    LibraryCalls library(scenario);
    CollectiveCall call = call_of(Collective::all_reduce, 1 << 26);
    (void)library.plan(call);
    return std::pair(call.simulated()->options.chunk_size, call.simulated()->wire.start);
  };
  const auto [automatic, start] = start_of("auto");
  const auto [small, later_start] = start_of("32KiB");
  const auto [large, no_start] = start_of("8MiB");
  EXPECT_EQ(automatic, Bytes(256 << 10));
  EXPECT_EQ(small, Bytes(32 << 10));
  EXPECT_EQ(large, Bytes(8 << 20));
  EXPECT_GT(later_start, start);
  EXPECT_LT(no_start, start);
}

// A network that adds is one that the scenario says so of; without, rings stand in for what it
// names.
TEST(LibraryCalls, AreAddedByANetworkThatAdds) {
  for (const bool adds : {false, true}) {
    const Scenario scenario = scenario_of({{"collective.algorithm", "collnet_chain"},
                                           {"cluster.network.sharp", adds ? "true" : "false"}});
    LibraryCalls library(scenario);
    CollectiveCall call = call_of(Collective::all_reduce, 1 << 26);
    EXPECT_EQ(library.plan(call), adds ? "Simple" : library.plan(call));
    EXPECT_EQ(algorithm_of(call) == "collnet_chain", adds);
    const auto sentences = library.assumptions().sentences();
    EXPECT_EQ(std::ranges::count(sentences,
                                 "nccl: CollNetChain is not available for some calls; these use "
                                 "what is available"),
              adds ? 0 : 1);
    EXPECT_EQ(std::ranges::count(sentences,
                                 "nccl: the cluster's links decide the number of channels; "
                                 "all-reduces can use CollNet, but not NVLS across nodes"),
              adds ? 1 : 0);
  }
}

// NCCL gets the same bandwidth from more channels, but each may carry only so much.
TEST(LibraryCalls, ShareTheBandwidthAmongTheChannelsThatAreNamed) {
  const auto bytes_of = [](const char* channels) {
    const Scenario scenario = scenario_of({{"collective.channels", channels},
                                           {"collective.algorithm", "tree"},
                                           {"collective.protocol", "simple"}});
    LibraryCalls library(scenario);
    CollectiveCall call = call_of(Collective::all_reduce, 1 << 26);
    (void)library.plan(call);
    return call.simulated()->wire.bytes;
  };
  EXPECT_NEAR(bytes_of("16"), 1 / 0.92, 1e-9);
  // 8 NICs of 24 GB/s through 8 channels of 17.8 at most (an Ampere's tree on many nodes).
  EXPECT_NEAR(bytes_of("8"), 8 * 24 / (8 * 17.8), 1e-9);
  // One channel is one NIC's, and no wider for being alone.
  EXPECT_NEAR(bytes_of("1"), 24 / 17.8, 1e-9);
}

// Two of eight rings, each by a NIC of 24 GB/s, of which a channel carries 20.
TEST(LibraryCalls, HaveNoMoreRingsThanNcclHasChannels) {
  const Scenario scenario = scenario_of({{"collective.max_ctas", "2"},
                                         {"collective.algorithm", "ring"},
                                         {"collective.protocol", "simple"}});
  LibraryCalls library(scenario);
  CollectiveCall call = call_of(Collective::all_reduce, 1 << 26);
  (void)library.plan(call);
  EXPECT_EQ(call.simulated()->options.channels, 2U);
  EXPECT_NEAR(call.simulated()->wire.bytes, 24.0 / 20, 1e-9);
}

// One GPU a node.
Scenario scenario_with_pat(const char* library) {
  return scenario_of({{"cluster.gpus_per_node", "1"},
                      {"cluster.network.nics_per_node", "1"},
                      {"collective.library", library},
                      {"collective.algorithm", "pat"}});
}

TEST(LibraryCalls, OfPatAreGathersAndScattersOfChunks) {
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    CollectiveCall call = call_of(collective, 1 << 30);
    const Scenario by_nccl = scenario_with_pat("nccl"), as_it_is = scenario_with_pat("plan");
    LibraryCalls nccl(by_nccl), plan(as_it_is);
    EXPECT_EQ(nccl.plan(call), "Simple");
    EXPECT_EQ(algorithm_of(call), "pat");
    EXPECT_GT(call.simulated()->wire.bytes, 1);
    EXPECT_EQ(plan.plan(call), "");
    EXPECT_EQ(algorithm_of(call), "pat");
    EXPECT_EQ(call.simulated()->wire, topology::Wire{});
  }
}

// Sums are NCCL's own choice, and no stand-in; a release without PAT has rings in its place.
TEST(LibraryCalls, OfPatAreNoOthers) {
  Scenario scenario = scenario_with_pat("nccl");
  LibraryCalls library(scenario);
  CollectiveCall sum = call_of(Collective::all_reduce, 1 << 20);
  EXPECT_NE(library.plan(sum), "");
  EXPECT_NE(algorithm_of(sum), "pat");
  EXPECT_EQ(library.assumptions().sentences().size(), 2U);
  scenario.collective.nccl_minor = 22;
  LibraryCalls older(scenario);
  CollectiveCall gather = call_of(Collective::all_gather, 1 << 30);
  EXPECT_EQ(older.plan(gather), "Simple");
  EXPECT_EQ(algorithm_of(gather), "ring");
  EXPECT_EQ(older.assumptions().sentences()[0],
            "nccl: PAT is not available for some calls; these use what is available");
}

// What NCCL does not choose has no protocol, and neither have its groups of sends and receives.
TEST(LibraryCalls, OfPlansHaveNoWire) {
  const Scenario scenario = scenario_of({{"collective.algorithm", "hierarchical"}});
  LibraryCalls library(scenario);
  CollectiveCall call = call_of(Collective::all_reduce, 1 << 20);
  EXPECT_EQ(library.plan(call), "");
  EXPECT_EQ(call.simulated()->wire, topology::Wire{});
  for (const auto& [collective, algorithm] :
       {std::pair(Collective::all_to_all, "pairwise"), std::pair(Collective::scatter, "direct")}) {
    CollectiveCall messages = call_of(collective, 1 << 20);
    EXPECT_EQ(library.plan(messages), "");
    EXPECT_EQ(algorithm_of(messages), algorithm);
  }
  EXPECT_EQ(library.assumptions().sentences(), std::vector<std::string>{});
}

}  // namespace library_calls_test
}  // namespace paceline
