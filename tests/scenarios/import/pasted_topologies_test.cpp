// Topologies of nodes as people paste them, and the cluster that a person reads in each: a row an
// input, with lines of the file that is written. Bandwidths are those of the options, or of the
// XML: 16 GT/s by 16 lanes is 24 GB/s in NCCL's constants (topo.h), 10,000 Mb/s 10 Gb/s.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/scenarios/import/pasted.h"

namespace paceline::test {
namespace {

struct PastedTopology {
  const char* name;  // of the test
  const char* file;
  std::vector<std::string> options;
  int exit_code = 0;
  std::vector<std::string> lines = {};  // of the cluster, without indents; or parts of the refusal
  std::vector<std::string> never = {};
  int gpus = 0;  // that a collective then runs on
  bool may_be_refused = false;
};

const std::vector<std::string> host{"--link-bandwidth", "12GBps", "--network-bandwidth", "25Gbps"};

std::vector<std::string> host_and(std::vector<std::string> more) {
  more.insert(more.begin(), host.begin(), host.end());
  return more;
}

std::vector<PastedTopology> pasted_matrices() {
  return {
      {"FourNumaNodes",
       "topo-four-numa.txt",
       host,
       0,
       {"gpus_per_node: 4", "kind: pcie", "nics_per_node: 1", "gpus: [2]", "nics: [0]"},
       {},
       4},
      // Two of 25 Gb/s a GPU are one of 50.
      {"MoreNicsThanGpus",
       "topo-more-nics.txt",
       host,
       0,
       {"gpus_per_node: 2", "kind: pcie", "bandwidth: 50Gbps", "nics_per_node: 2"},
       {},
       2},
      // NV2 0-1 and 2-3, NV1 0-2 and 1-3.
      {"MeshWithoutTabs",
       "topo-header-glued.txt",
       {"--link-bandwidth", "20GBps", "--network-bandwidth", "25Gbps"},
       0,
       {"gpus_per_node: 4", "kind: nvlink_mesh", "- [0, 2, 1, 0]", "- [2, 0, 0, 1]",
        "- [1, 0, 0, 2]", "- [0, 1, 2, 0]"},
       {},
       4},
      {"HeaderWithoutTabs",
       "topo-header-without-tabs.txt",
       host,
       0,
       {"gpus_per_node: 4", "kind: pcie", "sockets: 2"},
       {},
       4},
      // Five cells below four columns: a third NIC lost its name. NV18, and a NIC by each GPU.
      {"GluedWithoutTabs",
       "topo-glued-without-tabs.txt",
       {"--device", "h100-sxm5-80gb", "--network-bandwidth", "25Gbps"},
       0,
       {"gpus_per_node: 2", "nics_per_node: 2"},
       {},
       2,
       true},
      // NV12 between any two; each NIC by one GPU: 7 words + 1 glued = 8 columns.
      {"GluedCells",
       "topo-glued-cells.txt",
       {"--device", "a100-sxm4-40gb", "--network-bandwidth", "25Gbps"},
       0,
       {"gpus_per_node: 4", "kind: nvswitch", "nics_per_node: 4"},
       {},
       4},
      {"BridgeOfThree",
       "topo-bridge-of-three.txt",
       {"--link-bandwidth", "25GBps", "--network-bandwidth", "25Gbps"},
       0,
       {"gpus_per_node: 3", "kind: nvlink_mesh", "- [0, 4, 0]", "- [4, 0, 0]", "- [0, 0, 0]"},
       {},
       3},
      {"UnevenSwitches",
       "topo-uneven.txt",
       host,
       0,
       {"gpus_per_node: 5", "kind: pcie", "{gpus: [0, 1, 2], path: PIX",
        "{gpus: [3, 4], path: PIX"},
       {},
       5},
      {"UnevenGroups",
       "topo-uneven-groups.txt",
       host,
       0,
       {"gpus_per_node: 5", "kind: pcie", "{gpus: [0, 1], path: PIX",
        "{gpus: [2, 3, 4], path: PIX"},
       {"GPU GPU"},
       5},
      {"TwoMatrices", "topo-two-matrices.txt", host, 2, {"--node"}},
      {"TwoMatricesFirst",
       "topo-two-matrices.txt",
       {"--node", "1", "--link-bandwidth", "25GBps", "--network-bandwidth", "25Gbps"},
       0,
       {"gpus_per_node: 2", "kind: nvlink_mesh"},
       {},
       2},
      {"TwoMatricesSecond",
       "topo-two-matrices.txt",
       host_and({"--node", "2"}),
       0,
       {"gpus_per_node: 2", "kind: pcie"},
       {},
       2},
      {"TwoMachines", "topo-two-machines.txt", host, 2, {"--node"}},
      {"TwoMachinesFirst",
       "topo-two-machines.txt",
       host_and({"--node", "1"}),
       0,
       {"gpus_per_node: 2", "kind: pcie"},
       {},
       2},
      {"TwoMachinesSecond",
       "topo-two-machines.txt",
       {"--node", "2", "--device", "a100-sxm4-40gb", "--network-bandwidth", "25Gbps"},
       0,
       {"gpus_per_node: 4", "kind: nvswitch"},
       {},
       4},
      // Six functions, PIX to one another: at most one card is certain.
      {"VirtualFunctions", "topo-virtual-functions.txt", host, 2, {"--nics"}},
      {"VirtualFunctionsOfOneCard",
       "topo-virtual-functions.txt",
       host_and({"--nics", "1"}),
       0,
       {"gpus_per_node: 2", "nics_per_node: 1", "bandwidth: 25Gbps"},
       {},
       2},
      {"PeerToPeerNotSupported",
       "topo-with-p2p-matrix.txt",
       host,
       0,
       {"gpus_per_node: 2", "kind: pcie", "peer_to_peer: false"},
       {"is not told"},
       2},
      {"PeerToPeerRightBelow",
       "topo-p2p-matrix-adjacent.txt",
       {"--link-bandwidth", "25GBps", "--network-bandwidth", "25Gbps"},
       0,
       {"gpus_per_node: 2"},
       {},
       2},
      // Of one NUMA node, and the path of two: the hypervisor hides the tree.
      {"VirtualMachine",
       "topo-all-sys-virtual-machine.txt",
       host,
       0,
       {"gpus_per_node: 4", "kind: pcie"},
       {"sockets: 2", "third NUMA node"},
       4},
      {"Tail", "topo-tail-only.txt", host, 2, {"whole"}, {"is no topology of a node;"}},
  };
}

std::vector<PastedTopology> pasted_files() {
  return {
      // docker0, br-lan, veth* and tunl0 are below no <pci>.
      {"VirtualNics",
       "xml-virtual-nics.xml",
       {},
       0,
       {"gpus_per_node: 2", "kind: pcie", "bandwidth: 24GBps", "bandwidth: 10Gbps",
        "nics_per_node: 1"},
       {"bandwidth: 30Gbps"},
       2},
      // 6 of 40,000 MB/s; 2.5 GT/s is the link's idle state.
      {"ChipToChip",
       "xml-c2c-and-wifi.xml",
       {"--network-bandwidth", "10Gbps"},
       0,
       {"gpus_per_node: 1", "240GBps"},
       {"bandwidth: 3GBps", "bandwidth: 20Gbps"},
       1},
      {"SxmWithoutNvlink", "xml-sxm-without-nvlink.xml", {}, 2},
      {"SxmByDeviceWithoutNvlink", "xml-sxm-without-nvlink.xml", {"--device", "h100-sxm5-80gb"}, 2},
      {"FourNumaNodesOfOneProcessor",
       "xml-four-numa-nodes.xml",
       {},
       0,
       {"gpus_per_node: 4", "kind: pcie", "bandwidth: 24GBps", "bandwidth: 10Gbps",
        "nics_per_node: 1"},
       {"third NUMA node"},
       4},
      {"GraphFile", "graph-file.xml", {}, 2, {"NCCL_GRAPH_DUMP_FILE"}},
  };
}

void PrintTo(const PastedTopology& topology, std::ostream* out) { *out << topology.file; }

// Without comments and indents.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find_first_not_of(' ');
    if (first == std::string::npos || line[first] == '#') continue;
    lines.push_back(line.substr(first, line.find(" #") - first));
  }
  return lines;
}

bool has_line_with(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const std::string& line) {
    const bool is_key = part.find(": ") != std::string::npos && part.front() != '{';
    return is_key && line.front() != '-' ? line == part : line.find(part) != std::string::npos;
  });
}

class PastedTopologies : public testing::TestWithParam<PastedTopology> {};

TEST_P(PastedTopologies, BecomeTheClusterThatAPersonReads) {
  const PastedTopology& right = GetParam();
  if (right.exit_code != 0) {
    std::vector<std::string> arguments{"topology", "FILE", "-o", "-"};
    arguments.insert(arguments.end(), right.options.begin(), right.options.end());
    expect_said(right.file, {arguments, right.exit_code, right.lines, right.never});
    return;
  }
  const Folder folder;
  std::vector<std::string> arguments{"topology", pasted_folder + right.file, "-o", "cluster.yaml"};
  arguments.insert(arguments.end(), right.options.begin(), right.options.end());
  const Ended made = paceline(arguments, folder.path());
  const std::string text = text_of(folder.path() / "cluster.yaml");
  SCOPED_TRACE(made.err + text);
  if (right.may_be_refused && made.exit_code == 2) return;
  ASSERT_EQ(made.exit_code, 0);
  const auto lines = lines_of(text);
  for (const std::string& line : right.lines) EXPECT_TRUE(has_line_with(lines, line)) << line;
  for (const std::string& part : right.never) EXPECT_EQ(text.find(part), std::string::npos) << part;
  const Ended used =
      paceline({"collective", "cluster.yaml", "--gpus", std::to_string(right.gpus * 2), "--min",
                "1MiB", "--max", "1MiB", "--quiet"},
               folder.path());
  EXPECT_EQ(used.exit_code, 0) << used.err;
}

std::vector<PastedTopology> pasted_topologies() {
  auto all = pasted_matrices();
  for (PastedTopology& one : pasted_files()) all.push_back(one);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Files, PastedTopologies, testing::ValuesIn(pasted_topologies()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace paceline::test
