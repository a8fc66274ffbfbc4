// `paceline nccl` through the built program.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace nccl_test {

using nlohmann::json;

// The group whose log tests/models/cost/nccl_tuning_test.cpp knows: 3 nodes of 8 H100, 2.21.
std::vector<std::string> known_group(std::vector<std::string> more) {
  std::vector<std::string> all{"nccl", "--version", "2.21",           "--nodes",
                               "3",    "--device",  "h100-sxm5-80gb", "--channels",
                               "16",   "--local",   "12GBps",         "--plain-tree"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(Nccl, PrintsItsTableAndItsChoices) {
  const Folder folder;
  const Ended ended = paceline(known_group({"--min", "4KiB", "--max", "8KiB"}), folder.path());
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(ended.out.rfind("NCCL 2.21, 24 ranks on 3 nodes, 16 channels\n", 0), 0U);
  EXPECT_NE(ended.out.find("25.2/8.7"), std::string::npos) << ended.out;  // a tree with LL
  EXPECT_NE(ended.out.find("25.875"), std::string::npos) << ended.out;    // 4 KiB
  EXPECT_EQ(ended.out.find("PAT"), std::string::npos) << ended.out;       // not before 2.23
}

TEST(Nccl, WritesItAsJson) {
  const Folder folder;
  const Ended ended =
      paceline(known_group({"--min", "8GiB", "--max", "8GiB", "--json", "-"}), folder.path());
  const json all = json::parse(ended.out);
  EXPECT_EQ(all["release"], "2.21");
  ASSERT_EQ(all["choices"].size(), 1U);
  EXPECT_EQ(all["choices"][0]["algorithm"], "Ring");
  EXPECT_EQ(all["choices"][0]["protocol"], "Simple");
  EXPECT_NEAR(all["choices"][0]["time_s"].get<double>(), 86069.975e-6, 1e-8);
}

TEST(Nccl, WritesATunersLinesWithoutGaps) {
  const Folder folder;
  const Ended ended =
      paceline(known_group({"--min", "1KiB", "--max", "8GiB", "--tuner", "-"}), folder.path());
  EXPECT_EQ(ended.out,
            "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n"
            "allreduce,0,131071,tree,ll,-1,3,24\n"
            "allreduce,131072,16777215,tree,ll128,-1,3,24\n"
            "allreduce,16777216,268435455,ring,ll128,-1,3,24\n"
            "allreduce,268435456,8589934592,ring,simple,-1,3,24\n");
}

TEST(Nccl, SaysWhichReleaseStandsForAnother) {
  const Folder folder;
  const Ended ended = paceline(
      {"nccl", "--version", "2.8.4", "--channels", "12", "--local", "20GBps", "--max", "1KiB"},
      folder.path());
  EXPECT_NE(ended.out.find("NCCL 2.8.4 is not modelled; 2.18 is used instead"), std::string::npos);
}

// Two channels a NIC.
TEST(Nccl, DescribesAClusterByItself) {
  const Folder folder;
  const Ended ended =
      paceline({"nccl", "dgx-h100", "--gpus", "24", "--device", "h100-sxm5-80gb", "--max", "1KiB"},
               folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out.rfind("NCCL 2.28, 24 ranks on 3 nodes, 16 channels\n", 0), 0U) << ended.out;
  EXPECT_NE(ended.out.find("16 channels of 24GBps, derived from the cluster"), std::string::npos)
      << ended.out;
}

TEST(Nccl, KnowsWhatSwitchesReduceWhereThereAreSuch) {
  const Folder folder;
  const Ended without = paceline(known_group({"--max", "1KiB"}), folder.path());
  EXPECT_EQ(without.out.find("NVLS Simple"), std::string::npos) << without.out;
  const Ended with =
      paceline(known_group({"--max", "1KiB", "--nvls-channels", "16", "--collnet-channels", "8"}),
               folder.path());
  for (const char* column :
       {"NVLS Simple", "NVLSTree Simple", "CollNetDirect Simple", "CollNetChain"}) {
    EXPECT_NE(with.out.find(column), std::string::npos) << column << with.out;
  }
}

// LL128 needs NVLink.
TEST(Nccl, HasNoLl128OnPcie) {
  const Folder folder;
  const Ended ended =
      paceline({"nccl", "--channels", "2", "--local", "6GBps", "--link", "pci", "--max", "1KiB"},
               folder.path());
  EXPECT_EQ(ended.out.find("LL128"), std::string::npos) << ended.out;
}

struct BadUse {
  std::vector<std::string> arguments;
  std::string line;
};

TEST(Nccl, SaysWhatIsWrong) {
  const BadUse cases[] = {
      {{"--channels", "16", "--local", "12"},
       "--local: \"12\" has no unit; write 12Gbps or 12GBps"},
      {{"--channels", "0", "--local", "12GBps"},
       "--channels: 0 is out of range; write 1 to 64, as NCCL_DEBUG_SUBSYS=GRAPH prints, or name a "
       "cluster"},
      {{"--channels", "2", "--local", "0GBps"}, "--local: is not above zero"},
      {{"--channels", "2", "--local", "1GBps", "--version", "3.0"},
       "--version: \"3.0\" is not a version of NCCL; write 2.18 to 2.30"},
      {{"--channels", "2", "--local", "1GBps", "--version", "2.x"},
       "--version: \"2.x\" is not a version of NCCL; write 2.18 to 2.30"},
      {{"--channels", "2", "--local", "1GBps", "--nodes", "0"},
       "--nodes: 0 is out of range; write 1 or more"},
      {{"--channels", "2", "--local", "1GBps", "--nodes", "1048576", "--gpus-per-node", "8192"},
       "--gpus-per-node: 8192 is out of range; write 1 to 1024"},
      {{"--channels", "2", "--local", "1GBps", "--gpus-per-node", "1"},
       "--gpus-per-node: one GPU sends nothing; write 2 or more, or --nodes 2"},
      {{"--gpus", "8", "--channels", "2", "--local", "1GBps"},
       "--gpus requires cluster; see paceline nccl --help"},
      {{"dgx-a100", "--channels", "2"}, "cluster excludes --channels; see paceline nccl --help"},
      {{"dgx-a100", "--gpus", "1"}, "--gpus: one GPU sends nothing; write 2 or more"},
      {{"dgx-a100", "--gpus", "8", "--nvls-channels", "65"},
       "--nvls-channels: 65 is out of range; write 1 to 64"},
      {{"--channels", "2", "--local", "1GBps", "--min", "2KiB", "--max", "1KiB"},
       "--max: is below --min"},
      {{"--channels", "2", "--local", "1GBps", "--collective", "all_to_all"},
       "--collective: \"all_to_all\" is not known; known: broadcast, reduce, all_gather, "
       "reduce_scatter, all_reduce"},
  };
  const Folder folder;
  for (const BadUse& bad : cases) {
    std::vector<std::string> arguments{"nccl"};
    arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
    const Ended ended = paceline(arguments, folder.path());
    EXPECT_EQ(ended.exit_code, 2) << bad.line;
    EXPECT_EQ(ended.err, "paceline: " + bad.line + "\n");
  }
}

// 25 us in a node and 2 x 14 for each doubling of nodes, on any way to the simulator, and a small
// message beside it: messages of NVLSTree's plan have no latency of their own.
TEST(Nccl, SimulatesNvlsTreeWithItsLatency) {
  const Folder folder;
  for (const auto& [gpus, latency] : {std::pair{"16", 53e-6}, {"128", 137e-6}}) {
    const Ended ended =
        paceline({"collective", "dgx-h100", "--gpus", gpus, "--algorithm", "nvls_tree", "--min",
                  "4KiB", "--max", "4KiB", "--json", "-", "--quiet"},
                 folder.path());
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const auto row = json::parse(ended.out).at("rows").at(0);
    EXPECT_EQ(row.at("algorithm"), "nvls");
    EXPECT_EQ(row.at("protocol"), "Simple");
    // What is above NCCL's model of 4 KiB is a few microseconds.
    EXPECT_GT(row.at("time_s").get<double>(), latency) << gpus;
    EXPECT_LT(row.at("time_s").get<double>(), latency + 6e-6) << gpus;
  }
}

}  // namespace nccl_test
}  // namespace paceline::test
