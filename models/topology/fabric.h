#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "models/topology/cluster.h"

namespace paceline::topology {

using LinkId = std::uint32_t;

// One direction of one physical link: a bandwidth that the flows crossing it share.
struct Link {
  BytesPerSecond bandwidth;
};

// Where flows leave a GPU or arrive at one: the links they cross on that side, at most a host link
// and a NIC. A path is one way out and one way in, so ports are few where pairs are many.
struct Port {
  std::array<LinkId, 2> links;
  std::uint32_t link_count;
};

using PortId = std::uint32_t;

struct Path {
  PortId out;
  PortId in;
  Seconds latency;
};

// A cluster's links, and which of them a transfer between two ranks crosses.
//
// Size: O(ranks) links and ports, and O(ranks * gpus_per_node) for a mesh.
class Fabric {
 public:
  explicit Fabric(const Cluster& cluster);

  // Precondition: the ranks differ and exist.
  [[nodiscard]] Path path(Rank from, Rank to) const;

  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  [[nodiscard]] const std::vector<Port>& out_ports() const { return out_ports_; }
  [[nodiscard]] const std::vector<Port>& in_ports() const { return in_ports_; }

 private:
  LinkId add_link(BytesPerSecond bandwidth);
  PortId add_port(std::vector<Port>& ports, std::initializer_list<LinkId> links);
  void add_host_links();
  void add_network();
  void add_mesh();

  Cluster cluster_;
  std::vector<Link> links_;
  std::vector<Port> out_ports_, in_ports_;
  // Per rank: host link, then the port into the node's crossbar (switch, PCIe, or the host path of
  // a mesh), then the port into the network. Only those that the cluster has.
  std::vector<LinkId> host_out_, host_in_;
  std::vector<PortId> node_out_, node_in_, network_out_, network_in_;
  // Mesh: [rank][peer's local rank]; no_port without a lane.
  std::vector<std::vector<PortId>> lane_out_;
  PortId lane_in_ = 0;  // lanes end at the GPU: no further link
};

// A pair of local ranks that no path joins, as (lower, higher): a mesh without a lane between them
// and without host links. Fabric's constructor requires that there is none.
[[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> unjoined_pair(
    const Cluster& cluster);

}  // namespace paceline::topology
