#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "models/topology/cluster.h"
#include "models/training/step_program.h"

namespace paceline::test {

// What no code can beat on a described cluster, counted without the product's own bounds: parts of
// the cluster (nodes, leaf switches, GPUs, what is below a PCIe switch) with what leaves each of
// them one way at nominal rates, less the headers of packets.
//
// Of a call of B bytes that P parts make together, each part alone:
// - all-reduce: B out, which others need, and B in, which tell it of others;
// - all-gather: in what others hold, out what it holds; reduce-scatter the other way round;
// - broadcast: B into each part that has not the root; reduce: B out of these; a root that is a
//   server has B to or from each rank.
// And out of all together 2 (P - 1) B of an all-reduce, 2 (P - 1) / P B a part (Patarasuk and Yuan,
// JPDC 69(2), 2009, theorem 1), and (P - 1) B of the others, unless something outside of the parts
// adds or copies: a switch or a server.
class Cuts {
 public:
  struct Longest {
    double seconds = 0;
    std::string where = "nowhere";
  };

  // Of a job alone on its cluster, with its servers. `nvswitch_adds`: NVSwitches may add, whatever
  // algorithm a call is predicted to have.
  Cuts(const topology::Cluster& job, bool nvswitch_adds);

  void add(const training::CollectiveCall& call);
  void add(const training::StepProgram& program) {
    for (const training::Operation& operation : program.operations) {
      if (const auto* call = training::call_of(operation)) add(*call);
    }
  }
  [[nodiscard]] Longest longest() const;

 private:
  // Parts of one kind; a GPU is in one of them, or in none.
  struct Kind {
    std::string name;
    std::vector<std::uint32_t> part_of;  // by rank; `none`
    std::vector<double> capacity;        // by part, bytes a second
    bool is_of_gpus = false, is_in_node = false;
    std::vector<double> out = {}, in = {};  // by part, bytes
    double together = 0;                    // out of all parts
  };
  static constexpr double pcie = 15.754 / 12;  // nominal over what NCCL counts for it
  static constexpr auto none = std::numeric_limits<std::uint32_t>::max();

  void add_kind(Kind kind);
  void add_gpus();
  void add_leaves();
  void add_pcie_groups();
  void add(const training::CollectiveCall& call, const std::vector<std::uint32_t>& ranks);
  void add(const training::CollectiveCall& call, const std::vector<std::uint32_t>& ranks,
           Kind& kind) const;
  [[nodiscard]] double nic() const;

  topology::Cluster job_;
  bool nvswitch_adds_;
  std::vector<Kind> kinds_;
  std::vector<double> into_server_, out_of_server_;  // bytes
};

inline Cuts::Cuts(const topology::Cluster& job, bool nvswitch_adds)
    : job_(job),
      nvswitch_adds_(nvswitch_adds),
      into_server_(job.servers),
      out_of_server_(job.servers) {
  Kind nodes{"the NICs of a node", {}, {}};
  for (std::uint32_t rank = 0; rank < job.ranks().value(); ++rank) {
    nodes.part_of.push_back(rank / job.gpus_per_node);
  }
  nodes.capacity.assign(job.nodes, nic() * job.network.nics_per_node);
  add_kind(nodes);
  add_leaves();
  // Bandwidths of a class of boxes are their usual ones.
  if (job.intra_node.box_spread) return;
  add_gpus();
  add_pcie_groups();
}

// 1500 bytes of an IP packet have 52 of headers, and 14 more in an Ethernet frame.
inline double Cuts::nic() const {
  const auto mtu = static_cast<double>(job_.network.mtu.value());
  const topology::Framing framing = job_.network.framing;
  if (framing == topology::Framing::none) return job_.network.bandwidth.value();
  const double frame = framing == topology::Framing::ethernet_tcp ? mtu + 14 : mtu;
  return job_.network.bandwidth.value() * (mtu - 52) / frame;
}

inline void Cuts::add_kind(Kind kind) {
  kind.out.assign(kind.capacity.size(), 0);
  kind.in.assign(kind.capacity.size(), 0);
  kinds_.push_back(std::move(kind));
}

inline void Cuts::add_leaves() {
  const auto& tree = job_.network.fat_tree;
  if (!tree || job_.servers > 0) return;  // a server may be below the same leaf switch
  const std::uint32_t leaves = job_.leaves();
  Kind kind{"the uplinks of a leaf", {}, {}};
  for (std::uint32_t rank = 0; rank < job_.ranks().value(); ++rank) {
    kind.part_of.push_back(job_.leaf_of(rank / job_.gpus_per_node));
  }
  const double of_leaf = nic() * tree->nodes_per_leaf * job_.network.nics_per_node;
  kind.capacity.assign(leaves, of_leaf / tree->oversubscription);
  add_kind(kind);
}

// All that a GPU has to others and to its NIC.
inline void Cuts::add_gpus() {
  using topology::IntraNodeKind;
  const topology::IntraNode& node = job_.intra_node;
  Kind kind{"the links of a GPU", {}, {}, true, true};
  for (std::uint32_t rank = 0; rank < job_.ranks().value(); ++rank) {
    const std::uint32_t gpu = rank % job_.gpus_per_node;
    kind.part_of.push_back(rank);
    const bool has_network = job_.nodes > 1 || job_.servers > 0;
    double host = has_network ? nic() : 0;
    if (node.host_bandwidth && node.kind != IntraNodeKind::pcie) {
      const double link = node.host_link(gpu).value();
      host = node.kind == IntraNodeKind::nvlink_mesh ? link : std::min(host, link);
    }
    double links = job_.gpus_per_node > 1 ? node.bandwidth.value() : 0;
    if (node.kind == IntraNodeKind::nvlink_mesh && job_.gpus_per_node > 1) {
      double lanes = 0;
      for (std::uint32_t other = 0; other < job_.gpus_per_node; ++other) {
        lanes += node.lanes[gpu][other];
      }
      links *= lanes;
    }
    const bool is_one_port = node.kind == IntraNodeKind::pcie && job_.gpus_per_node > 1;
    kind.capacity.push_back(is_one_port ? node.host_link(gpu).value() * pcie : links + host * pcie);
  }
  add_kind(kind);
}

// Of a node's PCIe the groups of GPUs with a limited link to what is around them, those of one
// level together. Their NICs, if they have any, carry more.
inline void Cuts::add_pcie_groups() {
  const auto& tree = job_.intra_node.pcie_tree;
  if (!tree || job_.intra_node.kind != topology::IntraNodeKind::pcie) return;
  const bool has_network = job_.nodes > 1 || job_.servers > 0;
  const double nics = has_network ? nic() * job_.network.nics_per_node : 0;
  std::vector<Kind> levels;
  for (const topology::PcieGroup& group : tree->groups) {
    if (!group.bandwidth) continue;
    const auto is_free = [&](const Kind& level) {
      return std::ranges::all_of(group.gpus,
                                 [&](std::uint32_t gpu) { return level.part_of[gpu] == none; });
    };
    auto level = std::ranges::find_if(levels, is_free);
    if (level == levels.end()) {
      levels.push_back({"the link of a PCIe group", {}, {}, false, true});
      level = levels.end() - 1;
      level->part_of.assign(job_.ranks().value(), none);
    }
    for (std::uint32_t node = 0; node < job_.nodes; ++node) {
      for (const std::uint32_t gpu : group.gpus) {
        level->part_of[node * job_.gpus_per_node + gpu] =
            static_cast<std::uint32_t>(level->capacity.size());
      }
      level->capacity.push_back(group.bandwidth->value() * pcie + nics);
    }
  }
  for (Kind& level : levels) add_kind(std::move(level));
}

inline void Cuts::add(const training::CollectiveCall& call) {
  if (call.is_untold) return;
  using training::Group;
  const std::uint32_t all = job_.ranks().value(), in_node = job_.gpus_per_node;
  const std::uint32_t groups = call.group == Group::all    ? 1
                               : call.group == Group::node ? job_.nodes
                                                           : in_node;
  std::vector<std::vector<std::uint32_t>> members(groups);
  for (std::uint32_t rank = 0; rank < all; ++rank) {
    const std::uint32_t group = call.group == Group::all    ? 0
                                : call.group == Group::node ? rank / in_node
                                                            : rank % in_node;
    members[group].push_back(rank);
  }
  for (const auto& ranks : members) add(call, ranks);
}

inline void Cuts::add(const training::CollectiveCall& call,
                      const std::vector<std::uint32_t>& ranks) {
  // Calls that leave their nodes were measured faster than ports of PCIe as they are described.
  const bool leaves_node = ranks.front() / job_.gpus_per_node != ranks.back() / job_.gpus_per_node;
  for (Kind& kind : kinds_) {
    if (!leaves_node || !kind.is_in_node) add(call, ranks, kind);
  }
  const std::size_t root = index(call.root);
  if (root < ranks.size()) return;
  const double bytes = static_cast<double>(call.size().value()) * static_cast<double>(ranks.size());
  const std::size_t server = root - ranks.size();
  using collectives::Collective;
  if (call.collective == Collective::reduce) into_server_.at(server) += bytes;
  if (call.collective == Collective::broadcast) out_of_server_.at(server) += bytes;
}

inline void Cuts::add(const training::CollectiveCall& call, const std::vector<std::uint32_t>& ranks,
                      Kind& kind) const {
  using collectives::Collective;
  std::vector<double> members(kind.capacity.size());
  double outside = 0;
  for (const std::uint32_t rank : ranks) {
    const std::uint32_t part = kind.part_of[rank];
    if (part == none) {
      outside += 1;
    } else {
      members[part] += 1;
    }
  }
  const auto parts = static_cast<std::size_t>(
      std::ranges::count_if(members, [](double count) { return count > 0; }));
  const std::size_t root = index(call.root);
  const bool has_outer_root = root >= ranks.size();
  const auto* simulated = call.simulated();
  const bool has_servers = simulated != nullptr && simulated->options.separate_servers;
  if (parts + (outside > 0 ? 1U : 0U) < 2 && !has_outer_root && !has_servers) return;
  const auto bytes = static_cast<double>(call.size().value());
  const auto all = static_cast<double>(ranks.size());
  for (std::size_t part = 0; part < members.size(); ++part) {
    if (members[part] == 0) continue;
    const bool has_root = !has_outer_root && kind.part_of[ranks[root]] == part;
    const double own = bytes * members[part] / all;
    const double of_root = has_outer_root ? bytes * members[part] : bytes;
    switch (call.collective) {
      case Collective::all_reduce:
        kind.out[part] += bytes;
        kind.in[part] += bytes;
        break;
      case Collective::all_gather:
        kind.out[part] += own;
        kind.in[part] += bytes - own;
        break;
      case Collective::reduce_scatter:
        kind.out[part] += bytes - own;
        kind.in[part] += own;
        break;
      case Collective::broadcast: (has_root ? kind.out : kind.in)[part] += of_root; break;
      case Collective::reduce: (has_root ? kind.in : kind.out)[part] += of_root; break;
      default: break;
    }
  }
  const bool may_add = kind.is_of_gpus &&
                       job_.intra_node.kind == topology::IntraNodeKind::nvswitch &&
                       (nvswitch_adds_ || simulated == nullptr ||
                        simulated->algorithm.find("nvls") != std::string::npos);
  const bool is_added_outside = job_.network.sharp || has_servers || outside > 0 || may_add;
  if (is_added_outside || has_outer_root) return;
  const double once = (static_cast<double>(parts) - 1) * bytes;
  switch (call.collective) {
    case Collective::all_reduce: kind.together += 2 * once; break;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::reduce: kind.together += once; break;
    default: break;
  }
}

inline Cuts::Longest Cuts::longest() const {
  Longest longest;
  const auto look_at = [&](double bytes, double capacity, const std::string& where) {
    const double seconds = bytes > 0 ? bytes / capacity : 0;
    if (seconds > longest.seconds) longest = {seconds, where};
  };
  for (const Kind& kind : kinds_) {
    double capacity = 0;
    for (std::size_t part = 0; part < kind.capacity.size(); ++part) {
      capacity += kind.capacity[part];
      look_at(std::max(kind.out[part], kind.in[part]), kind.capacity[part], kind.name);
    }
    look_at(kind.together, capacity, kind.name + ", on the mean");
  }
  for (std::size_t server = 0; server < into_server_.size(); ++server) {
    look_at(std::max(into_server_[server], out_of_server_[server]), nic(), "the NIC of a server");
  }
  return longest;
}

}  // namespace paceline::test
