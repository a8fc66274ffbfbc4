#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "models/units/parse.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/import/cluster_file.h"

namespace paceline::cli {
namespace topology_command {

struct Options {
  std::string file, device, link_bandwidth, network_bandwidth;
  files::OutputFile output{"-"};
  int nics = 0, node = 0;
  bool no_nvlink = false;
};

TopologyOptions topology_options(const Options& options) {
  TopologyOptions known;
  if (!options.device.empty()) known.device = device_named(options.device);
  if (!options.link_bandwidth.empty()) {
    known.link_bandwidth = positive_bandwidth("--link-bandwidth", options.link_bandwidth);
  }
  if (!options.network_bandwidth.empty()) {
    known.network_bandwidth = positive_bandwidth("--network-bandwidth", options.network_bandwidth);
  }
  if (options.nics > 0) known.nics_per_node = static_cast<std::uint32_t>(options.nics);
  known.has_no_nvlink = options.no_nvlink;
  return known;
}

int run(Options& options) {
  const TopologyOptions known = topology_options(options);
  std::optional<std::uint32_t> node;
  if (options.node > 0) node = static_cast<std::uint32_t>(options.node);
  const std::string text = cluster_file_text(read_topology_file(options.file, node), known);
  options.output.write([&](std::ostream& out) { out << text; });
  return exit_done;
}

}  // namespace topology_command

Action attach_topology(CommandOptions& app) {
  using namespace topology_command;
  auto options = std::make_shared<Options>();
  app.add_option("file", options->file,
                 "Output of nvidia-smi topo -m, the topology file that NCCL writes where "
                 "NCCL_TOPO_DUMP_FILE says, or a log of NCCL_DEBUG=INFO.")
      .required()
      .reads_files("");
  app.in_group("Output").add_output(
      "-o,--output", options->output,
      "Write the cluster as YAML to this file (default: standard output).");
  CommandOptions machine = app.in_group("Machine");
  machine
      .add_option("--device", options->device,
                  "The GPU, as in workload.device of a scenario; it decides the bandwidth of links "
                  "(paceline list devices).")
      .suggests(shipped_device_names);
  machine.add_option("--link-bandwidth", options->link_bandwidth,
                     "The bandwidth of one NVLink in one direction, or of a GPU's PCIe link where "
                     "there are no NVLinks.");
  machine.add_option("--network-bandwidth", options->network_bandwidth,
                     "The bandwidth of one NIC in one direction, such as 100Gbps.");
  machine.add_option("--nics", options->nics, "The number of NICs per node that training uses.")
      .in_range(1, 1024);
  machine
      .add_option("--node", options->node,
                  "The node to use, counted from 1; needed where the file contains several.")
      .in_range(1, 1000);
  machine.add_flag("--no-nvlink", options->no_nvlink,
                   "The GPUs are PCIe cards without NVLink, where the file leaves that open.");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
