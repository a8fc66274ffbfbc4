#include "models/workload/carried.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace paceline::workload {
namespace {

// A step that only its source and its row are off by: variances 0.12^2 = 0.0144 and 0.15^2 =
// 0.0225.
StepErrors of_memory(const char* device, Precision precision = Precision::fp32) {
  return {device, precision};
}

constexpr double source = 0.0144, row = 0.0225;

TEST(CarriedOver, OfNothingIsTheModelAlone) {
  const CarriedOver alone = carry_over({}, of_memory("target"));
  EXPECT_EQ(alone.factor, 1);
  EXPECT_NEAR(alone.spread, std::sqrt(source + row), 1e-12);
}

// One step 1.2 times as long as modelled: its source is expected to be 0.0144 / 0.0369 of that.
TEST(CarriedOver, IsThePartOfAnErrorThatTheSourceShares) {
  const std::vector<KnownStep> steps{{of_memory("other"), std::log(1.2)}};
  const CarriedOver one = carry_over(steps, of_memory("target"));
  EXPECT_NEAR(one.factor, std::pow(1.2, source / (source + row)), 1e-12);
  EXPECT_NEAR(one.spread * one.spread, source + row - source * source / (source + row), 1e-12);
}

// Two devices: variances of 0.0369 and a covariance of 0.0144, so 0.0144 / 0.0513 of each.
TEST(CarriedOver, OfSeveralDevicesWeighsThemTogether) {
  const std::vector<KnownStep> steps{{of_memory("one"), 0.3}, {of_memory("two"), 0.1}};
  const double part = source / (2 * source + row);
  const CarriedOver both = carry_over(steps, of_memory("target"));
  EXPECT_NEAR(std::log(both.factor), part * 0.4, 1e-12);
  EXPECT_NEAR(both.spread * both.spread, source + row - 2 * part * source, 1e-12);
}

// Batches of one device and precision are one row: as their mean would be.
TEST(CarriedOver, OfSeveralBatchesWeighsAsOne) {
  const std::vector<KnownStep> batches{{of_memory("one"), 0.3}, {of_memory("one"), 0.1}};
  const std::vector<KnownStep> mean{{of_memory("one"), 0.2}};
  const CarriedOver two = carry_over(batches, of_memory("target"));
  const CarriedOver one = carry_over(mean, of_memory("target"));
  EXPECT_NEAR(two.factor, one.factor, 1e-12);
  EXPECT_NEAR(two.spread, one.spread, 1e-12);
}

// A quantity that all of both steps goes with, 0.18 either way: 0.0324 more of covariance and of
// variances. One that only the other step goes with is in its variance alone.
TEST(CarriedOver, QuantitiesCountWhereBothStepsGoWithThem) {
  StepErrors target = of_memory("target"), other = of_memory("other");
  target.of_quantities[0] = other.of_quantities[0] = -0.18;
  const double shared = source + 0.0324;
  const std::vector<KnownStep> alike{{other, 0.2}};
  EXPECT_NEAR(std::log(carry_over(alike, target).factor), 0.2 * shared / (shared + row), 1e-12);
  other.of_quantities[1] = -0.18;
  const std::vector<KnownStep> partly{{other, 0.2}};
  EXPECT_NEAR(std::log(carry_over(partly, target).factor), 0.2 * shared / (shared + row + 0.0324),
              1e-12);
}

// Launches of 0.5 either way: of one machine in two precisions 0.25 more of both; of another
// machine of variances alone.
TEST(CarriedOver, HostsAreOfTheirDevice) {
  StepErrors target = of_memory("target", Precision::amp);
  StepErrors own = of_memory("target"), other = of_memory("other");
  target.of_host = own.of_host = other.of_host = 0.5;
  const std::vector<KnownStep> here{{own, 0.2}}, there{{other, 0.2}};
  const double all = source + row + 0.25;
  EXPECT_NEAR(std::log(carry_over(here, target).factor), 0.2 * (source + 0.25) / all, 1e-12);
  EXPECT_NEAR(std::log(carry_over(there, target).factor), 0.2 * source / all, 1e-12);
}

// Apart into what hosts are off by and what launches are, and together again.
TEST(CarriedOver, AStepsErrorsAreThoseOfItsSpread) {
  Device device;
  device.name = "device";
  device.fp32.peak = FlopsPerSecond(1e12);
  device.memory_bandwidth = BytesPerSecond(1e12);
  const ModelledCost cost{{Flops(1e9), 1, 0}, {Flops(2e9), 2, 0}, Work::convolution};
  const Network network{"n", {{"c", {}, {}, cost}, {"d", {}, {}, cost}}};
  const OneGpu run{network, 1, 1, Precision::fp32, device};
  EXPECT_NEAR(carry_over({}, step_errors(run)).spread, one_gpu_spread(run), 1e-12);
}

}  // namespace
}  // namespace paceline::workload
