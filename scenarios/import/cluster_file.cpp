#include "scenarios/import/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "models/cost/nccl_constants.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/import/node_shape.h"
#include "traces/archive/input.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline {
namespace {

using traces::NodeTopology;

struct Sourced {
  BytesPerSecond bandwidth;
  std::string source;
};

// "key: value" below a comment that says why.
class CommentedKeys {
 public:
  void add(std::size_t depth, const std::string& key, const std::string& value,
           const std::string& comment) {
    note(depth, comment);
    text_ += std::string(2 * depth, ' ') + key + ":" + (value.empty() ? "" : " " + value) + "\n";
  }
  void note(std::size_t depth, const std::string& comment) {
    text_ += loader::comment(comment, std::string(2 * depth, ' '));
  }
  void add(const std::string& line) { text_ += line + "\n"; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Of the fastest protocol of a ring, one hop: what measured small messages take on top of a base.
Seconds hop_latency_of(cost::nccl::Hop hop) {
  const cost::nccl::Release release =
      cost::nccl::Release::nearest(cost::nccl::Release::unless_said);
  return Seconds(cost::nccl::hop_latency(release, hop, cost::nccl::Algorithm::ring)[0] * 1e-6);
}

class ClusterText {
 public:
  ClusterText(const TopologyFile& file, const TopologyOptions& options)
      : file_(file),
        node_(file.topology),
        options_(options),
        sm_(sm_of()),
        shape_(shape_of(file, sm_, model(), options.has_no_nvlink)) {}

  [[nodiscard]] std::string text() && {
    const std::string name = std::filesystem::path(file_.path).filename().string();
    keys_.note(0, fmt::format("Written by paceline topology from {}: {}. A comment says where each "
                              "figure comes from.",
                              traces::shown(name), file_.format));
    if (node_.run) add_run(*node_.run);
    for (const std::string& note : node_.notes) keys_.note(0, note);
    keys_.add("schema: paceline.cluster/1");
    keys_.add("name: \"" + quotable(std::filesystem::path(file_.path).stem().string()) + "\"");
    if (has_shipped_device()) keys_.add("gpu: " + options_.device->name);
    keys_.add(fmt::format("gpus_per_node: {}", node_.gpus.size()));
    keys_.add("intra_node:");
    std::visit([&](const auto& shape) { add_shape(shape); }, shape_);
    keys_.add("network:");
    add_network();
    return keys_.text();
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw InputError({file_.path}, what, hint);
  }

  [[nodiscard]] bool has_shipped_device() const {
    return options_.device && loader::is_shipped_device(options_.device->name);
  }

  static std::string quotable(std::string_view text) {
    std::string plain = traces::shown(text);
    std::ranges::replace_if(
        plain, [](char c) { return c == '"' || c == '\\'; }, '?');
    return plain;
  }

  // The GPU's name, of the file or the device; empty where neither tells.
  [[nodiscard]] std::string model() const {
    if (node_.run && !node_.run->model.empty()) return node_.run->model;
    return options_.device ? options_.device->name : "";
  }

  void add_run(const traces::RunFacts& run) {
    keys_.note(
        0, fmt::format("The run: {} of {}{}{}{}.", counted(run.nodes, "node"),
                       counted(node_.gpus.size(), "GPU"), run.model.empty() ? "" : ", " + run.model,
                       run.version.empty() ? "" : "; NCCL " + run.version,
                       run.network.empty() ? "" : "; network " + run.network));
    if (!run.version.empty()) {
      keys_.note(0,
                 "A scenario takes the version as collective: {version: \"" + run.version + "\"}.");
    }
    if (run.channels > 0) {
      keys_.note(0, fmt::format("{}{}.", counted(run.channels, "ring"),
                                run.is_doubled ? ", half of them the others again" : ""));
    }
    const std::size_t inside = run.peer_to_peer + run.over_neighbours + run.through_host;
    if (inside + run.gpu_direct + run.past_host == 0) return;
    keys_.note(0, fmt::format("Connections in nodes: {} by peer-to-peer, {} over a GPU between, {} "
                              "through host memory; between nodes: {} with GPUDirect RDMA, {} "
                              "without.",
                              run.peer_to_peer, run.over_neighbours, run.through_host,
                              run.gpu_direct, run.past_host));
  }

  // As the file says, or the device.
  [[nodiscard]] std::optional<std::uint32_t> sm_of() const {
    for (const NodeTopology::Gpu& gpu : node_.gpus) {
      if (gpu.sm == node_.gpus[0].sm) continue;
      file_.refuse(gpu, "is another kind of GPU than the first", "all GPUs of a node are alike");
    }
    const auto told = node_.run ? sm_of_model(node_.run->model) : node_.gpus[0].sm;
    if (!options_.device) return told;
    if (told && *told != options_.device->sm) {
      throw InputError(
          {"--device"},
          fmt::format("{} has compute capability {}, and GPUs of {} have {}", options_.device->name,
                      options_.device->sm / 10.0, file_.path, *told / 10.0),
          "leave it out: the file says it");
    }
    return options_.device->sm;
  }

  [[nodiscard]] std::string sm_source() const {
    if (options_.device) return "--device " + options_.device->name;
    return node_.run ? node_.run->model + " in the file" : fmt::format("sm {} in the file", *sm_);
  }

  // A figure that all GPUs must have alike.
  template <class Member>
  [[nodiscard]] std::optional<BytesPerSecond> of_all(const Member& member, const char* what) const {
    const auto first = member(node_.gpus[0]);
    for (const NodeTopology::Gpu& gpu : node_.gpus) {
      if (member(gpu) == first) continue;
      file_.refuse(gpu, fmt::format("{} differs from that of the first GPU", what),
                   "all GPUs of a node are alike; write the section by hand");
    }
    return first;
  }

  [[nodiscard]] Sourced nvlink() const {
    if (options_.link_bandwidth) return {*options_.link_bandwidth, "--link-bandwidth"};
    if (node_.is_amd) {
      refuse("does not say how fast one of its xGMI links is", "add --link-bandwidth, as 48GBps");
    }
    if (!sm_) {
      refuse("does not say the kind of GPU, nor how fast one of its NVLinks is",
             "add --device, as a100-sxm4-40gb, or --link-bandwidth, as 20GBps");
    }
    const auto known = nvlink_bandwidth(*sm_);
    if (!known) {
      refuse("has NVLinks, and such GPUs have none (" + sm_source() + ")",
             "give another --device, or --link-bandwidth, as 20GBps");
    }
    return {*known, "as NCCL counts it (src/graph/topo.h; " + sm_source() + ")"};
  }

  // A GPU's link to its host; nullopt where nothing tells.
  [[nodiscard]] std::optional<Sourced> port() const {
    const auto told = of_all([](const auto& gpu) { return gpu.port; }, "its PCIe link");
    if (told && node_.gpus[0].port_is_c2c) {
      return Sourced{*told, "NVLink-C2C joins a GPU to its CPU, as the file tells it"};
    }
    if (told) return Sourced{*told, "a GPU's PCIe link, as the file tells it and NCCL counts it"};
    if (!sm_ || node_.is_amd) return std::nullopt;
    return Sourced{pcie_bandwidth(*sm_),
                   "not told by the file: PCIe with 16 lanes of the generation "
                   "of such GPUs, as NCCL counts it (" +
                       sm_source() + ")"};
  }

  [[nodiscard]] static Sourced port_unless_told() {
    return {pcie_bandwidth_unless_told,
            "not told by the file: PCIe 3.0 with 16 lanes, as NCCL counts it; --device tells more"};
  }

  void add_bandwidth(const char* key, const Sourced& figure) {
    keys_.add(1, key, to_text(figure.bandwidth), figure.source);
  }

  void add_latency(cost::nccl::Hop hop) {
    keys_.add(1, "latency", to_text(hop_latency_of(hop)),
              "not told by the file: NCCL's constant for a hop (src/graph/tuning.cc, hwLat)");
  }

  void add_host(bool is_needed) {
    auto host = port();
    if (!host && is_needed) host = port_unless_told();
    if (host) {
      keys_.note(1, "Lost: the switches and sockets of PCIe, beside NVLink.");
      add_bandwidth("host_bandwidth", *host);
    } else {
      keys_.note(1,
                 "host_bandwidth is not told by the file, so that a GPU's link to its host limits "
                 "nothing; --device tells more");
    }
  }

  void add_shape(const NvswitchShape& shape) {
    keys_.add(1, "kind", "nvswitch",
              !shape.why.empty() ? shape.why
              : node_.links_of_pairs_only
                  ? "any two GPUs have as many NVLinks as one GPU has in all"
                  : "all NVLinks lead into NVSwitches");
    const Sourced one = nvlink();
    add_bandwidth("bandwidth",
                  {one.bandwidth * shape.links, fmt::format("{} NVLinks of {}, {}", shape.links,
                                                            to_text(one.bandwidth), one.source)});
    add_latency(cost::nccl::Hop::nvlink);
    add_host(false);
  }

  void add_shape(const MeshShape& shape) {
    keys_.add(1, "kind", "nvlink_mesh",
              !shape.why.empty() ? shape.why
              : node_.is_amd     ? "xGMI links join pairs of GPUs, taken for NVLinks"
                                 : "NVLinks join pairs of GPUs");
    const Sourced one = nvlink();
    const std::string kind = node_.is_amd ? "xGMI link" : "NVLink";
    add_bandwidth("bandwidth", {one.bandwidth, "of one " + kind + ": " + one.source});
    add_latency(cost::nccl::Hop::nvlink);
    add_host(!shape.is_full);
    keys_.add("  lanes:");
    for (const auto& row : node_.links) keys_.add(fmt::format("    - [{}]", fmt::join(row, ", ")));
    const auto& status = node_.peer_to_peer;
    if (shape.is_full || !status || !status->all_without_links_fail) return;
    const BytesPerSecond host = port().value_or(port_unless_told()).bandwidth;
    keys_.add(1, "gpus_per_switch", "1", "each GPU has a way of its own to its CPU");
    add_bandwidth("switch_bandwidth", {host, "as a GPU's own link"});
    keys_.add(1, "peer_to_peer", "false", "nvidia-smi topo -p2p has it for NVLinks alone");
  }

  void add_shape(const PcieShape& shape) {
    keys_.add(1, "kind", "pcie",
              !shape.why.empty()       ? shape.why
              : node_.gpus.size() == 1 ? "one GPU: only network traffic crosses its link"
                                       : "the file shows no NVLinks");
    const Sourced figure = options_.link_bandwidth
                               ? Sourced{*options_.link_bandwidth, "--link-bandwidth"}
                               : port().value_or(port_unless_told());
    add_bandwidth("bandwidth", figure);
    add_latency(cost::nccl::Hop::pci);
    if (node_.gpus.size() == 1) return;
    if (node_.gpus.size() > 1 && hides_tree()) {
      keys_.note(1,
                 "The file parts GPUs of one NUMA node by SYS, as in virtual machines, which hide "
                 "how PCIe joins them: each is taken for alone below its CPU.");
    }
    if (shape.even) {
      add_even(*shape.even, figure, shape.is_nested);
    } else {
      add_groups(figure);
    }
    add_peer_to_peer(shape);
  }

  [[nodiscard]] bool hides_tree() const {
    for (std::size_t i = 0; i < node_.gpus.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (traces::PciePath::system == node_.paths[i][j] &&
            told_path(node_, i, j) != node_.paths[i][j]) {
          return true;
        }
      }
    }
    return false;
  }

  // Of the highest switches.
  [[nodiscard]] Sourced uplink(const Sourced& own) const {
    const auto told = of_all([](const auto& gpu) { return gpu.uplink; }, "its switch's PCIe link");
    return told ? Sourced{*told, "as the file tells it and NCCL counts it"}
                : Sourced{own.bandwidth, "not told by the file: as a GPU's own link"};
  }

  void add_even(const PcieShape::Even& even, const Sourced& figure, bool is_nested) {
    if (is_nested) {
      keys_.note(1,
                 "Lost: some of these switches are below one another; the links between them are "
                 "not kept.");
    }
    keys_.add(1, "gpus_per_switch", std::to_string(even.gpus_per_switch),
              even.gpus_per_switch == 1 ? "each GPU has a way of its own to its CPU" : "");
    add_bandwidth("switch_bandwidth", uplink(figure));
    if (even.sockets == 1) return;
    keys_.add(1, "sockets", "2", "NUMA nodes with GPUs, taken for sockets");
    add_bandwidth("socket_bandwidth", socket());
  }

  // The NICs that have a place: as many as the cluster has, where those that are taken for one are
  // in one place.
  [[nodiscard]] std::vector<std::size_t> placed_nics() const {
    const ChosenNics nics = nics_of(node_);
    std::optional<Sourced> rate = nic_bandwidth(nics);
    const std::size_t count = nic_count(nics, rate), told = nics.taken.size();
    std::vector<std::size_t> placed;
    if (told == 0 || told % count != 0) return placed;
    const std::size_t each = told / count;
    const auto index = [&](std::size_t i) {
      return static_cast<std::size_t>(nics.taken[i] - node_.nics.data());
    };
    for (std::size_t i = 0; i < told; ++i) {
      for (const auto& row : node_.nic_paths) {
        if (row[index(i)] != row[index(i / each * each)]) return {};
      }
      if (i % each == 0) placed.push_back(index(i));
    }
    return placed;
  }

  void add_groups(const Sourced& figure) {
    const auto nics = placed_nics();
    const auto groups = pcie_groups(file_, nics);
    const auto has = [&](auto member) { return std::ranges::any_of(groups, member); };
    const bool has_switches =
        has([](const PcieGroup& group) { return group.path <= traces::PciePath::switches; });
    const bool has_nodes = has(&PcieGroup::is_numa_node);
    const bool tells_up =
        std::ranges::any_of(node_.gpus, [](const auto& gpu) { return gpu.uplink.has_value(); });
    const Sourced between = socket();
    keys_.add(1, "groups", "", "what GPUs have between them, the nearest first");
    if (has_switches) {
      keys_.note(2, std::string("PIX, PXB: switches, with the link up, ") +
                        (tells_up ? "as the file tells it and NCCL counts it; of those below "
                                    "another switch: as a GPU's own link"
                                  : "not told by the file: as a GPU's own link"));
    }
    if (has_nodes) {
      keys_.note(2,
                 "PHB, NODE: NUMA nodes with the link to the others; which of them are of one "
                 "socket is not told. The link: " +
                     between.source);
    }
    for (const PcieGroup& group : groups) {
      std::optional<BytesPerSecond> bandwidth;
      if (group.path <= traces::PciePath::switches) {
        bandwidth = figure.bandwidth;
        const auto& up = node_.gpus[group.gpus[0]].uplink;
        if (group.is_outermost_switch && up) bandwidth = up;
      }
      if (group.is_numa_node) bandwidth = between.bandwidth;
      keys_.add(fmt::format(
          "    - {{gpus: [{}], path: {}{}{}}}", fmt::join(group.gpus, ", "), to_text(group.path),
          bandwidth ? ", bandwidth: " + to_text(*bandwidth) : "",
          group.nics.empty() ? "" : fmt::format(", nics: [{}]", fmt::join(group.nics, ", "))));
    }
  }

  void add_peer_to_peer(const PcieShape& shape) {
    if (shape.peer_to_peer) {
      return keys_.add(1, "peer_to_peer", *shape.peer_to_peer ? "true" : "false",
                       "as the log connects them");
    }
    if (const auto& status = node_.peer_to_peer) {
      const bool is_mixed = status->reach > 0 && status->reach < status->pairs;
      return keys_.add(1, "peer_to_peer", status->reach == status->pairs ? "true" : "false",
                       fmt::format("as nvidia-smi topo -p2p prints it: OK between {} of {} pairs{}",
                                   status->reach, status->pairs,
                                   is_mixed ? "; taken for none, as rings cross them all" : ""));
    }
    keys_.note(1,
               "Whether GPUs reach each other without the host is not told; consumer cards do not. "
               "Where nvidia-smi topo -p2p r has no OK, add peer_to_peer: false");
  }

  [[nodiscard]] Sourced socket() const {
    const auto known = node_.processor ? socket_bandwidth(*node_.processor) : std::nullopt;
    return known ? Sourced{*known, "what NCCL counts between such processors (src/graph/topo.h)"}
                 : Sourced{socket_bandwidth_unless_told,
                           "not told by the file: what NCCL counts between Skylake sockets "
                           "(src/graph/topo.h)"};
  }

  // What all NICs have alike; nullopt where no file or option tells.
  [[nodiscard]] std::optional<Sourced> nic_bandwidth(const ChosenNics& nics) const {
    if (options_.network_bandwidth) {
      return Sourced{*options_.network_bandwidth, "--network-bandwidth"};
    }
    for (const NodeTopology::Nic* nic : nics.taken) {
      if (nic->bandwidth == nics.taken[0]->bandwidth) continue;
      file_.refuse(*nic, fmt::format("{} is not as fast as {}", nic->name, nics.taken[0]->name),
                   "add --network-bandwidth and --nics, of those that training uses");
    }
    if (nics.taken.empty() || !nics.taken[0]->bandwidth) return std::nullopt;
    return Sourced{*nics.taken[0]->bandwidth, "as the file tells it"};
  }

  [[nodiscard]] static std::string names_of(const std::vector<const NodeTopology::Nic*>& nics) {
    std::vector<std::string> names;
    for (const NodeTopology::Nic* nic : nics) names.push_back(nic->name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  // Sixteen NICs of eight GPUs are as many as GPUs, each as fast as two.
  [[nodiscard]] std::uint32_t joined(std::uint32_t nics, std::optional<Sourced>& figure) const {
    const auto gpus = static_cast<std::uint32_t>(node_.gpus.size());
    if (nics <= gpus) return nics;
    if (!figure || nics % gpus != 0) {
      refuse(fmt::format("has {} NICs for {} GPU{}, and a cluster has no more than GPUs", nics,
                         gpus, gpus == 1 ? "" : "s"),
             "add --nics, and --network-bandwidth where it is another's, of those that training "
             "uses");
    }
    const std::uint32_t each = nics / gpus;
    figure =
        Sourced{figure->bandwidth * each, fmt::format("{} NICs taken for one: {} each, {}", each,
                                                      to_text(figure->bandwidth), figure->source)};
    return gpus;
  }

  // How many NICs the cluster has, each as fast as `figure` then says.
  [[nodiscard]] std::uint32_t nic_count(const ChosenNics& nics,
                                        std::optional<Sourced>& figure) const {
    if (nics.may_be_one_card && !options_.nics_per_node) {
      refuse(fmt::format("has {} NICs that are PIX from one another and below no GPU's switch: "
                         "functions or ports of one card, or several cards",
                         nics.taken.size()),
             "add --nics, of those that training uses: 1 where they are one card");
    }
    const auto told = static_cast<std::uint32_t>(nics.taken.size());
    return joined(options_.nics_per_node.value_or(std::max(told, 1U)), figure);
  }

  void add_network() {
    const ChosenNics nics = nics_of(node_);
    std::optional<Sourced> figure = nic_bandwidth(nics);
    const std::uint32_t count = nic_count(nics, figure);
    const Sourced rate =
        figure.value_or(Sourced{nic_bandwidth_unless_told,
                                "not told by the file: what NCCL counts where it knows no better "
                                "(src/graph/topo.h, NET_BW); --network-bandwidth tells more"});
    keys_.add(1, "bandwidth", fmt::format("{:.6g}Gbps", rate.bandwidth.value() * 8e-9),
              rate.source);
    add_latency(cost::nccl::Hop::net);
    keys_.add(1, "nics_per_node", std::to_string(count), nics_source(nics));
    if (is_socket(nics)) keys_.add(1, "transport", "tcp", "the file shows sockets");
    const bool is_told = !nics.taken.empty() && nics.taken[0]->is_socket.has_value();
    keys_.note(1,
               fmt::format("Not told by the file, so that the schema's defaults hold: efficiency "
                           "(1){}, framing (none)",
                           is_told ? "" : ", transport (rdma)"));
  }

  [[nodiscard]] std::string nics_source(const ChosenNics& nics) const {
    std::string none;
    if (!node_.nics_left_out.empty()) {
      none =
          fmt::format("; left out, as they are no NICs: {}", fmt::join(node_.nics_left_out, ", "));
    }
    if (options_.nics_per_node) return "--nics" + none;
    if (nics.taken.empty()) return "the file shows none: one is assumed" + none;
    std::string source = names_of(nics.taken) + none;
    if (!nics.left_out.empty()) {
      source += "; left out, as no GPU is below a switch with them: " + names_of(nics.left_out);
    }
    return source;
  }

  [[nodiscard]] static bool is_socket(const ChosenNics& nics) {
    return !nics.taken.empty() &&
           std::ranges::all_of(nics.taken, [](const auto* nic) { return nic->is_socket == true; });
  }

  const TopologyFile& file_;
  const NodeTopology& node_;
  const TopologyOptions& options_;
  std::optional<std::uint32_t> sm_;
  NodeShape shape_;
  CommentedKeys keys_;
};

}  // namespace

TopologyOptions::Device device_named(const std::string& name) {
  const auto document = loader::make_document("--device", {{"device", name}});
  const auto device = loader::load_device({document, document->root["device"], "device"});
  return {device.name, static_cast<std::uint32_t>(std::lround(device.compute_capability * 10))};
}

TopologyFile read_topology_file(const std::string& path, std::optional<std::uint32_t> node) {
  std::optional<TopologyFile> found;
  files::for_each_input(
      path, traces::may_begin_text,
      [&](const traces::UnpackedFile& file) {
        if (found) throw InputError({path}, "is more than one file", "give one of them");
        if (!file.cut.empty()) {
          warn({file.name}, "cut off, or damaged (" + file.cut + "): read up to there", "");
        }
        try {
          traces::NamedTopology read = traces::read_node_topology(file.text, node);
          found = TopologyFile{file.name, read.format, std::move(read.topology)};
        } catch (const traces::FormatError& error) {
          throw InputError({file.name, error.line(), error.column()}, error.what(), error.hint());
        }
      },
      [](const std::string& file, const std::string& why) { throw InputError({file}, why, ""); });
  if (!found) throw InputError({traces::name_of_input(path)}, "has no files", "give a file");
  return std::move(*found);
}

std::string cluster_file_text(const TopologyFile& file, const TopologyOptions& options) {
  return ClusterText(file, options).text();
}

}  // namespace paceline
