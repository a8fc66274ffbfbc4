#include "scenarios/data_files/node_class.h"

#include <gtest/gtest.h>

#include "models/shipped_file.h"
#include "scenarios/document/document.h"

namespace paceline::loader {
namespace {

TEST(DeviceCalled, IsTheShippedOneThatADriverNames) {
  const std::pair<const char*, const char*> names[] = {{"NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb"},
                                                       {"A100-SXM4-80GB", "a100-sxm4-80gb"},
                                                       {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
                                                       {"NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"},
                                                       {"NVIDIA H200", "h200-sxm5-141gb"},
                                                       {"NVIDIA B200", "b200-180gb"},
                                                       {"Tesla V100-SXM2-16GB", "v100-sxm2-16gb"},
                                                       {"Tesla T4", "tesla-t4"},
                                                       {"NVIDIA GeForce RTX 3090", "rtx-3090"},
                                                       {"NVIDIA RTX A6000", "rtx-a6000"},
                                                       {"NVIDIA GH200 480GB", "gh200-96gb"},
                                                       {"NVIDIA GH200 144G HBM3e", "gh200-144gb"},
                                                       {"NVIDIA GeForce RTX 5090", "rtx-5090"},
                                                       {"AMD Instinct MI300X OAM", "mi300x-192gb"},
                                                       {"NVIDIA H20", "h20-sxm5-96gb"},
                                                       {"NVIDIA A800-SXM4-80GB", "a800-sxm4-80gb"}};
  for (const auto& [name, device] : names) EXPECT_EQ(device_called(name), device) << name;
  for (const char* none :
       {"", "A device", "NVIDIA", "NVIDIA A100", "NVIDIA H20-3e", "NVIDIA H800 PCIe"}) {
    EXPECT_FALSE(device_called(none)) << none;
  }
}

TEST(DeviceCalled, IsTheOneWhoseFileHasTheName) {
  std::size_t count = 0;
  for (const ShippedFile& file : shipped_devices()) {
    const DocumentPtr device = parse_document(std::string(file.name), file.text);
    EXPECT_EQ(device_called(file.name), file.name);
    for (const Node& name : device->root["driver_names"].list()) {
      EXPECT_EQ(device_called(name.scalar()), file.name) << name.scalar();
      ++count;
    }
  }
  EXPECT_GT(count, 0U);
}

// The figures are those of models/topology/presets/dgx-a100.yaml.
TEST(NodeClass, IsThePresetOfMachinesWithTheDevice) {
  const auto of_eight = node_class_of("NVIDIA A100-SXM4-40GB", 8);
  ASSERT_TRUE(of_eight);
  EXPECT_EQ(of_eight->preset, "dgx-a100");
  EXPECT_EQ(of_eight->links, "nvswitch, bandwidth 240GBps, latency 0.74us, host_bandwidth 24GBps");
  EXPECT_EQ(of_eight->network_latency, "3us");
  // Two of a crossbar's ports; nodes of four are a mesh, of a preset of their own.
  EXPECT_EQ(node_class_of("NVIDIA A100-SXM4-40GB", 2)->preset, "dgx-a100");
  EXPECT_EQ(node_class_of("NVIDIA A100-SXM4-40GB", 4)->preset, "csc-mahti");
  EXPECT_EQ(node_class_of("Tesla V100-SXM2-16GB", 8)->preset, "dgx1-v100");
}

TEST(NodeClass, IsNoneWhereNoPresetHasSuchNodes) {
  EXPECT_FALSE(node_class_of("A device", 8));
  EXPECT_FALSE(node_class_of("Tesla V100-SXM2-16GB", 2)) << "a mesh of eight tells nothing of two";
}

}  // namespace
}  // namespace paceline::loader
