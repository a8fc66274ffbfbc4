#include "scenarios/import/cluster_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "scenarios/data_files/data_files.h"
#include "scenarios/errors.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

using topology::Cluster;
using topology::IntraNodeKind;
using topology::PcieTree;
using topology::Transport;

std::string topology_fixture(const std::string& name) {
  return std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/topology/" + name;
}

// As a scenario's `cluster: {preset: ...}` reads it, a name or a file.
Cluster cluster_named(const std::string& preset) {
  const auto document =
      loader::parse_document("test.yaml", "cluster: {preset: \"" + preset + "\", nodes: 2}\n");
  return loader::load_described_cluster(
             {loader::Reader(loader::Field(document, document->root["cluster"], "cluster")),
              loader::cluster_keys()})
      .cluster;
}

Cluster cluster_of_topology(const std::string& path, const TopologyOptions& options) {
  const test::Folder folder;
  return cluster_named(folder.write(
      "made.yaml", cluster_file_text(read_topology_file(path, std::nullopt), options)));
}

Cluster cluster_of_text(const std::string& text, const TopologyOptions& options) {
  const test::Folder folder;
  return cluster_of_topology(folder.write("topology.txt", text), options);
}

TopologyOptions with_device(const std::string& name) {
  TopologyOptions options;
  options.device = device_named(name);
  return options;
}

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

std::string refusal_of_text(const std::string& text, const TopologyOptions& options) {
  const test::Folder folder;
  const std::string path = folder.write("t", text);
  const std::string said =
      refusal_of([&] { (void)cluster_file_text(read_topology_file(path, std::nullopt), options); });
  return said.rfind(path, 0) == 0 ? said.substr(path.size()) : said;
}

void expect_told_alike(const Cluster& made, const Cluster& preset) {
  EXPECT_EQ(made.gpus_per_node, preset.gpus_per_node);
  EXPECT_EQ(made.intra_node.kind, preset.intra_node.kind);
  EXPECT_EQ(made.intra_node.lanes, preset.intra_node.lanes);
  EXPECT_EQ(made.network.nics_per_node, preset.network.nics_per_node);
  EXPECT_EQ(made.network.transport, preset.network.transport);
}

TEST(ClusterOfTopology, IsThePresetOfADgx1InWhatFilesTell) {
  const Cluster preset = cluster_named("dgx1-v100");
  const Cluster of_nccl = cluster_of_topology(topology_fixture("dgx1_v100.xml"), {});
  expect_told_alike(of_nccl, preset);
  EXPECT_EQ(of_nccl.network.bandwidth, preset.network.bandwidth);
  EXPECT_EQ(of_nccl.intra_node.host_bandwidth, preset.intra_node.host_bandwidth);
  EXPECT_EQ(of_nccl.intra_node.bandwidth, BytesPerSecond(20e9));  // NCCL's; measured: 22.5
  EXPECT_NEAR(of_nccl.intra_node.latency.value(), preset.intra_node.latency.value(), 1e-15);
  const Cluster of_matrix =
      cluster_of_topology(topology_fixture("dgx1_v100.txt"), with_device("v100-sxm2-16gb"));
  expect_told_alike(of_matrix, preset);
  EXPECT_EQ(of_matrix.intra_node.bandwidth, BytesPerSecond(20e9));
  EXPECT_EQ(of_matrix.intra_node.host_bandwidth, preset.intra_node.host_bandwidth);
}

// Twelve NVLinks of 20 GB/s; ten NICs in the matrix, of which two are far from all GPUs.
TEST(ClusterOfTopology, IsThePresetOfADgxA100InWhatFilesTell) {
  const Cluster preset = cluster_named("dgx-a100");
  const Cluster of_nccl = cluster_of_topology(topology_fixture("dgx_a100.xml"), {});
  expect_told_alike(of_nccl, preset);
  EXPECT_EQ(of_nccl.intra_node.bandwidth, preset.intra_node.bandwidth);
  EXPECT_EQ(of_nccl.intra_node.host_bandwidth, preset.intra_node.host_bandwidth);
  EXPECT_EQ(of_nccl.network.bandwidth, preset.network.bandwidth);
  const Cluster of_matrix =
      cluster_of_topology(topology_fixture("dgx_a100.txt"), with_device("a100-sxm4-40gb"));
  expect_told_alike(of_matrix, preset);
  EXPECT_EQ(of_matrix.intra_node.bandwidth, preset.intra_node.bandwidth);
  EXPECT_EQ(of_matrix.network.bandwidth, BytesPerSecond(12.5e9));  // not told
}

TEST(ClusterOfTopology, IsThePresetOfAPcieServerInWhatFilesTell) {
  const Cluster preset = cluster_named("pcie-tree-8");
  for (const char* name : {"pcie_8.xml", "pcie_8.txt"}) {
    SCOPED_TRACE(name);
    const Cluster made = cluster_of_topology(topology_fixture(name), {});
    expect_told_alike(made, preset);
    EXPECT_EQ(made.intra_node.pcie_tree, preset.intra_node.pcie_tree);
    EXPECT_EQ(made.intra_node.bandwidth, preset.intra_node.bandwidth);
  }
}

TEST(ClusterOfTopology, TakesSocketsForTcp) {
  const Cluster made = cluster_of_topology(topology_fixture("hgx_b200_virtual.xml"), {});
  EXPECT_EQ(made.intra_node.kind, IntraNodeKind::nvswitch);
  EXPECT_NEAR(made.intra_node.bandwidth.value(), 18 * 40.1e9, 1e8);
  EXPECT_EQ(made.network.transport, Transport::tcp);
  EXPECT_EQ(made.network.bandwidth, BytesPerSecond(1.25e9));
}

constexpr auto four_times_six =
    " GPU0 GPU1 GPU2 GPU3\nGPU0 X NV6 NV6 NV6\nGPU1 NV6 X NV6 NV6\nGPU2 NV6 NV6 X NV6\n"
    "GPU3 NV6 NV6 NV6 X\n";

// Six are all that a V100 has; an H100 has 18, six for each of three peers.
TEST(ClusterOfTopology, TellsNvswitchesFromAMeshByTheLinksOfADevice) {
  const Cluster v100 = cluster_of_text(four_times_six, with_device("v100-sxm2-32gb"));
  EXPECT_EQ(v100.intra_node.kind, IntraNodeKind::nvswitch);
  EXPECT_EQ(v100.intra_node.bandwidth, BytesPerSecond(120e9));
  const Cluster h100 = cluster_of_text(four_times_six, with_device("h100-sxm5-80gb"));
  EXPECT_EQ(h100.intra_node.kind, IntraNodeKind::nvlink_mesh);
  EXPECT_EQ(h100.intra_node.lanes[3][0], 6U);
  TopologyOptions link_only;
  link_only.link_bandwidth = BytesPerSecond(20e9);
  EXPECT_EQ(refusal_of_text(four_times_six, link_only),
            ":2:1: 6 NVLinks between any two of 4 GPUs may lead through NVSwitches or not; add "
            "--device, as h100-sxm5-80gb, which tells how many a GPU has");
}

TEST(ClusterOfTopology, AsksForTheBandwidthOfNvlinks) {
  EXPECT_EQ(refusal_of_text(" GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n", {}),
            ": does not say the kind of GPU, nor how fast one of its NVLinks is; add --device, as "
            "a100-sxm4-40gb, or --link-bandwidth, as 20GBps");
  EXPECT_EQ(refusal_of_text(" GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n", with_device("k80")),
            ": has NVLinks, and such GPUs have none (--device k80); give another --device, or "
            "--link-bandwidth, as 20GBps");
}

// A pair of cards with a bridge between them, twice: the pairs meet on the host.
TEST(ClusterOfTopology, JoinsPairsWithoutNvlinksByTheHost) {
  const Cluster made = cluster_of_text(
      " GPU0 GPU1 GPU2 GPU3\nGPU0 X NV4 SYS SYS\nGPU1 NV4 X SYS SYS\nGPU2 SYS SYS X NV4\n"
      "GPU3 SYS SYS NV4 X\n",
      with_device("rtx-a6000"));
  EXPECT_EQ(made.intra_node.kind, IntraNodeKind::nvlink_mesh);
  EXPECT_EQ(made.intra_node.bandwidth, BytesPerSecond(12e9));
  EXPECT_EQ(made.intra_node.host_bandwidth, BytesPerSecond(24e9));
}

TEST(ClusterOfTopology, TakesSeveralNicsOfAGpuForOneWhenItKnowsTheirSpeed) {
  constexpr auto two_nics =
      " GPU0 mlx5_0 mlx5_1\nGPU0 X PIX PIX\nmlx5_0 PIX X PIX\nmlx5_1 PIX PIX X\n";
  EXPECT_EQ(refusal_of_text(two_nics, {}),
            ": has 2 NICs for 1 GPU, and a cluster has no more than GPUs; add --nics, and "
            "--network-bandwidth where it is another's, of those that training uses");
  TopologyOptions known;
  known.network_bandwidth = BytesPerSecond(25e9);
  const Cluster made = cluster_of_text(two_nics, known);
  EXPECT_EQ(made.network.nics_per_node, 1U);
  EXPECT_EQ(made.network.bandwidth, BytesPerSecond(50e9));
  known.nics_per_node = 1;
  EXPECT_EQ(cluster_of_text(two_nics, known).network.bandwidth, BytesPerSecond(25e9));
}

TEST(ClusterOfTopology, SaysWhereEachFigureComesFrom) {
  const std::string text =
      cluster_file_text(read_topology_file(topology_fixture("pcie_8.txt"), std::nullopt), {});
  EXPECT_NE(text.find("# Written by paceline topology from pcie_8.txt: nvidia-smi topo -m."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  # not told by the file: PCIe 3.0 with 16 lanes, as NCCL counts it; "
                      "--device tells more\n  bandwidth: 12GBps\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  # mlx5_0\n  nics_per_node: 1\n"), std::string::npos) << text;
}

TEST(ClusterOfTopology, RefusesADeviceThatTheFileContradicts) {
  const std::string said = refusal_of([&] {
    (void)cluster_file_text(read_topology_file(topology_fixture("dgx1_v100.xml"), std::nullopt),
                            with_device("a100-sxm4-40gb"));
  });
  EXPECT_EQ(said.rfind("--device: a100-sxm4-40gb has compute capability 8, and GPUs of ", 0), 0U)
      << said;
}

// Six rings show all lanes of eight GPUs; the rates of NVLink and NICs are not in such a log.
TEST(ClusterOfLog, IsThePresetOfADgx1InWhatItTells) {
  const Cluster made = cluster_of_topology(topology_fixture("dgx1_v100_info.txt"), {});
  expect_told_alike(made, cluster_named("dgx1-v100"));
  EXPECT_EQ(made.intra_node.bandwidth, BytesPerSecond(20e9));
  EXPECT_EQ(made.intra_node.host_bandwidth, BytesPerSecond(12e9));
  EXPECT_EQ(made.network.bandwidth, BytesPerSecond(12.5e9));
}

// A100-SXM4 have NVSwitches: twelve links of 20 GB/s.
TEST(ClusterOfLog, TakesTheKindOfGpuForWhatJoinsThem) {
  const Cluster made = cluster_of_topology(topology_fixture("two_a100_nodes_info.txt"),
                                           with_device("a100-sxm4-40gb"));
  EXPECT_EQ(made.gpus_per_node, 8U);
  EXPECT_EQ(made.intra_node.kind, IntraNodeKind::nvswitch);
  EXPECT_EQ(made.intra_node.bandwidth, BytesPerSecond(240e9));
  EXPECT_EQ(made.network.nics_per_node, 8U);
  EXPECT_EQ(made.network.bandwidth, BytesPerSecond(25e9));
  EXPECT_EQ(made.network.transport, Transport::rdma);
  EXPECT_NE(refusal_of([] {
              (void)cluster_file_text(
                  read_topology_file(topology_fixture("two_a100_nodes_info.txt"), std::nullopt),
                  {});
            }).find("does not say whether NVLink or PCIe joins its GPUs; add --device"),
            std::string::npos);
}

TEST(ClusterOfLog, KnowsConnectionsThroughHostMemory) {
  const Cluster made = cluster_of_topology(topology_fixture("pcie_shm_info.txt"), {});
  EXPECT_EQ(made.intra_node.kind, IntraNodeKind::pcie);
  ASSERT_TRUE(made.intra_node.pcie_tree);
  EXPECT_FALSE(made.intra_node.pcie_tree->peer_to_peer);
  EXPECT_EQ(made.network.transport, Transport::tcp);
  EXPECT_EQ(made.network.nics_per_node, 1U);
}

TEST(ClusterOfLog, SaysInCommentsWhatTheRunWas) {
  const std::string text = cluster_file_text(
      read_topology_file(topology_fixture("dgx1_v100_info.txt"), std::nullopt), {});
  for (const char* said :
       {"# The run: 1 node of 8 GPUs, Tesla V100-SXM2-16GB; NCCL 2.18.3; network IB.",
        "collective: {version: \"2.18.3\"}", "# 12 rings, half of them the others again.",
        "# Connections in nodes: 16 by peer-to-peer, 0 over a GPU between, 0 through host memory",
        "# Tesla V100-SXM2-16GB has lanes; its lanes are the rings that cross a pair"}) {
    EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
  }
}

}  // namespace
}  // namespace paceline
