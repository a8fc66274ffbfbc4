// Which class the links of a scenario are of.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/prepare/preparer.h"
#include "scenarios/prepare/resolve.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace place_test {

using test::changed;
using uncertain::LinkClass;
using uncertain::Place;
using Values = std::vector<std::pair<const char*, const char*>>;

Place place_with(const Values& settings) {
  ScenarioValues values = small_values();
  for (const auto& [path, value] : settings) values.by_path[path] = value;
  return place_of(scenario_of_options(values, {}));
}

Place place_of_preset(const char* preset, Values more = {}) {
  more.emplace_back("cluster.preset", preset);
  return place_with(more);
}

TEST(PlaceOfAPoint, CountsDoublings) {
  const Place one = place_of_preset("dgx-a100", {{"gpus", "1"}});
  EXPECT_TRUE(one.is_alone());
  const Place many = place_of_preset("dgx-a100", {{"gpus", "32"}});
  EXPECT_EQ(many.log2_ranks, 5);
  EXPECT_EQ(many.log2_gpus_per_node, 3);
  EXPECT_EQ(many.log2_nodes, 2);
}

// Four GPUs of a DGX-1 are a ring of NVLink; eight GPUs in pairs of NVLink are none.
TEST(PlaceInANode, IsOfNvlinkWhereNoCallCrossesPcie) {
  EXPECT_EQ(place_of_preset("dgx-a100").node, LinkClass::nvlink);
  const Place mesh = place_of_preset("dgx1-v100", {{"gpus", "4"}});
  EXPECT_EQ(mesh.node, LinkClass::nvlink);
  EXPECT_FALSE(mesh.hides_behind_slow);
  const Place pairs = place_of_preset("rtx-2080-ti-nvlink-pair", {{"gpus", "8"}});
  EXPECT_EQ(pairs.node, LinkClass::pcie_staged);
  EXPECT_TRUE(pairs.hides_behind_slow);
}

TEST(PlaceInANode, IsOfPcieWithOrWithoutPeers) {
  const Place peers = place_of_preset("pcie-tree-8"),
              staged = place_of_preset("pcie-tree-8-no-p2p");
  EXPECT_EQ(peers.node, LinkClass::pcie_peers);
  EXPECT_EQ(staged.node, LinkClass::pcie_staged);
  EXPECT_TRUE(peers.hides_behind_slow);
  EXPECT_TRUE(staged.hides_behind_slow);
  EXPECT_EQ(peers.box, 0);
  EXPECT_EQ(staged.box, 0);
}

TEST(PlaceInANode, HasThePresetsSpreadOfBoxes) {
  EXPECT_NEAR(place_of_preset("geforce-pcie-8").box, std::log(3.07), 1e-12);
  EXPECT_NEAR(place_of_preset("peer-pcie-8").box, std::log(4.32), 1e-12);
  // One GPU of it has no links to be unsure of.
  EXPECT_EQ(place_of_preset("peer-pcie-8", {{"gpus", "1"}}).box, 0);
  const Place measured = place_of_preset("peer-pcie-8", {{"cluster.calibration", "measured.yaml"}});
  EXPECT_EQ(measured.node, LinkClass::measured);
  EXPECT_EQ(measured.box, 0);
}

Place between_nodes(Values more) {
  more.insert(more.begin(), {{"cluster.nodes", "2"},
                             {"cluster.gpus_per_node", "2"},
                             {"cluster.intra_node.bandwidth", "100GBps"},
                             {"cluster.intra_node.latency", "2us"},
                             {"cluster.network.bandwidth", "25Gbps"},
                             {"cluster.network.latency", "10us"}});
  return place_with(more);
}

TEST(PlaceBetweenNodes, IsOfTheTransport) {
  const Place rdma = between_nodes({{"cluster.network.transport", "rdma"}});
  EXPECT_EQ(rdma.network, LinkClass::rdma);
  EXPECT_FALSE(rdma.hides_behind_slow);
  EXPECT_EQ(between_nodes({{"cluster.network.transport", "efa"}}).network, LinkClass::efa);
  EXPECT_TRUE(between_nodes({{"cluster.network.transport", "tcp"}}).hides_behind_slow);
}

TEST(PlaceBetweenNodes, IsOfTheHostsOfTcp) {
  const auto hosts_of = [](const char* key, const char* value) {
    return between_nodes({{"cluster.network.transport", "tcp"}, {key, value}}).network;
  };
  EXPECT_EQ(hosts_of("cluster.network.provider", "own"), LinkClass::tcp_own);
  EXPECT_EQ(hosts_of("cluster.network.provider", "azure"), LinkClass::tcp_virtual);
  EXPECT_EQ(hosts_of("cluster.network.provider", "aws"), LinkClass::tcp_virtual);
  EXPECT_EQ(hosts_of("cluster.network.provider", "unknown"), LinkClass::tcp_unknown);
  EXPECT_EQ(hosts_of("cluster.network.provider", "other"), LinkClass::tcp_unknown);
  EXPECT_EQ(hosts_of("cluster.network.stream_bandwidth", "1.5GBps"), LinkClass::tcp_unknown);
  const auto measured = between_nodes({{"cluster.network.transport", "tcp"},
                                       {"cluster.network.provider", "own"},
                                       {"cluster.network.stream_bandwidth", "1.5GBps"}});
  EXPECT_EQ(measured.network, LinkClass::measured);
}

// Wires of 0.125 GB/s are slower than any host; so are those of an efficiency that is told.
TEST(PlaceBetweenNodes, IsOfWiresWhereHostsMoveMore) {
  EXPECT_EQ(
      between_nodes({{"cluster.network.transport", "tcp"}, {"cluster.network.bandwidth", "1Gbps"}})
          .network,
      LinkClass::rdma);
  EXPECT_EQ(
      between_nodes({{"cluster.network.transport", "tcp"}, {"cluster.network.efficiency", "0.9"}})
          .network,
      LinkClass::rdma);
}

TEST(PlaceOfAPoint, IsMeasuredWithACalibration) {
  const Place place = between_nodes({{"cluster.calibration", "measured.yaml"}});
  EXPECT_EQ(place.node, LinkClass::measured);
  EXPECT_EQ(place.network, LinkClass::measured);
}

// 3 % for one GPU's measured step is the end of 90 %: 2.132 scales.
TEST(PlaceOfAPoint, HasHowSureItsComputeIs) {
  const test::Folder folder;
  const auto measured =
      ScenarioFile::read(folder.write("s.yaml", test::small_scenario), {}).scenario(0);
  EXPECT_NEAR(place_of(measured).compute, std::log(1.03) / 2.131846786, 1e-9);
  EXPECT_GT(place_of_preset("dgx-a100").compute, 2 * place_of(measured).compute);  // modelled
}

constexpr const char* over_tcp = R"(schema: paceline/1
name: over tcp
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers: [{name: a, forward: 1ms, backward: 2ms, parameters: [1000]}]
cluster:
  gpus_per_node: 2
  intra_node: {kind: pcie, bandwidth: 4GBps, latency: 2us}
  network: {bandwidth: 10Gbps, latency: 5us, transport: rdma}
training: {strategy: ddp}
collective: {library: nccl}
sweep: {gpus: [2, 4]}
measured:
  source: a test
  network: measured
  points: [{gpus: 2, throughput: 100 samples/s}]
)";

Place of_file(const std::string& text, const std::vector<ScenarioFile::Setting>& settings = {}) {
  const test::Folder folder;
  return place_of(ScenarioFile::read(folder.write("s.yaml", text), settings).scenario(1));
}

TEST(PlaceOfAPoint, IsMeasuredWhereTheFileSaysSo) {
  const Place said = of_file(over_tcp);
  EXPECT_EQ(said.network, LinkClass::measured);
  EXPECT_EQ(said.node, LinkClass::measured);
  const Place described = of_file(changed(over_tcp, "network: measured", "network: described"));
  EXPECT_EQ(described.network, LinkClass::rdma);
  EXPECT_EQ(described.node, LinkClass::pcie_peers);
}

// As the loop does of the network that it has fitted.
TEST(PlaceOfAPoint, IsMeasuredWhereItsLinksWereFitted) {
  const test::Folder folder;
  const auto file = ScenarioFile::read(
      folder.write("s.yaml", changed(over_tcp, "network: measured", "network: described")), {});
  const auto place_fitted = [&](const char* links) {
    return Preparer(file, {.measured_links = links}).prediction(1)->place;
  };
  EXPECT_EQ(place_fitted("cluster.network").network, LinkClass::measured);
  EXPECT_EQ(place_fitted("cluster.network").node, LinkClass::pcie_peers);
  EXPECT_EQ(place_fitted("cluster.intra_node").node, LinkClass::measured);
  EXPECT_EQ(place_fitted("cluster.intra_node").network, LinkClass::rdma);
}

// What a setting or an axis changes was not measured; nor is what a class of machines has.
TEST(PlaceOfAPoint, IsNotMeasuredBeyondWhatTheFileMeans) {
  EXPECT_EQ(of_file(over_tcp, {{"cluster.network.bandwidth", "20Gbps"}}).network, LinkClass::rdma);
  EXPECT_EQ(of_file(over_tcp, {{"contention", "off"}}).network, LinkClass::measured);
  const std::string swept = changed(
      changed(over_tcp, "sweep: {gpus: [2, 4]}", "sweep: {cluster.network.latency: [5us, 9us]}"),
      "  points: [{gpus: 2, throughput: 100 samples/s}]",
      "  points: [{cluster.network.latency: 5us, throughput: 100 samples/s}]");
  EXPECT_EQ(of_file(changed(swept, "training:", "gpus: 4\ntraining:")).network, LinkClass::rdma);
  const std::string hosts = changed(over_tcp, "transport: rdma", "transport: tcp, provider: azure");
  EXPECT_EQ(of_file(hosts).network, LinkClass::tcp_virtual);
  const std::string boxes = changed(over_tcp, "4GBps,", "4GBps, box_spread: 3,");
  EXPECT_EQ(of_file(boxes).node, LinkClass::pcie_peers);
  EXPECT_NEAR(of_file(boxes).box, std::log(3), 1e-12);
}

}  // namespace place_test
}  // namespace paceline
