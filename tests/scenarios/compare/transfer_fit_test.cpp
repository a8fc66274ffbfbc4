#include <gtest/gtest.h>

#include <vector>

#include "scenarios/compare/comparison.h"
#include "tests/scenarios/compare/calls.h"

namespace paceline::compare {
namespace {

using test::call;

// 1 ms and 1 ns a byte.
CallTimes on_the_line(std::uint64_t size) {
  return call(Bytes(size), Seconds(1e-3 + 1e-9 * static_cast<double>(size)));
}

TEST(TransferFit, IsTheLineThatCallsLieOn) {
  const std::vector<CallTimes> calls{on_the_line(0), on_the_line(1'000'000), on_the_line(3'000'000),
                                     on_the_line(3'000'000)};
  const auto fit = fit_transfers(calls);
  EXPECT_TRUE(fit.has_sizes);
  EXPECT_NEAR(fit.latency.value(), 1e-3, 1e-12);
  EXPECT_NEAR(fit.seconds_per_byte, 1e-9, 1e-18);
}

// One call of ten that took 50 ms longer is not the network.
TEST(TransferFit, IsNotTiltedByACallThatWasInterrupted) {
  std::vector<CallTimes> calls;
  for (std::uint64_t i = 1; i <= 10; ++i) calls.push_back(on_the_line(i * 1'000'000));
  calls[9].transfer += Seconds(0.05);
  const auto fit = fit_transfers(calls);
  EXPECT_NEAR(fit.latency.value(), 1e-3, 1e-9);
  EXPECT_NEAR(fit.seconds_per_byte, 1e-9, 1e-15);
}

TEST(TransferFit, HasNoHeightWhereSizesAreAlike) {
  const auto fit =
      fit_transfers(std::vector<CallTimes>{on_the_line(1'000'000), on_the_line(1'900'000)});
  EXPECT_FALSE(fit.has_sizes);
  EXPECT_EQ(fit.latency, Seconds(0));
  // 2 ms and 2.9 ms for 2.9 MB.
  EXPECT_NEAR(fit.seconds_per_byte, 4.9e-3 / 2.9e6, 1e-18);
}

// The larger call was the faster one.
TEST(TransferFit, IsNeverBelowZero) {
  const auto falling = fit_transfers(
      std::vector<CallTimes>{call(Bytes(1000), Seconds(2e-3)), call(Bytes(9000), Seconds(1e-3))});
  EXPECT_EQ(falling.seconds_per_byte, 0);
  EXPECT_GE(falling.latency, Seconds(1e-3));
  const auto steep = fit_transfers(
      std::vector<CallTimes>{call(Bytes(1000), Seconds(1e-6)), call(Bytes(2000), Seconds(9e-6))});
  EXPECT_EQ(steep.latency, Seconds(0));
  EXPECT_NEAR(steep.seconds_per_byte, 10e-6 / 3000, 1e-15);
}

TEST(TransferFit, TakesThousandsOfSizes) {
  std::vector<CallTimes> calls;
  for (std::uint64_t i = 0; i < 5000; ++i) calls.push_back(on_the_line(1000 + 100 * i));
  const auto fit = fit_transfers(calls);
  EXPECT_NEAR(fit.latency.value(), 1e-3, 1e-9);
  EXPECT_NEAR(fit.seconds_per_byte, 1e-9, 1e-15);
}

}  // namespace
}  // namespace paceline::compare
