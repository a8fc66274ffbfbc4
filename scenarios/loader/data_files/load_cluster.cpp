#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "models/shipped_file.h"
#include "models/topology/fabric.h"
#include "scenarios/loader/data_files/data_files.h"
#include "scenarios/loader/data_files/shipped.h"

namespace paceline::loader {
namespace {

using topology::Cluster;
using topology::FatTree;
using topology::Framing;
using topology::IntraNode;
using topology::IntraNodeKind;
using topology::Network;
using topology::PcieTree;
using topology::Placement;
using topology::Receives;
using topology::Transport;

constexpr std::array<std::string_view, 8> cluster_keys{
    "preset",     "name", "nodes", "gpus_per_node", "intra_node", "network", "reduction_bandwidth",
    "calibration"};
constexpr std::array<std::string_view, 7> preset_keys{
    "schema", "name", "nodes", "gpus_per_node", "intra_node", "network", "reduction_bandwidth"};
constexpr std::array<std::string_view, 10> intra_node_keys{"kind",
                                                           "bandwidth",
                                                           "latency",
                                                           "lanes",
                                                           "host_bandwidth",
                                                           "gpus_per_switch",
                                                           "switch_bandwidth",
                                                           "sockets",
                                                           "socket_bandwidth",
                                                           "peer_to_peer"};

constexpr std::uint64_t nodes_max = 1'000'000;
constexpr std::uint64_t gpus_per_node_max = 1024;
constexpr std::uint64_t ranks_max = 1'000'000;
constexpr double oversubscription_max = 1000;

std::vector<std::vector<std::uint32_t>> read_lanes(const Field& field, std::uint32_t gpus) {
  std::vector<std::vector<std::uint32_t>> lanes;
  for (const Field& row_field : field.list()) {
    std::vector<std::uint32_t>& row = lanes.emplace_back();
    for (const Field& entry : row_field.list()) {
      row.push_back(static_cast<std::uint32_t>(entry.count(0, 1000)));
    }
  }
  const auto fits = [&](const auto& rows) { return rows.size() == lanes.size(); };
  if (lanes.size() < gpus || !std::all_of(lanes.begin(), lanes.end(), fits)) {
    field.fail(fmt::format("is not a square of at least {} rows", gpus),
               "write a row of lane counts for each GPU, as nvidia-smi topo -m prints it");
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    for (std::size_t j = 0; j < lanes.size(); ++j) {
      if (lanes[i][j] != lanes[j][i] || (i == j && lanes[i][j] != 0)) {
        field.fail(fmt::format("differs between {},{} and {},{}", i, j, j, i),
                   "lanes have two directions and none leads to itself");
      }
    }
  }
  return lanes;
}

// None of these keys may stand where what they belong to does not.
void refuse(Reader& reader, std::initializer_list<const char*> keys, const char* belongs_to) {
  for (const char* key : keys) {
    if (const auto field = reader.find(key)) {
      field->fail(fmt::format("belongs to {}", belongs_to), "");
    }
  }
}

std::uint32_t divisor(const Field& field, std::uint32_t whole, std::uint32_t most,
                      std::string_view parts) {
  const auto count = static_cast<std::uint32_t>(field.count(1, most));
  if (whole % count != 0) {
    field.fail(fmt::format("does not divide the number of {} of a node, {}", parts, whole), "");
  }
  return count;
}

std::optional<PcieTree> read_pcie_tree(Reader& reader, std::uint32_t gpus) {
  const auto per_switch = reader.find("gpus_per_switch");
  if (!per_switch) {
    refuse(reader, {"switch_bandwidth", "sockets", "socket_bandwidth", "peer_to_peer"},
           "gpus_per_switch");
    return std::nullopt;
  }
  (void)reader.require("bandwidth", "12GBps");  // also with a single GPU
  PcieTree tree;
  tree.gpus_per_switch = divisor(*per_switch, gpus, gpus, "GPUs");
  tree.switch_bandwidth = reader.require("switch_bandwidth", "12GBps").bandwidth();
  tree.switches_per_socket = gpus / tree.gpus_per_switch;
  const auto sockets = reader.find("sockets");
  if (sockets && divisor(*sockets, tree.switches_per_socket, 2, "switches") == 2) {
    tree.switches_per_socket /= 2;
    tree.socket_bandwidth = reader.require("socket_bandwidth", "10GBps").bandwidth();
  } else {
    refuse(reader, {"socket_bandwidth"}, "sockets: 2");
  }
  if (const auto direct = reader.find("peer_to_peer")) tree.peer_to_peer = direct->boolean();
  return tree;
}

IntraNode read_intra_node(Reader reader, std::uint32_t gpus) {
  reader.expect_only(intra_node_keys);
  IntraNode node;
  if (const auto kind = reader.find("kind")) node.kind = kind->word<IntraNodeKind>();
  const auto bandwidth = reader.find("bandwidth");
  if (bandwidth || gpus > 1) node.bandwidth = reader.require("bandwidth", "150GBps").bandwidth();
  if (const auto latency = reader.find("latency")) node.latency = latency->seconds();
  if (const auto host = reader.find("host_bandwidth")) node.host_bandwidth = host->bandwidth();
  if (node.kind == IntraNodeKind::nvlink_mesh) {
    if (const auto lanes = reader.find("lanes")) {
      node.lanes = read_lanes(*lanes, gpus);
    } else {  // one lane between any two
      node.lanes.assign(gpus, std::vector<std::uint32_t>(gpus, 1));
      for (std::uint32_t i = 0; i < gpus; ++i) node.lanes[i][i] = 0;
    }
  } else {
    refuse(reader, {"lanes"}, "kind: nvlink_mesh");
  }
  if (node.kind == IntraNodeKind::pcie) {
    node.pcie_tree = read_pcie_tree(reader, gpus);
  } else {
    refuse(reader,
           {"gpus_per_switch", "switch_bandwidth", "sockets", "socket_bandwidth", "peer_to_peer"},
           "kind: pcie");
  }
  reader.finish();
  return node;
}

std::optional<FatTree> read_fat_tree(Reader& reader) {
  constexpr std::array<std::string_view, 2> fabrics{"switch", "fat_tree"};
  const auto fabric = reader.find("fabric");
  if (!fabric || fabric->word(fabrics) == 0) {
    refuse(reader, {"nodes_per_leaf", "oversubscription", "core_latency", "rails", "placement"},
           "fabric: fat_tree");
    return std::nullopt;
  }
  FatTree tree;
  const Field per_leaf = reader.require("nodes_per_leaf", "16");
  tree.nodes_per_leaf = static_cast<std::uint32_t>(per_leaf.count(1, nodes_max));
  if (const auto oversubscription = reader.find("oversubscription")) {
    tree.oversubscription = oversubscription->number(1, oversubscription_max);
  }
  if (const auto latency = reader.find("core_latency")) tree.core_latency = latency->seconds();
  if (const auto rails = reader.find("rails")) tree.rails = rails->boolean();
  if (const auto placement = reader.find("placement")) {
    tree.placement = placement->word<Placement>();
  }
  return tree;
}

void read_framing(Reader& reader, Network& network) {
  if (const auto framing = reader.find("framing")) network.framing = framing->word<Framing>();
  const auto mtu = reader.find("mtu");
  if (!mtu) return;
  if (network.framing == Framing::none) {
    mtu->fail("belongs to packets of TCP", "add framing: ethernet-tcp, or ip-tcp");
  }
  network.mtu = Bytes(mtu->count(topology::mtu_min.value(), topology::mtu_max.value()));
}

Network read_network(Reader reader, const Cluster& cluster) {
  Network network;
  if (const auto bandwidth = reader.find("bandwidth")) network.bandwidth = bandwidth->bandwidth();
  if (const auto latency = reader.find("latency")) network.latency = latency->seconds();
  if (const auto nics = reader.find("nics_per_node")) {
    network.nics_per_node = static_cast<std::uint32_t>(nics->count(1, cluster.gpus_per_node));
  }
  if (const auto efficiency = reader.find("efficiency")) {
    network.efficiency = efficiency->fraction(1);
    if (network.efficiency <= 0) efficiency->fail("is not above zero", "");
    if (network.efficiency < 0.001) efficiency->fail("is too small", "write 0.1% to 100%");
  }
  if (const auto transport = reader.find("transport")) {
    network.transport = transport->word<Transport>();
  }
  read_framing(reader, network);
  if (const auto receives = reader.find("receives")) network.receives = receives->word<Receives>();
  if (const auto above = reader.find("rendezvous_above")) network.rendezvous_above = above->bytes();
  network.fat_tree = read_fat_tree(reader);
  reader.finish();
  return network;
}

}  // namespace

topology::Cluster load_cluster(Reader reader) {
  Cluster cluster;
  reader.expect_only(cluster_keys);
  if (const auto preset = reader.find("preset")) {
    const DocumentPtr document =
        named_document(*preset, shipped_clusters(), {"paceline.cluster/1", preset_keys});
    reader.lay_over(document, document->root);
    (void)reader.has("schema");  // a key of the preset's file
    cluster.name = preset->text();
  }
  if (const auto name = reader.find("name")) cluster.name = name->text();
  if (const auto nodes = reader.find("nodes")) {
    cluster.nodes = static_cast<std::uint32_t>(nodes->count(1, nodes_max));
  }
  const Field per_node = reader.require("gpus_per_node", "8");
  cluster.gpus_per_node = static_cast<std::uint32_t>(per_node.count(1, gpus_per_node_max));
  if (std::uint64_t{cluster.nodes} * cluster.gpus_per_node > ranks_max) {
    per_node.fail(fmt::format("makes more than {} GPUs", ranks_max), "");
  }
  cluster.intra_node = read_intra_node(reader.map("intra_node"), cluster.gpus_per_node);
  cluster.network = read_network(reader.map("network"), cluster);
  if (const auto reduction = reader.find("reduction_bandwidth")) {
    cluster.reduction_bandwidth = reduction->bandwidth();
  }
  reader.finish();
  if (const auto pair = topology::unjoined_pair(cluster)) {
    throw InputError(
        reader.location(),
        fmt::format("nothing joins GPUs {} and {} of a node", pair->first, pair->second),
        "give intra_node.host_bandwidth, or lanes between them");
  }
  return cluster;
}

}  // namespace paceline::loader
