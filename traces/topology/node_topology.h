#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/topology/pcie_tree.h"
#include "models/units/units.h"
#include "traces/text/format_error.h"

namespace paceline::traces {

using topology::PciePath;

// What the log of a run tells beside the node: who talked to whom, and how.
struct RunFacts {
  std::string version;        // of NCCL, such as 2.18.3; may be empty
  std::string model;          // of the GPUs, such as NVIDIA A100-SXM4-40GB; may be empty
  std::uint32_t nodes = 0;    // with as many GPUs each; 0: not told
  std::size_t channels = 0;   // rings; 0: none printed
  bool rings_differ = false;  // ... in more than the direction
  bool is_doubled = false;    // the second half of the rings is the first again, and left out
  // Connections inside nodes: by peer-to-peer, over a GPU between, and through host memory.
  std::size_t peer_to_peer = 0, over_neighbours = 0, through_host = 0;
  std::size_t gpu_direct = 0, past_host = 0;  // between nodes: with GPUDirect RDMA, and without
  bool has_nvls = false;                      // its switches can reduce
  std::string network;                        // that it used, such as IB; may be empty
};

// What a file tells of the GPUs of one node and what joins them. What it does not tell is nullopt.
struct NodeTopology {
  struct Gpu {
    std::string name;
    TextPlace at;
    std::optional<std::uint32_t> sm;       // ten times the compute capability: 80
    std::uint32_t switch_links = 0;        // NVLinks into NVSwitches; 0 where `links_of_pairs_only`
    std::optional<BytesPerSecond> port;    // of its PCIe link, one way
    std::optional<BytesPerSecond> uplink;  // of the highest switch above it, likewise
    bool port_is_c2c = false;              // `port` is NVLink-C2C: its CPU is on the same module
    std::string cpus = {};                 // near it, as they are listed; may be empty
    std::optional<std::uint32_t> numa = std::nullopt;  // NUMA node of these
  };
  struct Nic {
    std::string name;
    TextPlace at;
    std::optional<BytesPerSecond> bandwidth;  // of the network, one way
    std::optional<bool> is_socket;            // reached through the kernel's sockets
  };
  // As the kernel numbers it.
  struct Processor {
    std::string architecture, vendor;
    std::uint32_t family = 0, model = 0;
  };

  std::vector<Gpu> gpus;  // 1..topology_gpus_most, in the order of their ranks
  std::vector<Nic> nics;
  // A matrix tells a pair's NVLinks, not whether an NVSwitch lies between: each counts for all
  // pairs.
  bool links_of_pairs_only = false;
  std::vector<std::vector<std::uint32_t>> links;  // between GPUs i and j; symmetric, diagonal 0
  bool is_amd = false;                            // links are xGMI
  // Between GPUs i and j, GPU i and NIC j. nullopt: itself, or a matrix shows their NVLinks.
  std::vector<std::vector<std::optional<PciePath>>> paths, nic_paths;
  // Between NICs i and j; empty, or nullopt, where it is not told.
  std::vector<std::vector<std::optional<PciePath>>> nic_pairs = {};
  std::vector<std::string> nics_left_out = {};  // interfaces that are no NICs
  // How many pairs of GPUs reach each other without the host, as `nvidia-smi topo -p2p` prints it.
  struct PeerToPeer {
    std::size_t pairs = 0, reach = 0;
    bool all_without_links_fail = false;  // ... of the pairs without NVLinks
  };
  std::optional<PeerToPeer> peer_to_peer = std::nullopt;
  std::vector<std::string> notes = {};  // what was made of the text, each a sentence
  std::optional<Processor> processor;
  // Of a log: then `links` are the rings that cross a pair in one direction, whatever lies below.
  std::optional<RunFacts> run = std::nullopt;
};

inline constexpr std::size_t topology_gpus_most = 1024, topology_nics_most = 1024;
// Bytes; those of real machines have some hundred thousand at most.
inline constexpr std::size_t topology_text_most = std::size_t{16} << 20;

// Which node of a text that has several, from 1; nullopt: it has one.
using NodeChoice = std::optional<std::uint32_t>;

struct NodeTopologyFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);
  NodeTopology (*read)(std::string_view text, NodeChoice node);
};

// XML as NCCL writes it into NCCL_TOPO_DUMP_FILE: <system> of <cpu>, each of <pci> with <gpu> (and
// its <nvlink>; AMD's RCCL: <xgmi>) or <nic> (and its <net>). GPUs without a rank and nets without
// a number are passed over, as NCCL does, and so are lines around the XML; interfaces that are no
// NICs, and those below no <pci> where others are below one, are left out.
//
// Reading throws FormatError for what is no XML, cut off, of several hosts, joined by links that
// differ between their ends, for several systems where `node` chooses none, and by name for other
// files of NCCL's: those without GPUs yet, and graphs.
[[nodiscard]] bool is_nccl_topology(std::string_view text);
[[nodiscard]] NodeTopology read_nccl_topology(std::string_view text, NodeChoice node);

// What `nvidia-smi topo -m` prints, whatever is around it: a line of the names of GPUs and NICs,
// and a row for each. NICs take the names of a "NIC Legend"; a matrix of `topo -p2p` beside it says
// whether GPUs reach each other without the host. Cells without blanks between are told apart where
// there is one way.
//
// Reading throws FormatError for a matrix that is cut off, not symmetric, or has an entry that is
// none, and for several matrices of different nodes where `node` chooses none.
[[nodiscard]] bool is_topology_matrix(std::string_view text);
[[nodiscard]] NodeTopology read_topology_matrix(std::string_view text, NodeChoice node);

// What a run wrote with NCCL_DEBUG=INFO: lines of many ranks mixed, behind prefixes of launchers,
// and inside others. Read are NCCL's version, the ranks of the largest communicator with their
// hosts (also as nccl-tests lists them, with the GPUs' model), its rings, how ranks are connected,
// and networks with devices and, where printed, speeds; not what the subsystem GRAPH adds. Reading
// throws FormatError for a log that does not tell how many GPUs a host has, or of hosts that differ
// in that; `node` need not choose, as they are one.
[[nodiscard]] bool is_nccl_log(std::string_view text);
[[nodiscard]] NodeTopology read_nccl_log(std::string_view text, NodeChoice node);

// What another tool printed: "is what rocm-smi --showtopo prints"; empty for an unknown text.
[[nodiscard]] std::string foreign_topology(std::string_view text);

// A row a format; the first that takes a text reads it.
[[nodiscard]] const std::array<NodeTopologyFormat, 3>& node_topology_formats();

struct NamedTopology {
  std::string_view format;
  NodeTopology topology;
};

// Throws FormatError for a text in no known format, too long or not text, that does not hold
// together, or has several nodes of which `node` chooses none.
[[nodiscard]] NamedTopology read_node_topology(std::string_view text,
                                               NodeChoice node = std::nullopt);

// Throws FormatError for a choice that is not there, or has one node. `nodes`: each as a few words;
// `at`: of the second.
[[nodiscard]] std::size_t chosen_node(const std::vector<std::string>& nodes, TextPlace at,
                                      NodeChoice node);

// Whether interfaces of such a name carry no traffic between nodes: made by software (docker0,
// veth12, tunl0, a VPN's), or a wireless LAN's, as the kernel, systemd (systemd.net-naming-scheme)
// and the programs name them.
[[nodiscard]] bool is_no_nic(std::string_view interface_name);

}  // namespace paceline::traces
