#include <algorithm>
#include <cctype>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "traces/text/format_error.h"
#include "traces/text/lines.h"
#include "traces/topology/node_topology.h"

namespace paceline::traces {
namespace {

constexpr std::uint32_t links_most = 1000;  // of a pair, as a scenario's lanes
constexpr auto filled_hint =
    "give the file that NCCL writes in a run, with GPUs and NVLinks: NCCL_TOPO_DUMP_FILE names it";
constexpr auto whole_hint = "give the file that NCCL wrote, whole: NCCL_TOPO_DUMP_FILE names it";

class TextPlaces {
 public:
  // Offsets count from `start`.
  TextPlaces(std::string_view text, std::size_t start) : start_(start) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }

  [[nodiscard]] TextPlace at(std::ptrdiff_t offset) const {
    const auto place = start_ + static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), place);
    const auto line = static_cast<std::size_t>(next - starts_.begin());
    return {line, place - starts_[line - 1] + 1};
  }

 private:
  std::size_t start_;
  std::vector<std::size_t> starts_{0};
};

// The switches from the CPU down to a device.
struct PciWay {
  std::size_t cpu = 0;
  std::vector<std::size_t> switches;  // numbered as they are found
  std::optional<BytesPerSecond> uplink;
};

struct FoundLink {
  std::string target, kind;
  std::uint32_t count = 0;
  TextPlace at;
};

struct FoundGpu {
  NodeTopology::Gpu gpu;
  std::uint32_t rank = 0;
  PciWay way;
  std::vector<FoundLink> links;
};

struct FoundNic {
  NodeTopology::Nic nic;
  PciWay way;
  bool is_below_pci = false;
};

PciePath path_between(const PciWay& a, const PciWay& b) {
  if (a.cpu != b.cpu) return PciePath::system;
  const auto [end_a, end_b] =
      std::mismatch(a.switches.begin(), a.switches.end(), b.switches.begin(), b.switches.end());
  if (end_a == a.switches.begin()) return PciePath::host_bridge;
  const bool is_one = end_a == a.switches.end() && end_b == b.switches.end();
  return is_one ? PciePath::one_switch : PciePath::switches;
}

std::string quoted_text(std::string_view text) { return "\"" + shown(text) + "\""; }

// All of a text that starts with XML; else, behind a prompt or a fence, its systems.
struct XmlPart {
  std::size_t start = 0, size = 0;
};
std::optional<XmlPart> xml_in(std::string_view text) {
  constexpr std::string_view open = "<system ", close = "</system>";
  std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return std::nullopt;
  if (text[start] == '<') return XmlPart{0, text.size()};
  start = text.find(open);
  const std::size_t end = text.rfind(close);
  if (start == std::string_view::npos) return std::nullopt;
  const bool is_closed = end != std::string_view::npos && end > start;
  return XmlPart{start, (is_closed ? end + close.size() : text.size()) - start};
}

class XmlReader {
 public:
  explicit XmlReader(std::string_view whole) : places_(whole, xml_in(whole)->start), whole_(whole) {
    const std::string_view text = whole.substr(xml_in(whole)->start, xml_in(whole)->size);
    const auto parsed =
        document_.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) {
      throw FormatError(places_.at(parsed.offset), "is no XML: " + in_lower(parsed.description()),
                        whole_hint);
    }
  }

  [[nodiscard]] NodeTopology read(NodeChoice choice) && {
    const pugi::xml_node system = chosen_system(choice);
    for (const pugi::xml_node& cpu : system.children("cpu")) take_cpu(cpu);
    if (gpus_.empty()) refuse_without_gpus(system);
    std::ranges::stable_sort(gpus_, {}, &FoundGpu::rank);
    NodeTopology all;
    all.processor = std::move(processor_);
    all.is_amd = is_amd_;
    leave_out_nics(all);
    for (const FoundNic& nic : nics_) all.nics.push_back(nic.nic);
    for (const FoundGpu& from : gpus_) {
      auto& paths = all.paths.emplace_back();
      for (const FoundGpu& to : gpus_) {
        paths.push_back(&from == &to ? std::nullopt
                                     : std::optional(path_between(from.way, to.way)));
      }
      auto& nic_paths = all.nic_paths.emplace_back();
      for (const FoundNic& to : nics_) nic_paths.emplace_back(path_between(from.way, to.way));
    }
    join(all);
    return all;
  }

 private:
  [[nodiscard]] pugi::xml_node chosen_system(NodeChoice choice) const {
    std::vector<pugi::xml_node> systems;
    std::vector<std::string> names;
    for (const pugi::xml_node& system : document_.children("system")) {
      systems.push_back(system);
      names.push_back("line " + std::to_string(place(system).line));
    }
    if (systems.empty()) refuse_other_root();
    return systems[chosen_node(names, place(systems[systems.size() > 1 ? 1 : 0]), choice)];
  }

  // NCCL's graphs: src/graph/search.cc, NCCL_GRAPH_DUMP_FILE.
  [[noreturn]] void refuse_other_root() const {
    if (const pugi::xml_node graphs = document_.child("graphs")) {
      refuse(graphs, "is NCCL's file of graphs, as NCCL_GRAPH_DUMP_FILE names it",
             "give its topology file: NCCL_TOPO_DUMP_FILE names it");
    }
    const std::string foreign = foreign_topology(whole_);
    throw FormatError(0, foreign.empty() ? "has no <system>" : foreign,
                      foreign.empty() ? whole_hint
                                      : "give what nvidia-smi topo -m prints, or the file that "
                                        "NCCL_TOPO_DUMP_FILE names");
  }

  // Interfaces that are no NICs, by name, and those below no <pci> beside others below one: NCCL
  // hangs what has no device below a CPU (src/graph/xml.cc).
  void leave_out_nics(NodeTopology& all) {
    const auto leave_out = [&](const auto& is_none) {
      for (const FoundNic& found : nics_) {
        if (is_none(found)) all.nics_left_out.push_back(found.nic.name);
      }
      std::erase_if(nics_, is_none);
    };
    leave_out([](const FoundNic& found) { return is_no_nic(found.nic.name); });
    if (std::ranges::none_of(nics_, &FoundNic::is_below_pci)) return;
    leave_out([](const FoundNic& found) { return !found.is_below_pci; });
  }

  [[nodiscard]] TextPlace place(const pugi::xml_node& node) const {
    return places_.at(node.offset_debug() - 1);  // of its name, behind the <
  }

  [[noreturn]] void refuse(const pugi::xml_node& node, const std::string& what,
                           const std::string& hint) const {
    throw FormatError(place(node), what, hint);
  }

  [[nodiscard]] std::string_view required(const pugi::xml_node& node, const char* name) const {
    const pugi::xml_attribute found = node.attribute(name);
    if (!found) refuse(node, std::string("<") + node.name() + "> has no " + name, whole_hint);
    return found.value();
  }

  [[nodiscard]] std::uint32_t required_count(const pugi::xml_node& node, const char* name,
                                             std::uint32_t most) const {
    const std::string_view text = required(node, name);
    const auto value = number_of<std::uint32_t>(text);
    if (!value || *value > most) {
      refuse(node,
             std::string(name) + "=" + quoted_text(text) + " is no number up to " +
                 std::to_string(most),
             whole_hint);
    }
    return *value;
  }

  void take_cpu(const pugi::xml_node& cpu) {
    const std::string_view host = cpu.attribute("host_hash").value();
    if (cpus_++ > 0 && host != host_) {
      refuse(cpu, "is of another host than the <cpu> before",
             "give the file of one node; nodes that NVLink joins are not modelled");
    }
    host_ = host;
    if (!processor_) {
      const auto number = [&](const char* name) {
        return number_of<std::uint32_t>(cpu.attribute(name).value()).value_or(0);
      };
      processor_ =
          NodeTopology::Processor{cpu.attribute("arch").value(), cpu.attribute("vendor").value(),
                                  number("familyid"), number("modelid")};
    }
    // What a virtual machine shows as several of one NUMA node is one.
    const std::string_view numa = cpu.attribute("numaid").value();
    const auto known = number_of<std::uint32_t>(numa)
                           ? numa_.try_emplace(std::string(numa), cpus_).first->second
                           : cpus_;
    const PciWay way{known, {}, std::nullopt};
    take_below(cpu, way, 0);
  }

  // Bytes a second as NCCL counts them (src/graph/topo.cc, kvDictPciGen and ncclTopoAddPci): 3/5 of
  // each lane's rate until 5 GT/s, whose codes take more, and 3/4 above.
  [[nodiscard]] static std::optional<BytesPerSecond> link_of(const pugi::xml_node& pci) {
    const std::string_view text = pci.attribute("link_speed").value();
    const auto rate = number_of<double>(text.substr(0, text.find(' ')));
    constexpr double rate_most = 256;  // GT/s, of PCIe 8
    if (!rate || !(*rate > 0) || *rate > rate_most) return std::nullopt;
    constexpr std::uint32_t lanes_unless_said = 16, pcie_lanes_most = 32;
    auto lanes = number_of<std::uint32_t>(pci.attribute("link_width").value()).value_or(0);
    if (lanes == 0 || lanes > pcie_lanes_most) lanes = lanes_unless_said;
    constexpr double rate_most_8b10b = 5, bytes_a_gigabit = 1e9 / 8;
    const double reached = *rate > rate_most_8b10b ? 0.75 : 0.6;
    return BytesPerSecond(*rate * reached * bytes_a_gigabit * lanes);
  }

  // Of a switch. One lane of 2.5 GT/s is what virtual machines give theirs, and tells nothing.
  [[nodiscard]] static std::optional<BytesPerSecond> uplink_of(const pugi::xml_node& pci) {
    const std::string_view speed = pci.attribute("link_speed").value();
    const std::string_view lanes = pci.attribute("link_width").value();
    if (speed.substr(0, speed.find(' ')) == "2.5" && lanes == "1") return std::nullopt;
    return link_of(pci);
  }

  // Of a GPU. A link of 2.5 GT/s is asleep, or not PCIe. NVLink-C2C joins a GPU to the CPU of its
  // module; NCCL counts bw=MB/s times count (src/graph/topo.cc, ncclTopoAddC2c).
  void add_port(const pugi::xml_node& pci, const pugi::xml_node& node,
                NodeTopology::Gpu& gpu) const {
    const std::string_view speed = pci.attribute("link_speed").value();
    if (speed.substr(0, speed.find(' ')) != "2.5") gpu.port = link_of(pci);
    double c2c_mbyte_per_s = 0;
    constexpr std::uint32_t bandwidth_most = 10'000'000;
    for (const pugi::xml_node& link : node.children("c2c")) {
      c2c_mbyte_per_s += double{1} * required_count(link, "bw", bandwidth_most) *
                         required_count(link, "count", links_most);
    }
    if (c2c_mbyte_per_s <= 0) return;
    gpu.port = BytesPerSecond(c2c_mbyte_per_s * 1e6);
    gpu.port_is_c2c = true;
  }

  void take_below(const pugi::xml_node& parent, const PciWay& way, std::size_t depth) {
    constexpr std::size_t depth_most = 32;
    if (depth > depth_most) refuse(parent, "lies below more than 32 switches", whole_hint);
    for (const pugi::xml_node& child : parent.children()) {
      const std::string_view name = child.name();
      if (name == "nic" && depth == 0) take_nic(child, way, false);  // of a CPU
      if (name != "pci") continue;
      for (const pugi::xml_node& gpu : child.children("gpu")) take_gpu(child, gpu, way);
      for (const pugi::xml_node& nic : child.children("nic")) take_nic(nic, way, true);
      if (!child.child("pci")) continue;
      PciWay below = way;
      below.switches.push_back(switches_++);
      if (way.switches.empty()) below.uplink = uplink_of(child);
      take_below(child, below, depth + 1);
    }
  }

  void take_gpu(const pugi::xml_node& pci, const pugi::xml_node& node, const PciWay& way) {
    if (!node.attribute("rank")) return;  // of no rank, as NCCL passes it over
    constexpr std::uint32_t ranks_most = 1'000'000, sm_most = 1000;
    FoundGpu found;
    found.gpu.name = in_lower(required(pci, "busid"));
    found.gpu.at = place(node);
    const std::uint32_t sm = required_count(node, "sm", sm_most);
    const bool is_amd = node.attribute("gcn") || node.child("xgmi");  // their sm is another count
    is_amd_ = is_amd_ || is_amd;
    if (!is_amd) found.gpu.sm = sm;
    add_port(pci, node, found.gpu);
    found.gpu.uplink = way.uplink;
    found.rank = required_count(node, "rank", ranks_most);
    found.way = way;
    for (const pugi::xml_node& link : node.children(is_amd ? "xgmi" : "nvlink")) {
      found.links.push_back({in_lower(required(link, "target")),
                             in_lower(link.attribute("tclass").value()),
                             required_count(link, "count", links_most), place(link)});
    }
    if (gpus_.size() == topology_gpus_most)
      refuse(node, "is one of more than 1024 GPUs", whole_hint);
    const auto is_same = [&](const FoundGpu& other) {
      return other.gpu.name == found.gpu.name || other.rank == found.rank;
    };
    if (std::ranges::any_of(gpus_, is_same)) {
      refuse(node, "has the rank or the bus id of another GPU",
             "give the file of one node whose ranks have a GPU each");
    }
    gpus_.push_back(std::move(found));
  }

  void take_nic(const pugi::xml_node& nic, const PciWay& way, bool is_below_pci) {
    for (const pugi::xml_node& net : nic.children("net")) {
      if (!net.attribute("dev")) continue;  // one that NCCL does not use
      FoundNic found{{shown(net.attribute("name").value()), place(net), {}, {}}, way, is_below_pci};
      if (!nets_.insert(found.nic.name).second) continue;  // for SHARP, or below each CPU
      const auto speed = number_of<double>(net.attribute("speed").value());  // Mb/s
      // Some plugins give other units; no port is as fast as eight of 800 Gb/s.
      constexpr double speed_most = 6.4e6, bytes_a_megabit = 1e6 / 8;
      if (speed && *speed > 0 && *speed <= speed_most) {
        found.nic.bandwidth = BytesPerSecond(*speed * bytes_a_megabit);
      }
      if (const pugi::xml_attribute guid = net.attribute("guid")) {
        found.nic.is_socket = std::string_view(guid.value()) == "0x0" &&
                              std::string_view(net.attribute("port").value()) == "0";
      }
      if (nics_.size() == topology_nics_most)
        refuse(net, "is one of more than 1024 NICs", whole_hint);
      nics_.push_back(std::move(found));
    }
  }

  // Files of clouds' images, for NCCL_TOPO_FILE: switches and NICs, to which NCCL adds GPUs.
  [[noreturn]] void refuse_without_gpus(const pugi::xml_node& system) const {
    const auto is_display = [](const pugi::xml_node& node) {
      return std::string_view(node.name()) == "pci" &&
             std::string_view(node.attribute("class").value()).substr(0, 4) == "0x03";
    };
    if (const pugi::xml_node gpu = system.find_node(is_display)) {
      refuse(gpu, "is a GPU without <gpu>, as in files that NCCL is given and has not filled in",
             filled_hint);
    }
    if (system.find_node([](const auto& node) { return std::string_view(node.name()) == "pci"; })) {
      refuse(system, "has no <gpu> with a rank, as files that NCCL is given and has not filled in",
             filled_hint);
    }
    refuse(system, "has no <gpu> with a rank", whole_hint);
  }

  // Moves the GPUs and adds what NVLink joins.
  void join(NodeTopology& all) {
    std::map<std::string, std::size_t> by_bus;
    for (std::size_t i = 0; i < gpus_.size(); ++i) by_bus.emplace(gpus_[i].gpu.name, i);
    all.links.assign(gpus_.size(), std::vector<std::uint32_t>(gpus_.size(), 0));
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      for (const FoundLink& link : gpus_[i].links) {
        const auto peer = by_bus.find(link.target);
        if (peer != by_bus.end() && peer->second != i) {
          all.links[i][peer->second] += link.count;
          if (all.links[i][peer->second] > links_most) refuse_links(link);
        } else if (link.kind == "0x068000") {
          gpus_[i].gpu.switch_links += link.count;
          if (gpus_[i].gpu.switch_links > links_most) refuse_links(link);
        } else if (link.kind.substr(0, 4) != "0x03" && !is_amd_) {  // not of a GPU without a rank
          throw FormatError(link.at, "is an NVLink to neither a GPU nor an NVSwitch",
                            "links to CPUs, as POWER has them, are not modelled");
        }
      }
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) check_ends(all.links, i, j);
    }
    for (FoundGpu& found : gpus_) all.gpus.push_back(std::move(found.gpu));
  }

  [[noreturn]] static void refuse_links(const FoundLink& link) {
    throw FormatError(link.at, "makes more than 1000 NVLinks", whole_hint);
  }

  void check_ends(const std::vector<std::vector<std::uint32_t>>& links, std::size_t i,
                  std::size_t j) const {
    if (links[i][j] == links[j][i]) return;
    throw FormatError(gpus_[i].gpu.at,
                      "has " + std::to_string(links[i][j]) + " NVLinks to the GPU of line " +
                          std::to_string(gpus_[j].gpu.at.line) + ", and that one " +
                          std::to_string(links[j][i]) + " to it",
                      "a link has the same two ends from either; some may be down");
  }

  TextPlaces places_;
  pugi::xml_document document_;
  std::vector<FoundGpu> gpus_;
  std::vector<FoundNic> nics_;
  std::set<std::string> nets_;
  std::optional<NodeTopology::Processor> processor_;
  std::string host_;
  std::map<std::string, std::size_t> numa_;  // NUMA nodes' ids, to CPUs
  bool is_amd_ = false;
  std::string_view whole_;
  std::size_t cpus_ = 0, switches_ = 0;
};

}  // namespace

bool is_nccl_topology(std::string_view text) { return xml_in(text).has_value(); }

NodeTopology read_nccl_topology(std::string_view text, NodeChoice node) {
  return XmlReader(text).read(node);
}

}  // namespace paceline::traces
