#include "models/workload/attained.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paceline::workload {
namespace {

// 1 TFLOPS of fp32 and 8 at 16 bits, 64 lanes a multiprocessor: 1e12 / 128 = 7.8125e9 clocks of
// multiprocessors a second. 1 GB/s of memory, all of it attained.
Device device() {
  Device one;
  one.name = "device";
  one.fp32.peak = FlopsPerSecond(1e12);
  one.fp16.peak = FlopsPerSecond(8e12);
  one.memory_bandwidth = BytesPerSecond(1e9);
  one.attained_memory = 1;
  return one;
}

// Convolutions are fed 128 FLOPs a clock in fp32, so as many as the peak has, and 256 at 16 bits: 2
// TFLOPS. Products attain half of the peak.
Attained attained() { return {128, 128, 256, 0.5, 0.5, 0.5, 3, 0.5, 0.25, 2, 1e-3}; }

Seconds time_of(Work work, Precision precision) {
  return arithmetic_time(Flops(1e9), work, precision, device(), attained());
}

Layer layer_of(Work work, double flops, double elements) {
  return {"layer",
          {},
          {},
          ModelledCost{{Flops(flops), elements, 0}, {Flops(2 * flops), 2 * elements, 0}, work}};
}

Layer layer_of_products(double flops, double elements) {
  return layer_of(Work::product, flops, elements);
}

TEST(Attained, ProductsTakeAPartOfThePeak) {
  EXPECT_NEAR(time_of(Work::product, Precision::fp32).value(), 2e-3, 1e-12);
  EXPECT_NEAR(time_of(Work::product, Precision::amp).value(), 0.25e-3, 1e-12);
  EXPECT_NEAR(time_of(Work::fused_attention, Precision::fp32).value(), 4e-3, 1e-12);
}

// 1e9 / 1e12 at the peak, and as long again for what feeds it; 1e9 / 8e12 + 1e9 / 2e12 at 16 bits.
TEST(Attained, ConvolutionsTakeThePeaksTimeAndWhatFeedsIt) {
  EXPECT_NEAR(time_of(Work::convolution, Precision::fp32).value(), 2e-3, 1e-12);
  EXPECT_NEAR(time_of(Work::convolution, Precision::amp).value(), 0.625e-3, 1e-12);
  EXPECT_NEAR(time_of(Work::grouped_convolution, Precision::fp32).value(), 8e-3, 1e-12);
}

TEST(Attained, ADevicesOwnPartReplacesIt) {
  Device own = device();
  own.fp32.attained = 0.25;
  EXPECT_NEAR(
      arithmetic_time(Flops(1e9), Work::convolution, Precision::fp32, own, attained()).value(),
      4e-3, 1e-12);
}

// Products of 2 ms, and 3 times 4 ms for 1e6 elements of 4 bytes.
TEST(Attained, AttentionTakesItsProductsAndThenItsTraffic) {
  const TimedLayer one =
      time_layer(layer_of(Work::attention, 1e9, 1e6), 1, Precision::fp32, device(), attained());
  EXPECT_NEAR(one.forward.value(), 14e-3, 1e-12);
}

// 1e6 elements of 4 bytes: 4 ms a sample forward, 8 ms backward, longer than 2 and 4 of arithmetic.
TEST(Attained, ALayerTakesItsMemoryWhereThatIsLonger) {
  const TimedLayer slow =
      time_layer(layer_of_products(1e9, 1e6), 2, Precision::fp32, device(), attained());
  EXPECT_NEAR(slow.forward.value(), 8e-3, 1e-12);
  EXPECT_NEAR(slow.backward.value(), 16e-3, 1e-12);
  const TimedLayer fast =
      time_layer(layer_of_products(1e9, 1), 2, Precision::fp32, device(), attained());
  EXPECT_NEAR(fast.forward.value(), 4e-3, 1e-12);
}

// 3 GFLOPs a sample at 1 TFLOPS; 2e6 weights of 4 bytes at 1 GB/s, and what states take.
TEST(Attained, NoStepIsFasterThanProductsOrMemoryAtTheirPeaks) {
  Network network{"network", {layer_of_products(1e9, 1e6)}};
  std::get<ModelledCost>(network.layers[0].cost).forward.parameter_elements = 2e6;
  const auto at_peak = [&](std::uint64_t samples) {
    return time_at_peak(network, samples, Precision::fp32, device(), Seconds(4e-3)).value();
  };
  EXPECT_NEAR(at_peak(1), 12e-3, 1e-12);
  EXPECT_NEAR(at_peak(8), 24e-3, 1e-12);
}

// Adam in fp32, a million parameters: 7 x 4 MB a step at 1 GB/s fused, 18 / 7 x 2 times as long
// with kernels of their own.
TEST(Attained, AnOptimizerThatIsNotFusedReadsAndWritesMore) {
  TimedLayer layer;
  layer.parameters.push_back({"w", ElementCount(1'000'000)});
  const auto time = [&](bool fused) {
    const Optimizer adam{OptimizerKind::adam, false, fused};
    return optimizer_time(adam, {&layer, 1}, device(), attained()).value();
  };
  EXPECT_NEAR(time(true), 28e-3, 1e-12);
  EXPECT_NEAR(time(false), 28e-3 * 18 / 7 * 2, 1e-12);
}

// A million parameters at 1 GB/s: 3 x 4 MB, and states of 2 bytes with a scale of 4 bytes for each
// of 3907 blocks of 256, read and written. Those of a bias of 1000 are of fp32.
TEST(Attained, EightBitStatesAreAByteAndTheirScales) {
  const Optimizer adam{OptimizerKind::adam8bit};
  const auto kept = [&](std::uint64_t parameters) {
    return optimizer_memory(adam, ElementCount(parameters), DataType::float32);
  };
  EXPECT_EQ(kept(1'000'000), Bytes(2 * (1'000'000 + 4 * 3907)));
  EXPECT_EQ(kept(1000), Bytes(8000));
  TimedLayer layer;
  layer.parameters.push_back({"w", ElementCount(1'000'000)});
  EXPECT_NEAR(optimizer_time(adam, {&layer, 1}, device(), attained()).value(),
              12e-3 + 2 * 2 * 1.015628e-3, 1e-12);
}

// A moving average of 4 MB more, which a kernel reads and writes beside the parameters of 2 MB.
TEST(Attained, AMovingAverageIsKeptInFp32) {
  Optimizer plain{OptimizerKind::adam, true, true}, averaged = plain;
  averaged.ema = true;
  TimedLayer layer;
  layer.parameters.push_back({"w", ElementCount(1'000'000), DataType::bfloat16});
  const auto memory = [](const Optimizer& optimizer) {
    return optimizer_memory(optimizer, ElementCount(1'000'000), DataType::bfloat16);
  };
  const auto time = [&](const Optimizer& optimizer) {
    return optimizer_time(optimizer, {&layer, 1}, device(), attained()).value();
  };
  EXPECT_EQ(memory(averaged), memory(plain) + Bytes(4'000'000));
  EXPECT_NEAR(time(averaged) - time(plain), 10e-3, 1e-12);
}

// One layer launches, a parameter alone none: nine tenths of 1 ms a pass, a tenth a step.
TEST(Attained, LaunchesCountLayersThatComputeAndPasses) {
  Workload work;
  for (const Layer& layer : {layer_of_products(1, 1), Layer{"p", {}, {}, ModelledCost{}}}) {
    work.layers.push_back(time_layer(layer, 1, Precision::fp32, device(), attained()));
  }
  EXPECT_NEAR(work.launch_time(3, launches_of(work.layers, attained(), Launching::eager)).value(),
              2.8e-3, 1e-12);
}

// The least that a step may be off by is what other sources are.
TEST(Attained, AStepIsAsUnsureAsWhatItIsMadeOf) {
  const Network of_memory{"n", {{"e", {}, {}, ModelledCost{{Flops(0), 1e9, 0}, {}}}}};
  const Network of_products{"n", {layer_of_products(1e13, 1)}};
  const Device one = device();
  const double others = std::hypot(source_spread, row_spread);
  const OneGpu known{of_memory, 1, 1, Precision::fp32, one};
  EXPECT_NEAR(one_gpu_spread(known), others, 1e-3);
  const OneGpu unsure{of_products, 1, 1, Precision::fp32, one};
  EXPECT_GT(one_gpu_spread(unsure), others + 0.01);
}

}  // namespace
}  // namespace paceline::workload
