#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/units/units.h"
#include "scenarios/errors.h"
#include "traces/topology/node_topology.h"

// Makes clusters from what tools print about one node.
namespace paceline {

// What the user knows beside the file.
struct TopologyOptions {
  struct Device {
    std::string name;
    std::uint32_t sm = 0;  // ten times the compute capability
  };
  std::optional<Device> device;
  // One way, of one NVLink; of a GPU's PCIe link where there are no NVLinks.
  std::optional<BytesPerSecond> link_bandwidth;
  std::optional<BytesPerSecond> network_bandwidth;  // of one NIC
  std::optional<std::uint32_t> nics_per_node;
  bool has_no_nvlink = false;  // where the file shows none, and such GPUs may have some
};

// A device by shipped name or path. Throws InputError for one that there is not.
[[nodiscard]] TopologyOptions::Device device_named(const std::string& name);

struct TopologyFile {
  std::string path;
  std::string_view format;
  traces::NodeTopology topology;

  // Points at a GPU or a NIC of the file.
  [[noreturn]] void refuse(const auto& device, const std::string& what,
                           const std::string& hint) const {
    throw InputError({path, device.at.line, device.at.column}, what, hint);
  }
};

// Throws InputError with line and column for what is no topology, and for one of several nodes
// where `node`, from 1, chooses none.
[[nodiscard]] TopologyFile read_topology_file(const std::string& path,
                                              std::optional<std::uint32_t> node);

// A file of schema paceline.cluster/1 in which a comment above each figure says where it comes
// from: the file, the options, or, where neither tells, NCCL's constants. Throws InputError for a
// node that the schema cannot express, and for NVLinks of which nothing tells the bandwidth.
[[nodiscard]] std::string cluster_file_text(const TopologyFile& file,
                                            const TopologyOptions& options);

}  // namespace paceline
