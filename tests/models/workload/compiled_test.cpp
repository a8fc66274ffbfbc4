// Networks that are compiled, and those in CUDA graphs.

#include "models/workload/compiled.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "models/workload/attained.h"

namespace paceline::workload {
namespace compiled_test {

Layer layer_of(std::string name, Work work, double forward, double backward, Kept kept) {
  const ModelledCost cost{{Flops(0), forward, 0}, {Flops(0), backward, 0}, work};
  return {std::move(name), {}, {}, cost, kept};
}

double forward_of(const Layer& layer) {
  return std::get<ModelledCost>(layer.cost).forward.activation_elements_per_sample;
}
double backward_of(const Layer& layer) {
  return std::get<ModelledCost>(layer.cost).backward.activation_elements_per_sample;
}

constexpr double n = 1000;

// A convolution, then a batch normalisation, an addition and a ReLU, as at the end of a block of
// ResNet-50: forward 3 n + 3 n + 2 n, backward 6 n + 3 n + 3 n.
Network block_of_resnet() {
  return {"block",
          {layer_of("conv", Work::convolution, 2 * n, 4 * n, {n, n, true}),
           layer_of("bn", Work::traffic, 3 * n, 6 * n, {n, n, true}),
           layer_of("add", Work::traffic, 3 * n, 3 * n, {2 * n, n}),
           layer_of("relu", Work::traffic, 2 * n, 3 * n, {n, n, false, true})}};
}

// Forward: the normalisation reads twice, the addition its other input, and the ReLU writes: 4 n of
// 8 n. Backward: two gradients between them are neither written nor read: 8 n of 12 n.
TEST(Compiled, LayersInOneKernelReadAndWriteOnceWhatIsBetweenThem) {
  const Network made = compiled(block_of_resnet());
  double forward = 0, backward = 0;
  for (std::size_t i = 1; i < 4; ++i) {
    forward += forward_of(made.layers[i]);
    backward += backward_of(made.layers[i]);
  }
  EXPECT_EQ(forward, 4 * n);
  EXPECT_EQ(backward, 8 * n);
  EXPECT_EQ(forward_of(made.layers[0]), 2 * n);
  EXPECT_FALSE(made.layers[1].launched_before);
  EXPECT_TRUE(made.layers[2].launched_before && made.layers[3].launched_before);
}

// The backward of a layer normalisation reads its input, the sum: 3 n, and n of 2 n.
TEST(Compiled, WhatTheBackwardReadsIsWritten) {
  const Network made = compiled({"n",
                                 {layer_of("add", Work::traffic, 3 * n, 3 * n, {2 * n, n}),
                                  layer_of("parameter", Work::traffic, 0, 0, {}),
                                  layer_of("norm", Work::traffic, 2 * n, 5 * n, {n, n, true})}});
  EXPECT_EQ(forward_of(made.layers[0]), 3 * n);
  EXPECT_EQ(forward_of(made.layers[2]), n);
  EXPECT_EQ(backward_of(made.layers[0]) + backward_of(made.layers[2]), 6 * n);
}

// A pool's output is smaller than its input, so its loops are others.
TEST(Compiled, LayersOfOtherSizesStayApart) {
  const Network network{"n",
                        {layer_of("relu", Work::traffic, 2 * n, 3 * n, {n, n, false, true}),
                         layer_of("pool", Work::traffic, n * 5 / 4, n * 5 / 4, {n, n / 4, true})}};
  const Network made = compiled(network);
  EXPECT_EQ(forward_of(made.layers[1]), n * 5 / 4);
  EXPECT_FALSE(made.layers[1].launched_before);
}

// Of two products of 10 x 20 from 10 elements to 20 only the first is in FP8. Its casts pass two
// and a half times over what goes in and over weights, and in the backward over its output's
// gradient.
TEST(Float8, IsOfAllProductsButTheLast) {
  Layer product = layer_of("up", Work::product, 30, 60, {10, 20, true});
  product.kept.cast_weights = 200;
  std::get<ModelledCost>(product.cost).backward.flops_per_sample = Flops(1);
  Layer head = product;
  head.name = "head";
  const Network made = in_float8({"n", {product, head}});
  ASSERT_EQ(made.layers.size(), 3U);
  const auto& casts = std::get<ModelledCost>(made.layers[0].cost);
  EXPECT_EQ(casts.forward.activation_elements_per_sample, 25);
  EXPECT_EQ(casts.forward.parameter_elements, 500);
  EXPECT_EQ(casts.backward.activation_elements_per_sample, 50);
  EXPECT_EQ(std::get<ModelledCost>(made.layers[1].cost).work, Work::float8_product);
  EXPECT_EQ(std::get<ModelledCost>(made.layers[2].cost).work, Work::product);
}

// At the peak in half the time, and at what is attained 1 / 1.75.
TEST(Float8, HasTwiceThePeak) {
  Device device;
  device.bf16.peak = FlopsPerSecond(1e12);
  const auto time = [&](Work work) {
    return arithmetic_time(Flops(1e12), work, Precision::bf16, device, known_attained());
  };
  EXPECT_DOUBLE_EQ(time(Work::product) / time(Work::float8_product), 1.75);
}

Workload timed(const Network& network) {
  Device device;
  device.fp32.peak = FlopsPerSecond(1e12);
  device.memory_bandwidth = BytesPerSecond(1e12);
  Workload work;
  for (const Layer& layer : network.layers) {
    work.layers.push_back(time_layer(layer, 1, Precision::fp32, device, known_attained()));
  }
  return work;
}

// A pass: two groups of four layers; in graphs two calls of 44.3 us. The optimizer's four layers
// are not compiled: a tenth each of what an eager layer launches.
TEST(Compiled, HostsLaunchGroupsOrGraphs) {
  const double eager = known_attained()[static_cast<std::size_t>(Quantity::launches)];
  const auto launch = [eager](const Network& network) {
    const Workload work = timed(network);
    const Launches launches = launches_of(work.layers, known_attained(), network.launching);
    EXPECT_NEAR(launches.optimizer.value(), 4 * 0.1 * eager, 1e-12);
    return work.launch_time(1, launches).value() - launches.optimizer.value();
  };
  EXPECT_NEAR(launch(block_of_resnet()), 4 * 0.9 * eager, 1e-12);
  EXPECT_NEAR(launch(compiled(block_of_resnet())), 2 * 0.9 * eager, 1e-12);
  EXPECT_NEAR(launch(in_graphs(block_of_resnet())), 2 * 44.3e-6, 1e-12);
  EXPECT_NEAR(launch(in_graphs(compiled(block_of_resnet()))), 2 * 44.3e-6, 1e-12);
}

// Graphs alone change no kernel.
TEST(Compiled, KernelsInGraphsTakeWhatTheyTook) {
  const Workload eager = timed(block_of_resnet()), graphs = timed(in_graphs(block_of_resnet()));
  EXPECT_EQ(eager.forward(), graphs.forward());
  EXPECT_EQ(eager.backward(), graphs.backward());
}

}  // namespace compiled_test
}  // namespace paceline::workload
