#include <gtest/gtest.h>

#include "scenarios/import/node_shape.h"

namespace paceline {
namespace {

using Processor = traces::NodeTopology::Processor;

// nccl src/graph/topo.h.
TEST(GpuLinks, HaveNcclsConstants) {
  EXPECT_EQ(nvlink_bandwidth(60), BytesPerSecond(18e9));
  EXPECT_EQ(nvlink_bandwidth(70), BytesPerSecond(20e9));
  EXPECT_EQ(nvlink_bandwidth(80), BytesPerSecond(20e9));
  EXPECT_EQ(nvlink_bandwidth(86), BytesPerSecond(12e9));
  EXPECT_EQ(nvlink_bandwidth(90), BytesPerSecond(20.6e9));
  EXPECT_EQ(nvlink_bandwidth(103), BytesPerSecond(40.1e9));
  EXPECT_EQ(nvlink_bandwidth(37), std::nullopt);
}

TEST(GpuLinks, DoubleWithEachGenerationOfPcie) {
  EXPECT_EQ(pcie_bandwidth(75), BytesPerSecond(12e9));
  EXPECT_EQ(pcie_bandwidth(89), BytesPerSecond(24e9));
  EXPECT_EQ(pcie_bandwidth(90), BytesPerSecond(48e9));
}

// Broadwell, Skylake, Sapphire Rapids, Emerald Rapids, and one that no table knows.
TEST(GpuLinks, BetweenSocketsDependOnTheProcessor) {
  const auto intel = [](std::uint32_t model) {
    return socket_bandwidth(Processor{"x86_64", "GenuineIntel", 6, model});
  };
  EXPECT_EQ(intel(79), BytesPerSecond(6e9));
  EXPECT_EQ(intel(85), BytesPerSecond(10e9));
  EXPECT_EQ(intel(143), BytesPerSecond(22e9));
  EXPECT_EQ(intel(207), BytesPerSecond(40e9));
  EXPECT_EQ(socket_bandwidth(Processor{"x86_64", "AuthenticAMD", 23, 49}), BytesPerSecond(16e9));
  EXPECT_EQ(socket_bandwidth(Processor{}), std::nullopt);
}

}  // namespace
}  // namespace paceline
