// Topologies of nodes: any bytes are one or a FormatError; its tables are square and symmetric; and
// a cluster is made of it, or refused with a reason.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/import/cluster_file.h"
#include "traces/text/format_error.h"
#include "traces/topology/node_topology.h"

namespace {

using paceline::traces::NodeTopology;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check(const NodeTopology& node) {
  const std::size_t gpus = node.gpus.size();
  require(gpus > 0, "a topology has no GPUs");
  require(node.links.size() == gpus && node.paths.size() == gpus && node.nic_paths.size() == gpus,
          "a table has not a row for each GPU");
  for (std::size_t i = 0; i < gpus; ++i) {
    require(node.links[i].size() == gpus && node.paths[i].size() == gpus, "a table is not square");
    require(node.nic_paths[i].size() == node.nics.size(), "a row has not an entry for each NIC");
    for (std::size_t j = 0; j < gpus; ++j) {
      require(node.links[i][j] == node.links[j][i], "links differ between their ends");
      require(node.paths[i][j] == node.paths[j][i], "paths differ between their ends");
    }
    require(node.links[i][i] == 0 && !node.paths[i][i], "a GPU is joined to itself");
    require(node.gpus[i].at.line > 0 && node.gpus[i].at.column > 0, "a GPU has no place");
  }
}

void make_cluster(const paceline::TopologyFile& file) {
  paceline::TopologyOptions options;
  options.link_bandwidth = paceline::BytesPerSecond(20e9);
  try {
    require(!cluster_file_text(file, options).empty(), "a cluster is empty");
  } catch (const paceline::InputError& error) {
    require(*error.what() != '\0', "an error says nothing");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    auto read = paceline::traces::read_node_topology(text, std::nullopt);
    check(read.topology);
    make_cluster({"input", read.format, std::move(read.topology)});
  } catch (const paceline::traces::FormatError& error) {
    require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}
