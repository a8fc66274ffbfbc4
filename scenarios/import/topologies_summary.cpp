#include "scenarios/import/topologies_summary.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

namespace paceline {
namespace {

using traces::NodeTopology;
using traces::PciePath;

// Pairs of GPUs by what joins them.
struct Pairs {
  std::size_t nvlink = 0;
  std::map<PciePath, std::size_t> pcie;
};

Pairs pairs_of(const NodeTopology& node) {
  Pairs pairs;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool has_links = i < node.links.size() && node.links[i][j] > 0;
      if (has_links) {
        ++pairs.nvlink;
      } else if (i < node.paths.size() && node.paths[i][j]) {
        ++pairs.pcie[*node.paths[i][j]];
      }
    }
  }
  return pairs;
}

std::uint32_t switch_links(const NodeTopology& node) {
  std::uint32_t most = 0;
  for (const NodeTopology::Gpu& gpu : node.gpus) most = std::max(most, gpu.switch_links);
  return most;
}

std::string plural(std::size_t count, const char* of) {
  return fmt::format("{} {}{}", count, of, count == 1 ? "" : "s");
}

std::string joined_by(const NodeTopology& node) {
  const Pairs pairs = pairs_of(node);
  std::string text;
  if (const auto links = switch_links(node)) {
    text += fmt::format(", {} of each into NVSwitches", plural(links, "NVLink"));
  }
  if (pairs.nvlink > 0) {
    text += fmt::format(", {} of GPUs with {}", plural(pairs.nvlink, "pair"),
                        node.run ? "rings between them" : "NVLinks");
  }
  for (const auto& [path, count] : pairs.pcie) {
    text += fmt::format(", {} by {}", plural(count, "pair"), to_text(path));
  }
  return text;
}

std::string model_of(const NodeTopology& node) {
  return node.run && !node.run->model.empty() ? ", " + node.run->model : "";
}

}  // namespace

void write_topologies(std::ostream& out, const std::vector<Import::Topology>& topologies) {
  for (const auto& [file, found] : topologies) {
    const NodeTopology& node = found.topology;
    fmt::print(out, "{}: {} of a node{}: {}{}, {}\n", file, found.format, model_of(node),
               plural(node.gpus.size(), "GPU"), joined_by(node), plural(node.nics.size(), "NIC"));
  }
}

nlohmann::ordered_json json_of(const std::vector<Import::Topology>& topologies) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& [file, found] : topologies) {
    const Pairs pairs = pairs_of(found.topology);
    nlohmann::ordered_json by_path = nlohmann::ordered_json::object();
    for (const auto& [path, count] : pairs.pcie) by_path[std::string(to_text(path))] = count;
    all.push_back({{"file", file},
                   {"format", found.format},
                   {"gpus", found.topology.gpus.size()},
                   {"nics", found.topology.nics.size()},
                   {"nvlink_pairs", pairs.nvlink},
                   {"nvswitch_links", switch_links(found.topology)},
                   {"pcie_pairs", std::move(by_path)}});
  }
  return all;
}

}  // namespace paceline
