#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "models/contract.h"
#include "models/shipped_file.h"
#include "models/topology/fabric.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/data_files/shipped.h"

namespace paceline::loader {
namespace {

using cost::NicVendor;
using cost::Provider;
using cost::TcpHosts;

using topology::Cluster;
using topology::FatTree;
using topology::Framing;
using topology::IntraNode;
using topology::IntraNodeKind;
using topology::Network;
using topology::Placement;
using topology::Receives;
using topology::Transport;

constexpr std::uint64_t nodes_max = 1'000'000;
constexpr std::uint64_t gpus_per_node_max = 1024;
constexpr std::uint64_t ranks_max = 1'000'000;

constexpr Needs of_pcie{"kind", {"pcie", "nvlink_mesh"}}, of_switches{"gpus_per_switch"},
    of_sockets{"sockets", {"2"}}, of_staging{"peer_to_peer", {"false"}};
constexpr Needs of_tree{.key = "gpus_per_switch", .or_key = "groups"};

constexpr std::uint64_t lanes_max = 1000;  // between two GPUs

constexpr std::array lane_row_forms{Form{Count{0, lanes_max}, Form::Of::list}};
constexpr std::array lane_forms{
    Form{Structure{"a list of counts", rows<lane_row_forms>}, Form::Of::list}};
constexpr std::array slot_forms{Form{Count{1, topology::slot_lanes_max}, Form::Of::list}};
constexpr std::array<std::string_view, 1> any_word{"any"};
constexpr std::array gpus_forms{Form{OneOf{any_word}},
                                Form{Text{"a device", shipped_devices, false}, Form::Of::list}};

// Rates of links are of their kind: 22 GB/s of an NVLink lane are none of a PCIe slot.
constexpr Owners of_kind{{"kind"}};
// Either says what GPUs share on PCIe.
constexpr Owners no_groups{{"groups"}}, no_switches{{"gpus_per_switch"}};
// Of a class of boxes: a box whose own bandwidths are given is none.
constexpr Owners of_class{{"kind", "bandwidth", "host_bandwidth", "switch_bandwidth",
                           "socket_bandwidth", "staging_bandwidth", "groups"}};

constexpr std::array intra_node_table{
    Key{"kind", OneOf{texts_of<IntraNodeKind>}, value_of(IntraNode{}.kind),
        "nvswitch: each GPU has a port into a crossbar; nvlink_mesh: lanes join pairs of GPUs; "
        "pcie: each GPU has a port into a crossbar, or into switches, which network traffic "
        "crosses, too"},
    Key{"bandwidth", Bandwidth{}, "required, except with one GPU per node",
        "of a port, one way; in a mesh, of one lane"}
        .of(of_kind),
    Key{"latency", Time{}, IntraNode{}.latency, "one way"}.of(of_kind),
    Key{"lanes",
        Structure{"a matrix", rows<lane_forms>},
        "one between any two",
        "how many lanes join GPUs i and j of a mesh, as `nvidia-smi topo -m` prints them",
        "[[0, 1], [1, 0]]",
        {"kind", {"nvlink_mesh"}}},
    Key{"host_bandwidth", Bandwidth{}, "unlimited", "of a GPU's link to its host, one way"}.of(
        of_kind),
    Key{"gpus_per_switch", Count{1, gpus_per_node_max, "gpus_per_node"}, "one crossbar",
        "of each PCIe switch", "", of_pcie}
        .of(no_groups),
    Key{"switch_bandwidth", Bandwidth{}, required, "of a switch's link to its CPU, one way",
        "12GBps", of_switches}
        .of(no_groups),
    Key{"sockets", Count{1, 2}, std::uint64_t{1}, "how many share the switches", "", of_switches}
        .of(no_groups),
    Key{"socket_bandwidth", Bandwidth{}, required, "between two sockets, one way", "10GBps",
        of_sockets}
        .of(no_groups),
    Key{"groups", Structure{"a list of groups", pcie_group_forms}, "one crossbar",
        "what GPUs share on PCIe, where switches and sockets are not alike; in place of the keys "
        "before. Of each group `gpus` (local ranks) and `path`, what lies between two GPUs that "
        "share no smaller group: PIX or PXB, as below a switch, PHB or NODE, as of a NUMA node. "
        "And `bandwidth`, one way, of its link to what is around it (unless given it limits "
        "nothing), and `nics`, numbers of the NICs in it (others are on the NUMA node of their "
        "first GPU). Two groups are one within the other, or apart; the node, SYS, is around all. "
        "Where groups name NICs, each GPU uses the nearest",
        "[{gpus: [0, 1], path: PIX, bandwidth: 12GBps}]", of_pcie}
        .of(no_switches),
    Key{"peer_to_peer", Flag{}, true,
        "false: all transfers but those over NVLink are staged in host memory", "", of_tree},
    Key{"staging_bandwidth", Bandwidth{}, "unlimited",
        "what all GPUs of one socket together can stage in its memory (with groups: of the "
        "outermost group of path PHB or NODE); each byte is written and read once",
        "12GBps", of_staging},
    Key{"slot_generation",
        Count{1, topology::slot_generation_max},
        std::uint64_t{IntraNode{}.slot_generation},
        "of PCIe",
        "",
        {"slot_lanes"}},
    Key{"slot_lanes", Structure{"a list of counts", rows<slot_forms>}, "not told",
        "lanes of each GPU's PCIe slot; a link to the host carries no more than its slot: 12 GB/s "
        "for 16 lanes of PCIe 3.0, as NCCL counts",
        "[16, 4]"},
    Key{"box_spread", Number{1.001, 1000}, "none: the bandwidths are those of the box",
        "the bandwidths are those of a class of boxes: nine tenths of the measured boxes take "
        "between 1/spread and spread times as long"}
        .of(of_class),
};

constexpr Network network_defaults;
constexpr FatTree fat_tree_defaults;
constexpr std::array<std::string_view, 2> fabrics{"switch", "fat_tree"};
constexpr Needs of_packets{"framing",
                           {to_text(Framing::ethernet_tcp), to_text(Framing::ip_tcp)},
                           "belongs to packets of TCP",
                           "add framing: ethernet-tcp, or ip-tcp"};
constexpr Needs of_fat_tree{"fabric", {"fat_tree"}};
// The hosts of a network are those of whoever names it; what it loses is of its transport, too.
constexpr Owners of_hosts{.named = {"bandwidth", "transport"}};
constexpr Owners of_wires{{"transport"}, {"bandwidth"}};
constexpr Needs over_tcp{"transport", {to_text(Transport::tcp)}};

constexpr std::array network_table{
    Key{"bandwidth", Bandwidth{}, "required above one node", "of one NIC, one way"},
    Key{"latency", Time{}, network_defaults.latency, "one way, GPU to GPU"},
    Key{"nics_per_node", Count{1, gpus_per_node_max, "gpus_per_node"},
        network_defaults.nics_per_node, "how many the GPUs of a node share"},
    Key{"efficiency", Fraction{0.001, 1}, network_defaults.efficiency,
        "part of the bandwidth that transfers reach. Unless given, it is over tcp what the "
        "library's sockets move: `provider`, `nic`, `sockets`"}
        .of(of_wires),
    Key{"transport", OneOf{texts_of<Transport>}, value_of(network_defaults.transport),
        "tcp: a sender is done when its bytes have left; rdma: when they have arrived"},
    Key{"provider", OneOf{texts_of<Provider>}, value_of(TcpHosts{}.provider),
        "who runs the hosts; used with transport: tcp. own: no virtual machines, a thread moves 2 "
        "GB/s; a cloud (other: one that is not listed): a thread moves 0.6 GB/s; unknown: between "
        "the two, and the interval holds both"}
        .of(of_hosts),
    Key{"nic", OneOf{texts_of<NicVendor>}, "by provider",
        "decides how many sockets NCCL opens per connection: ena (aws) eight for each of two "
        "threads, gvnic (gcp) one for each of four, other one. Write other, too, for containers "
        "whose interface is virtual, such as Kubernetes without hostNetwork",
        "other", over_tcp}
        .of(of_hosts),
    Key{"sockets", Count{1, cost::sockets_max}, "by NIC",
        "per connection of NCCL: NCCL_SOCKET_NTHREADS times NCCL_NSOCKS_PERTHREAD", "16", over_tcp}
        .of(of_hosts),
    Key{"socket_threads", Count{1, cost::threads_max}, "by NIC",
        "threads that serve them: NCCL_SOCKET_NTHREADS", "2", over_tcp}
        .of(of_hosts),
    Key{"stream_bandwidth", Bandwidth{}, "by provider",
        "what one stream carries, one way, as `iperf3 -P 1` between two hosts measures it",
        "1.2GBps", over_tcp}
        .of(of_hosts),
    Key{"framing", OneOf{texts_of<Framing>}, value_of(network_defaults.framing),
        "headers of packets: (mtu - 52) of every mtu + 14 bytes (ethernet-tcp), or of every mtu "
        "bytes (ip-tcp), are payload: 1448/1514 with ethernet-tcp and the default mtu"},
    Key{"mtu", Count{topology::mtu_min.value(), topology::mtu_max.value()},
        network_defaults.mtu.value(), "bytes of a packet, with its headers", "", of_packets},
    Key{"rendezvous_above", Size{}, "by library",
        "larger messages take the rendezvous protocol, with two latencies more for a request and "
        "its grant. Unless given, 64KiB with `library: mpi` over tcp (Open MPI's limit, less a "
        "header of some bytes), and no limit otherwise"},
    Key{"receives", OneOf{texts_of<Receives>}, "by library",
        "what a message waits for. ready: its receiver; announced: its receiver's ready "
        "notification (clear-to-send), which arrives a latency later (Gloo); announced-ahead: the "
        "same, but receives are posted, and their senders notified, two rounds ahead for peers of "
        "the round before (plans on Gloo); announced-to-new-peers: only new peers, not those of "
        "the round before, wait for a notification, and none in a call's first round (plans on "
        "MPI). Unless given, over tcp that of the library of `collective`, or of the backend of "
        "plans"},
    Key{"sharp", Flag{}, network_defaults.sharp,
        "whether the network's switches reduce and NCCL uses that (SHARP; CollNet with "
        "NCCL_COLLNET_ENABLE=1); needs rdma"},
    Key{"fabric", OneOf{fabrics}, std::uint64_t{0},
        "switch: one switch without limits; fat_tree: leaf switches below a core without limits"},
    Key{"nodes_per_leaf", Count{1, nodes_max}, required, "nodes below each leaf switch", "16",
        of_fat_tree},
    Key{"oversubscription", Number{1, 1000}, fat_tree_defaults.oversubscription,
        "NICs below a full leaf switch over its uplink", "", of_fat_tree},
    Key{"core_latency", Time{}, fat_tree_defaults.core_latency,
        "added where a transfer crosses the core", "", of_fat_tree},
    Key{"rails", Flag{}, fat_tree_defaults.rails, "a leaf switch for each NIC of a node", "",
        of_fat_tree},
    Key{"placement", OneOf{texts_of<Placement>}, value_of(fat_tree_defaults.placement),
        "packed: leaf after leaf; spread: nodes dealt to the leaves in turn", "", of_fat_tree},
};

// Beside these a calibration's links are another cluster's; what settings and sweeps say of single
// links stands in place of its own (take_links).
constexpr Owners of_cluster{{"preset", "intra_node.kind", "network.transport"}};

constexpr std::array cluster_table{
    Key{"preset", Text{"a name, or a file", shipped_clusters}, "none",
        "a shipped cluster, or a file of schema `paceline.cluster/1`; the other keys lie over it",
        "dgx1-v100"},
    Key{"name", Text{"text"}, "the preset's", "what the report calls it", "ours"},
    Key{"gpu", Text{"a device", shipped_devices, false}, "the preset's",
        "the shipped one that `paceline collective` and `paceline nccl` take, where no option says "
        "otherwise",
        "h100-sxm5-80gb"},
    Key{"gpus", Structure{"any, or a list of devices", rows<gpus_forms>}, "`gpu`, else any",
        "the shipped devices that such machines have; a `gpu` over the list of a preset is the "
        "only one. A warning says where `workload.device` is a shipped one and none of the "
        "preset's, unless links are given over it (`intra_node.kind` and `intra_node.bandwidth`)",
        "[h100-sxm5-80gb, h200-sxm5-141gb]"},
    Key{"nodes", Count{1, nodes_max}, std::uint64_t{1},
        "how many, where the scenario has no `gpus`"},
    Key{"gpus_per_node", Count{1, gpus_per_node_max}, required, "alike in all", "8"},
    Key{"intra_node", Map{rows<intra_node_table>}, "", "what joins the GPUs of a node"},
    Key{"network", Map{rows<network_table>}, "", "what joins the nodes"},
    Key{"reduction_bandwidth", Bandwidth{}, "unlimited; 740MBps of host memory",
        "how fast a rank reduces what arrives into its own buffer; a receiver is done that much "
        "later (CPU ranks, and GPUs whose tensors MPI or Gloo sum in host memory, which is assumed "
        "of a `workload.model` on a GPU without a section `real`; copies are in it)"},
    Key{"calibration", Text{"a file"}, "none",
        "that `paceline calibrate` wrote, beside the scenario: its collectives take what logs say, "
        "and are not simulated. Others run on the links that it has from ping-pongs: latency and "
        "bandwidth of `network` and `intra_node` stand in for the file's (efficiency 1, no "
        "framing; the bandwidth of a mesh's lanes stays), except where a sweep or `--set` gives "
        "them; the report says which. On an NVLink mesh, collectives of a number of ranks a node "
        "that it has no log of take a calibration that was made with `--cluster`. What it learnt "
        "from steps of another scenario of this machine (`learnt`) is evidence, and takes no "
        "call's place: predictions are conditioned by its rows as by known points of "
        "`measured.points`, but for the speed of compute and, beside logs, but for links"}
        .of(of_cluster)
        .of_prediction(),
};

std::vector<std::vector<std::uint32_t>> read_lanes(const Field& field, std::uint32_t gpus) {
  std::vector<std::vector<std::uint32_t>> lanes;
  for (const Field& row_field : field.list()) {
    std::vector<std::uint32_t>& row = lanes.emplace_back();
    for (const Field& entry : row_field.list()) {
      row.push_back(static_cast<std::uint32_t>(entry.count(0, lanes_max)));
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

// One between any two, unless the section says more.
std::vector<std::vector<std::uint32_t>> lanes_of(Section& node, std::uint32_t gpus) {
  if (const auto lanes = node.field("lanes")) return read_lanes(*lanes, gpus);
  std::vector lanes(gpus, std::vector<std::uint32_t>(gpus, 1));
  for (std::uint32_t i = 0; i < gpus; ++i) lanes[i][i] = 0;
  return lanes;
}

std::vector<std::uint32_t> read_slots(Section& node, std::uint32_t gpus) {
  const auto field = node.field("slot_lanes");
  if (!field) return {};
  std::vector<std::uint32_t> slots;
  for (const Field& lanes : field->list()) {
    slots.push_back(static_cast<std::uint32_t>(lanes.count(1, topology::slot_lanes_max)));
  }
  if (slots.size() < gpus) {
    field->fail(fmt::format("has fewer than {} slots", gpus), "write the lanes of each GPU's slot");
  }
  return slots;
}

// What GPUs of such nodes have: a port of an A100, a lane of a V100, a slot of PCIe 3.0 (presets
// dgx-a100, dgx1-v100 and pcie-tree-8 have the sources).
std::string_view usual_bandwidth(IntraNodeKind kind) {
  switch (kind) {
    case IntraNodeKind::nvswitch: return "240GBps";
    case IntraNodeKind::nvlink_mesh: return "22.5GBps";
    case IntraNodeKind::pcie: return "12GBps";
  }
  PACELINE_UNREACHABLE("a kind outside the enumeration");
}

void require_bandwidth(Section& node) {
  if (node.is_given("bandwidth")) return;
  const auto kind = node.get<IntraNodeKind>("kind");
  std::string hint = fmt::format("write bandwidth: {}", usual_bandwidth(kind));
  if (!node.is_given("kind")) {
    hint = fmt::format(
        "write intra_node: {{kind: {}, bandwidth: {}}}, or another kind, or name a "
        "preset of such machines",
        to_text(kind), usual_bandwidth(kind));
  }
  throw InputError(node.location(), "cluster.intra_node.bandwidth is missing", hint);
}

IntraNode read_intra_node(Section& section, std::uint32_t gpus, std::uint32_t nics) {
  section.finish();
  if (gpus > 1) require_bandwidth(section);
  IntraNode node{.kind = section.get<IntraNodeKind>("kind"),
                 .bandwidth = section.find<BytesPerSecond>("bandwidth").value_or(BytesPerSecond()),
                 .latency = section.get<Seconds>("latency"),
                 .lanes = {},
                 .host_bandwidth = section.find<BytesPerSecond>("host_bandwidth")};
  if (node.kind == IntraNodeKind::nvlink_mesh) node.lanes = lanes_of(section, gpus);
  if (node.kind != IntraNodeKind::nvswitch) node.pcie_tree = read_pcie_tree(section, gpus, nics);
  if (node.kind == IntraNodeKind::nvlink_mesh && node.pcie_tree) {
    (void)section.map().require("host_bandwidth", "12GBps");
  }
  node.slot_generation = section.get<std::uint32_t>("slot_generation");
  node.slot_lanes = read_slots(section, gpus);
  node.box_spread = section.find<double>("box_spread");
  return node;
}

std::string shipped_name(const Field& device) {
  const std::string name = device.text();
  if (!is_shipped_device(name)) {
    device.fail("is no shipped device", "`paceline list devices` has them");
  }
  return name;
}

// Empty: any.
std::vector<std::string> read_list(const Field& gpus) {
  if (gpus.node().is_scalar() && gpus.text() == any_word.front()) return {};
  if (!gpus.node().is_list()) {
    gpus.fail(
        "is neither any nor a list of devices",
        "write gpus: [v100-sxm2-16gb, v100-sxm2-32gb]; gpus_per_node says how many there are");
  }
  std::vector<std::string> devices;
  for (const Field& device : gpus.list()) devices.push_back(shipped_name(device));
  return devices;
}

// Over its preset, which a section has below it: what a link of the node is, and how fast.
bool has_links_of_its_own(Section& section) {
  constexpr std::size_t layer_of_preset = 2;  // after settings and the section
  Reader node = section.map().map("intra_node");
  return std::ranges::all_of(std::array{"kind", "bandwidth"}, [&](const char* key) {
    const auto layer = node.layer_of(key);
    return layer && *layer < layer_of_preset;
  });
}

// Reads `gpu` and `gpus` of a cluster section that lies over its preset; a `gpu` that lies over
// `gpus` is the only one. nullopt: the machines may have any, or the links are those of no preset,
// but of the section itself. Throws InputError for what is no shipped device, and where `gpu` is
// none of `gpus`.
std::optional<PresetDevices> read_devices(Section& section, topology::Cluster& cluster) {
  const auto gpu = section.field("gpu"), gpus = section.field("gpus");
  std::vector<std::string> devices;
  if (gpus) devices = read_list(*gpus);
  if (gpu) cluster.gpu = shipped_name(*gpu);
  const auto of_gpu = section.map().layer_of("gpu"), of_gpus = section.map().layer_of("gpus");
  if (gpu && (!gpus || *of_gpu < *of_gpus)) devices = {cluster.gpu};
  if (gpu && !devices.empty() && std::ranges::find(devices, cluster.gpu) == devices.end()) {
    throw InputError(gpus->location(), fmt::format("gpus does not have gpu, {}", cluster.gpu),
                     fmt::format("add it, or write gpu: {}", devices.front()));
  }
  const auto preset = section.field("preset");
  if (!preset || devices.empty() || has_links_of_its_own(section)) return std::nullopt;
  return PresetDevices{preset->text(), std::move(devices)};
}

std::optional<FatTree> read_fat_tree(Section& network) {
  if (network.get<std::string_view>("fabric") != fabrics.back()) return std::nullopt;
  return FatTree{.nodes_per_leaf = network.get<std::uint32_t>("nodes_per_leaf"),
                 .oversubscription = network.get<double>("oversubscription"),
                 .core_latency = network.get<Seconds>("core_latency"),
                 .rails = network.get<bool>("rails"),
                 .placement = network.get<Placement>("placement")};
}

bool read_sharp(Section& network) {
  const bool adds = network.get<bool>("sharp");
  if (adds && network.get<Transport>("transport") != Transport::rdma) {
    network.require("sharp").fail("is of InfiniBand's switches", "set transport: rdma");
  }
  return adds;
}

Network read_network(Section& section) {
  return {.bandwidth = section.find<BytesPerSecond>("bandwidth").value_or(BytesPerSecond()),
          .latency = section.get<Seconds>("latency"),
          .nics_per_node = section.get<std::uint32_t>("nics_per_node"),
          .efficiency = section.get<double>("efficiency"),
          .transport = section.get<Transport>("transport"),
          .framing = section.get<Framing>("framing"),
          .mtu = Bytes(section.get<std::uint64_t>("mtu")),
          .rendezvous_above = section.find<Bytes>("rendezvous_above"),
          .receives = section.find<Receives>("receives").value_or(network_defaults.receives),
          .fat_tree = read_fat_tree(section),
          .sharp = read_sharp(section)};
}

TcpHosts read_tcp_hosts(Section& network) {
  return {.provider = network.get<Provider>("provider"),
          .nic = network.find<NicVendor>("nic"),
          .sockets = network.find<std::uint32_t>("sockets"),
          .threads = network.find<std::uint32_t>("socket_threads"),
          .stream = network.find<BytesPerSecond>("stream_bandwidth")};
}

}  // namespace

std::span<const Key> cluster_keys() { return cluster_table; }

std::span<const Key> cluster_file_keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> of_file{schema_key("paceline.cluster/1")};
    for (const Key& key : cluster_table) {
      if (key.name != "preset" && key.name != "calibration") of_file.push_back(key);
    }
    return of_file;
  }();
  return keys;
}

bool is_shipped_device(std::string_view name) {
  return std::ranges::find(shipped_devices(), name, &ShippedFile::name) != shipped_devices().end();
}

DescribedCluster load_described_cluster(Section section) {
  Cluster cluster;
  DocumentPtr preset;
  if (const auto named = section.field("preset")) {
    preset = named_document(*named, shipped_clusters(), cluster_file_keys());
    section.lay_over(preset, preset->root, section.map().is_set("preset"));
    (void)section.map().has("schema");  // a key of the preset's file
    cluster.name = named->text();
  }
  if (const auto name = section.field("name")) cluster.name = name->text();
  auto devices = read_devices(section, cluster);
  cluster.nodes = section.get<std::uint32_t>("nodes");
  cluster.gpus_per_node = section.get<std::uint32_t>("gpus_per_node");
  if (std::uint64_t{cluster.nodes} * cluster.gpus_per_node > ranks_max) {
    section.require("gpus_per_node").fail(fmt::format("makes more than {} GPUs", ranks_max), "");
  }
  try {
    Section network = section.below("network"), intra_node = section.below("intra_node");
    network.finish();
    cluster.network = read_network(network);
    cluster.intra_node =
        read_intra_node(intra_node, cluster.gpus_per_node, cluster.network.nics_per_node);
    const TcpHosts tcp = read_tcp_hosts(network);
    cluster.reduction_bandwidth = section.find<BytesPerSecond>("reduction_bandwidth");
    section.finish();
    if (const auto pair = topology::unjoined_pair(cluster)) {
      throw InputError(
          section.location(),
          fmt::format("nothing joins GPUs {} and {} of a node", pair->first, pair->second),
          "give intra_node.host_bandwidth, or lanes between them");
    }
    Assumptions left_out;
    for (const Section* one : {&section, &intra_node, &network}) one->say_left_out(left_out);
    return {std::move(cluster), tcp, std::move(devices), std::move(left_out)};
  } catch (const InputError& error) {  // a preset suits its own number of GPUs
    const auto gpus = section.require("gpus_per_node");
    if (!preset || error.where().file != preset->name || gpus.document() == preset) throw;
    gpus.fail("does not suit the preset", "give cluster.intra_node and cluster.network as well");
  }
}

}  // namespace paceline::loader
