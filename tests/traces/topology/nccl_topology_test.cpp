#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/scenarios/process.h"
#include "traces/text/format_error.h"
#include "traces/topology/node_topology.h"

namespace paceline::traces {
namespace {

NodeTopology nccl_fixture(const std::string& name) {
  const NamedTopology read = read_node_topology(
      test::text_of(std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/fixtures/topology" / name),
      std::nullopt);
  EXPECT_EQ(read.format, "NCCL's topology file");
  return read.topology;
}

std::string nccl_refusal(const std::string& text) {
  try {
    (void)read_node_topology(text, std::nullopt);
  } catch (const FormatError& error) {
    EXPECT_FALSE(error.hint().empty());
    return std::to_string(error.line()) + ":" + std::to_string(error.column()) + ": " +
           error.what();
  }
  return "none";
}

// One GPU; `more` stands inside it.
std::string gpu_element(const std::string& rank, const std::string& bus, const std::string& more) {
  return "<pci busid=\"" + bus + "\" class=\"0x030200\"><gpu dev=\"0\" sm=\"70\" rank=\"" + rank +
         "\">" + more + "</gpu></pci>";
}

std::string system_of(const std::string& inside) {
  return "<system version=\"1\">\n<cpu host_hash=\"0x1\">\n" + inside + "\n</cpu>\n</system>\n";
}

TEST(NcclTopology, ReadsLinksBetweenGpusAndTheTreeOfPcie) {
  const NodeTopology node = nccl_fixture("dgx1_v100.xml");
  ASSERT_EQ(node.gpus.size(), 8U);
  EXPECT_FALSE(node.links_of_pairs_only);
  EXPECT_EQ(node.links[0], (std::vector<std::uint32_t>{0, 1, 1, 2, 2, 0, 0, 0}));
  EXPECT_EQ(node.gpus[0].switch_links, 0U);
  EXPECT_EQ(node.gpus[0].sm, 70U);
  // 16 lanes of 8 GT/s, of which NCCL counts 6 Gb/s each.
  EXPECT_EQ(node.gpus[0].port, BytesPerSecond(12e9));
  EXPECT_EQ(node.gpus[0].uplink, BytesPerSecond(12e9));
  EXPECT_EQ(node.paths[0][1], PciePath::one_switch);
  EXPECT_EQ(node.paths[0][2], PciePath::host_bridge);
  EXPECT_EQ(node.paths[0][4], PciePath::system);
  ASSERT_EQ(node.nics.size(), 4U);
  EXPECT_EQ(node.nics[0].bandwidth, BytesPerSecond(12.5e9));
  EXPECT_EQ(node.nics[0].is_socket, false);
  EXPECT_EQ(node.nic_paths[1][0], PciePath::one_switch);
  ASSERT_TRUE(node.processor.has_value());
  EXPECT_EQ(node.processor->model, 79U);
}

TEST(NcclTopology, AddsTheLinksIntoAllNvswitches) {
  const NodeTopology node = nccl_fixture("dgx_a100.xml");
  ASSERT_EQ(node.gpus.size(), 8U);
  EXPECT_EQ(node.gpus[7].switch_links, 12U);  // two to each of six
  EXPECT_EQ(node.links[0][1], 0U);
  EXPECT_EQ(node.gpus[0].port, BytesPerSecond(24e9));
  EXPECT_EQ(node.nics.size(), 8U);
}

TEST(NcclTopology, TakesNothingFromEmulatedSwitchesAndOneInterfaceOnce) {
  const NodeTopology node = nccl_fixture("hgx_b200_virtual.xml");
  ASSERT_EQ(node.gpus.size(), 8U);
  EXPECT_EQ(node.gpus[0].switch_links, 18U);
  EXPECT_EQ(node.gpus[0].port, BytesPerSecond(48e9));  // a width of 0 is 16
  EXPECT_EQ(node.gpus[0].uplink, std::nullopt);        // one lane of 2.5 GT/s
  ASSERT_EQ(node.nics.size(), 1U);
  EXPECT_EQ(node.nics[0].is_socket, true);
  EXPECT_EQ(node.nics[0].bandwidth, BytesPerSecond(1.25e9));
}

TEST(NcclTopology, OrdersGpusByRankAndPassesOverThoseWithoutOne) {
  const NodeTopology node = read_nccl_topology(
      system_of(gpu_element("1", "0000:0A:00.0", "") + gpu_element("0", "0000:0b:00.0", "") +
                "<pci busid=\"0000:0c:00.0\" class=\"0x030200\"><gpu dev=\"2\" sm=\"70\"/></pci>"),
      std::nullopt);
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_EQ(node.gpus[0].name, "0000:0b:00.0");
  EXPECT_EQ(node.gpus[1].name, "0000:0a:00.0");
}

TEST(NcclTopology, SaysWhereItDoesNotHoldTogether) {
  EXPECT_EQ(nccl_refusal("<system version=\"1\">\n<cpu>"),
            "2:5: is no XML: start-end tags mismatch");
  EXPECT_EQ(nccl_refusal("<a></a>"), "0:0: has no <system>");
  EXPECT_EQ(nccl_refusal(system_of("<pci busid=\"0\" class=\"0x030200\"/>")),
            "3:1: is a GPU without <gpu>, as in files that NCCL is given and has not filled in");
  EXPECT_EQ(nccl_refusal(system_of("")), "1:1: has no <gpu> with a rank");
  EXPECT_EQ(nccl_refusal(system_of(gpu_element("0", "a", "") + "\n" + gpu_element("0", "b", ""))),
            "4:33: has the rank or the bus id of another GPU");
  EXPECT_EQ(nccl_refusal(system_of(gpu_element("x", "a", ""))),
            "3:33: rank=\"x\" is no number up to 1000000");
  EXPECT_EQ(nccl_refusal(system_of("<pci class=\"0x030200\"><gpu rank=\"0\" sm=\"70\"/></pci>")),
            "3:1: <pci> has no busid");
  const auto link = [](const char* target, const char* kind) {
    return std::string("<nvlink target=\"") + target + "\" count=\"1\" tclass=\"" + kind + "\"/>";
  };
  EXPECT_EQ(nccl_refusal(system_of(gpu_element("0", "a", link("b", "0x030200")) + "\n" +
                                   gpu_element("1", "b", ""))),
            "4:33: has 0 NVLinks to the GPU of line 3, and that one 1 to it");
  EXPECT_EQ(nccl_refusal(system_of(gpu_element("0", "a", link("c", "0x068001")))),
            "3:63: is an NVLink to neither a GPU nor an NVSwitch");
  EXPECT_EQ(nccl_refusal("<system><cpu host_hash=\"1\"/>\n<cpu host_hash=\"2\"/></system>"),
            "2:1: is of another host than the <cpu> before");
}

TEST(NcclTopology, NamesOtherFilesThatNcclHas) {
  const auto refusal = [](const std::string& name) {
    return nccl_refusal(test::text_of(std::filesystem::path(PACELINE_SOURCE_DIR) /
                                      "tests/fixtures/topology" / name));
  };
  EXPECT_EQ(refusal("graphs.xml"),
            "1:1: is NCCL's file of graphs, as NCCL_GRAPH_DUMP_FILE names it");
  EXPECT_EQ(refusal("given_with_classes.xml"),
            "4:7: is a GPU without <gpu>, as in files that NCCL is given and has not filled in");
  EXPECT_EQ(refusal("given_without_gpus.xml"),
            "4:1: has no <gpu> with a rank, as files that NCCL is given and has not filled in");
  EXPECT_EQ(nccl_refusal("<topology version=\"2.0\"><object type=\"Machine\"/></topology>"),
            "0:0: is what lstopo writes");
}

TEST(NcclTopology, LeavesOutInterfacesThatAreNoNics) {
  const NodeTopology node = nccl_fixture("virtual_nics.xml");
  ASSERT_EQ(node.nics.size(), 1U);
  EXPECT_EQ(node.nics[0].name, "enp25s0");
  EXPECT_EQ(node.nics_left_out,
            (std::vector<std::string>{"docker0", "br-lan", "veth11", "veth22", "tunl0"}));
}

// 6 x 40,000 MB/s; its PCIe link sleeps at 2.5 GT/s.
TEST(NcclTopology, TakesTheLinkToTheCpuOfTheModule) {
  const NodeTopology node = nccl_fixture("c2c_and_wifi.xml");
  ASSERT_EQ(node.gpus.size(), 1U);
  EXPECT_TRUE(node.gpus[0].port_is_c2c);
  EXPECT_EQ(node.gpus[0].port, BytesPerSecond(240e9));
  EXPECT_TRUE(node.nics.empty());
  EXPECT_EQ(node.nics_left_out, (std::vector<std::string>{"wlan0", "wg0"}));
}

TEST(NcclTopology, ReadsLinksThatRcclWrites) {
  const NodeTopology node = nccl_fixture("xgmi_4.xml");
  ASSERT_EQ(node.gpus.size(), 3U);
  EXPECT_TRUE(node.is_amd);
  EXPECT_EQ(node.links[0], (std::vector<std::uint32_t>{0, 1, 1}));
  EXPECT_EQ(node.gpus[0].sm, std::nullopt);
  ASSERT_EQ(node.nics.size(), 1U);
  EXPECT_EQ(node.nics[0].bandwidth, std::nullopt);  // 200 Tb/s is none
}

TEST(NcclTopology, ReadsASystemBehindAPromptAndAsksWhichOfTwo) {
  const std::string one = system_of(gpu_element("0", "0000:0a:00.0", ""));
  const NamedTopology read =
      read_node_topology("$ cat topo.xml\n" + one + "$ exit\n", std::nullopt);
  EXPECT_EQ(read.format, "NCCL's topology file");
  EXPECT_EQ(read.topology.gpus[0].at.line, 4U);
  EXPECT_EQ(nccl_refusal(one + one), "6:1: has 2 nodes (1: line 1; 2: line 6)");
  EXPECT_EQ(read_node_topology(one + one, 2).topology.gpus[0].at.line, 8U);
}

// A virtual machine may show two CPUs of one NUMA node.
TEST(NcclTopology, TakesCpusOfOneNumaNodeForOne) {
  const auto cpu = [](const std::string& numa, const std::string& inside) {
    return "<cpu numaid=\"" + numa + "\">" + inside + "</cpu>";
  };
  const std::string first = gpu_element("0", "a", ""), second = gpu_element("1", "b", "");
  const auto path = [](const std::string& cpus) {
    return read_nccl_topology("<system>" + cpus + "</system>", std::nullopt).paths[0][1];
  };
  EXPECT_EQ(path(cpu("0", first) + cpu("0", second)), PciePath::host_bridge);
  EXPECT_EQ(path(cpu("0", first) + cpu("1", second)), PciePath::system);
  EXPECT_EQ(path(cpu("-1", first) + cpu("-1", second)), PciePath::system);
}

TEST(NcclTopology, RefusesSwitchesBelowSwitchesWithoutEnd) {
  std::string open, close;
  for (int i = 0; i < 100; ++i) {
    open += "<pci busid=\"a\" class=\"0x060400\">";
    close += "</pci>";
  }
  EXPECT_NE(nccl_refusal(system_of(open + close)).find("lies below more than 32 switches"),
            std::string::npos);
}

}  // namespace
}  // namespace paceline::traces
