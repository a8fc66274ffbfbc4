#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/assumption.h"
#include "models/cost/tcp_hosts.h"
#include "models/topology/cluster.h"
#include "models/topology/pcie_tree.h"
#include "models/workload/workload.h"
#include "scenarios/document/section.h"

namespace paceline::loader {

struct NetworkOptions {
  std::optional<std::uint64_t> sequence;  // empty: the file's own
  bool pretraining_heads = false;
  // Its scores are never written to memory; empty: as the network's program has it.
  std::optional<bool> fused_attention;

  friend auto operator<=>(const NetworkOptions&, const NetworkOptions&) = default;
};

// A network by the name of a shipped one, or by the path of a .yaml or .json file or of a list of
// parameters (.txt; relative to the folder of the document that names it). `name` is what messages
// point at. Each thread keeps the last few: reading one takes longer than all else of a scenario.
[[nodiscard]] std::shared_ptr<const workload::Network> load_network(const Field& name,
                                                                    const NetworkOptions& options);

// A device, likewise by shipped name or path.
[[nodiscard]] workload::Device load_device(const Field& name);

[[nodiscard]] bool is_shipped_device(std::string_view name);

[[nodiscard]] std::span<const Key> network_file_keys();
[[nodiscard]] std::span<const Key> device_file_keys();
[[nodiscard]] std::span<const Key> cluster_file_keys();

[[nodiscard]] std::span<const Key> cluster_keys();

// The devices that a preset's machines have, of which its links are.
struct PresetDevices {
  std::string preset;                // as the section names it
  std::vector<std::string> devices;  // shipped ones, not empty
};

// The `cluster` section, which may name a preset that gives what the section lacks. One node unless
// it says more; a network bandwidth of 0 when none is given.
struct DescribedCluster {
  topology::Cluster cluster;
  cost::TcpHosts tcp;
  std::optional<PresetDevices> devices;  // nullopt: any
  Assumptions left_out;                  // what belongs to links that it does not have
};
[[nodiscard]] DescribedCluster load_described_cluster(Section cluster);

[[nodiscard]] std::span<const Form> pcie_group_forms();

// Reads the PCIe tree of intra_node: `groups`, or equal switches, and how transfers are staged;
// nullopt where it has neither. Where one file lies over another, the upper one's groups or
// switches count. Precondition: a node has so many GPUs and NICs.
[[nodiscard]] std::optional<topology::PcieTree> read_pcie_tree(Section& node, std::uint32_t gpus,
                                                               std::uint32_t nics);

}  // namespace paceline::loader
