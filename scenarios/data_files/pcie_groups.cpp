#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/data_files/data_files.h"

namespace paceline::loader {
namespace {

using topology::PcieGroup;
using topology::PciePath;
using topology::PcieTree;

// The last is that of the node.
constexpr auto group_paths = [] {
  constexpr auto all = texts_of<PciePath>;
  std::array<std::string_view, all.size() - 1> paths;
  std::copy(all.begin(), all.end() - 1, paths.begin());
  return paths;
}();

constexpr std::array number_forms{Form{Count{0, 1023}, Form::Of::list}};

constexpr std::array group_table{
    Key{"gpus", Structure{"a list of local ranks", rows<number_forms>}, required, "counted from 0",
        "[0, 1]"},
    Key{"path", OneOf{group_paths}, required,
        "what lies between two GPUs that share no smaller group", group_paths.front()},
    Key{"bandwidth", Bandwidth{}, "limits nothing", "one way, of its link to what is around it"},
    Key{"nics", Structure{"a list of numbers", rows<number_forms>},
        "on the NUMA node of their first GPU", "NICs in it, counted from 0", "[0]"},
};

constexpr std::array<std::string_view, 4> switch_keys{"gpus_per_switch", "switch_bandwidth",
                                                      "sockets", "socket_bandwidth"};

// How many of each part of a node there are, if its number divides the whole.
std::uint32_t divisor(Section& node, std::string_view key, std::uint32_t whole,
                      std::string_view parts) {
  const auto count = node.get<std::uint32_t>(key);
  if (whole % count != 0) {
    node.require(key).fail(
        fmt::format("does not divide the number of {} of a node, {}", parts, whole), "");
  }
  return count;
}

PcieTree read_switches(Section& node, std::uint32_t gpus) {
  topology::EvenSwitches even;
  even.gpus_per_switch = divisor(node, "gpus_per_switch", gpus, "GPUs");
  even.switch_bandwidth = node.get<BytesPerSecond>("switch_bandwidth");
  even.switches_per_socket = gpus / even.gpus_per_switch;
  if (divisor(node, "sockets", even.switches_per_socket, "switches") == 2) {
    even.switches_per_socket /= 2;
    even.socket_bandwidth = node.get<BytesPerSecond>("socket_bandwidth");
  }
  return topology::even_tree(gpus, even);
}

// Numbers from 0 to below `count`, none twice.
std::vector<std::uint32_t> read_numbers(const Field& list, std::uint32_t count,
                                        std::set<std::uint32_t>& before, std::string_view twice) {
  std::vector<std::uint32_t> numbers;
  for (const Field& entry : list.list()) {
    numbers.push_back(static_cast<std::uint32_t>(entry.count(0, count - 1)));
    if (!before.insert(numbers.back()).second) entry.fail("stands twice", std::string(twice));
  }
  std::ranges::sort(numbers);
  return numbers;
}

PcieGroup read_group(const Field& field, std::uint32_t gpus, std::uint32_t nics,
                     std::set<std::uint32_t>& named_nics) {
  Section section(Reader(field), group_table);
  PcieGroup group;
  std::set<std::uint32_t> of_group;
  group.gpus = read_numbers(section.require("gpus"), gpus, of_group,
                            "name each GPU of the group once, counted from 0");
  group.path = static_cast<PciePath>(section.get<std::uint64_t>("path"));
  group.bandwidth = section.find<BytesPerSecond>("bandwidth");
  if (const auto list = section.field("nics")) {
    group.nics = read_numbers(*list, nics, named_nics,
                              "name each NIC in the smallest group that it is in, and only there");
  }
  return group;
}

PcieTree read_groups(const Field& list, std::uint32_t gpus, std::uint32_t nics) {
  PcieTree tree;
  std::set<std::uint32_t> named_nics;
  const std::vector<Field> fields = list.list();
  for (const Field& field : fields) {
    tree.groups.push_back(read_group(field, gpus, nics, named_nics));
  }
  if (const auto fault = find_fault(tree, gpus, nics)) {
    const PcieGroup& group = tree.groups[fault->group];
    throw InputError(
        fields[fault->group].location(),
        fmt::format("the group of GPUs {} {}", fmt::join(group.gpus, ", "), fault->what),
        "a group lies within another one, with a path as near or nearer, or has no GPU of it");
  }
  return tree;
}

// A layer above that gives the one has left out the other.
void refuse_both(Section& node) {
  for (const std::string_view key : switch_keys) {
    if (!node.is_given(key)) continue;
    node.require(key).fail("stands beside groups",
                           "keep one of them: groups say what switches and sockets share");
  }
}

}  // namespace

std::span<const Form> pcie_group_forms() {
  static constexpr std::array forms{Form{Map{rows<group_table>}, Form::Of::list}};
  return forms;
}

std::optional<PcieTree> read_pcie_tree(Section& node, std::uint32_t gpus, std::uint32_t nics) {
  if (!node.is_given("groups") && !node.is_given("gpus_per_switch")) return std::nullopt;
  (void)node.map().require("bandwidth", "12GBps");  // also with a single GPU
  const bool has_groups = node.is_given("groups");
  if (has_groups) refuse_both(node);
  PcieTree tree =
      has_groups ? read_groups(node.require("groups"), gpus, nics) : read_switches(node, gpus);
  tree.peer_to_peer = node.get<bool>("peer_to_peer");
  tree.staging_bandwidth = node.find<BytesPerSecond>("staging_bandwidth");
  return tree;
}

}  // namespace paceline::loader
