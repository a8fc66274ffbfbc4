#include "models/training/engine.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace paceline::training {
namespace {

constexpr double milli = 1e-3;

EngineTensor engine_tensor_of(std::uint64_t bytes, std::uint64_t element_size = 4) {
  return {ElementCount(bytes / element_size), ElementSize(element_size), Seconds(1 * milli),
          Seconds(2 * milli), Seconds(4 * milli)};
}

std::vector<EngineTensor> engine_tensors_of(const std::vector<std::uint64_t>& bytes) {
  std::vector<EngineTensor> tensors;
  for (const std::uint64_t one : bytes) tensors.push_back(engine_tensor_of(one));
  return tensors;
}

std::vector<Fused> all_fused(const std::vector<EngineTensor>& tensors, std::uint64_t threshold) {
  std::vector<std::size_t> ready(tensors.size());
  std::iota(ready.begin(), ready.end(), std::size_t{0});
  return fused(tensors, ready, Bytes(threshold));
}

// 40 + 40 fit, 30 more do not, and 80 + 30 exceed 100, so it does not look further; 30 + 60 fit.
TEST(Fused, TakesWhatFitsInOrder) {
  EXPECT_EQ(all_fused(engine_tensors_of({40, 40, 32, 60, 8}), 100),
            (std::vector<Fused>{{0, 1}, {2, 3, 4}}));
}

// 40, past 56 of which 96 do not exceed 100, and 60 exactly; what was passed over comes next.
TEST(Fused, LooksPastWhatDoesNotFitWhileBothAreBelowTheThreshold) {
  auto tensors = engine_tensors_of({40, 56, 60, 20});
  tensors[1] = engine_tensor_of(56, 2);
  EXPECT_EQ(all_fused(tensors, 100), (std::vector<Fused>{{0, 2}, {1}, {3}}));
  EXPECT_EQ(all_fused(tensors, 95), (std::vector<Fused>{{0}, {1}, {2, 3}}));
}

TEST(Fused, LeavesATensorAboveTheThresholdAlone) {
  EXPECT_EQ(all_fused(engine_tensors_of({400, 8, 8}), 100), (std::vector<Fused>{{0}, {1, 2}}));
}

TEST(Fused, FusesNothingAtAThresholdOfZero) {
  EXPECT_EQ(all_fused(engine_tensors_of({8, 8, 8}), 0), (std::vector<Fused>{{0}, {1}, {2}}));
  EXPECT_EQ(fused(engine_tensors_of({8, 8, 8}), {}, Bytes(0)), std::vector<Fused>{});
}

TEST(Fused, CopiesSeveralAndDividesOneInPlace) {
  const auto tensors = engine_tensors_of({8, 8, 8});
  EXPECT_EQ(copy_in_time(tensors, {0}), Seconds(0));
  EXPECT_EQ(copy_out_time(tensors, {0}), Seconds(4 * milli));
  EXPECT_DOUBLE_EQ(copy_in_time(tensors, {0, 1, 2}).value(), 3 * milli);
  EXPECT_DOUBLE_EQ(copy_out_time(tensors, {0, 1, 2}).value(), 6 * milli);
}

EngineRule rule_of(double cycle_ms, double negotiation_ms = 0, bool waits = false) {
  return {Seconds(cycle_ms * milli), Bytes(100), Seconds(negotiation_ms * milli), waits};
}

EngineForecast forecast_of(const std::vector<double>& ready_ms, double call_ms = 0) {
  EngineForecast forecast;
  for (const double ready : ready_ms) forecast.ready.push_back(Seconds(ready * milli));
  forecast.call_time = [call_ms](const Fused&) { return Seconds(call_ms * milli); };
  return forecast;
}

void expect_wakes(const std::vector<Wake>& wakes, const std::vector<double>& at_ms,
                  const std::vector<std::vector<Fused>>& calls) {
  ASSERT_EQ(wakes.size(), at_ms.size());
  for (std::size_t i = 0; i < wakes.size(); ++i) {
    EXPECT_NEAR(wakes[i].at.value(), at_ms[i] * milli, 1e-12) << "wake " << i;
    EXPECT_EQ(wakes[i].calls, calls[i]) << "wake " << i;
  }
}

// Wakes at 1, 6, 11, 16: 0 and 1 are there at 11, 2 at 16.
TEST(WakesOf, FindWhatIsReadyOnceACycle) {
  expect_wakes(wakes_of(rule_of(5), engine_tensors_of({40, 40, 40}), forecast_of({6.5, 10, 12}),
                        Seconds(milli)),
               {11, 16}, {{{0, 1}}, {{2}}});
}

// An idle exchange that is longer than the cycle holds the next wake up: 0, 7, 14.
TEST(WakesOf, AreAsFarApartAsAnExchangeTakes) {
  expect_wakes(
      wakes_of(rule_of(5, 7), engine_tensors_of({40, 40}), forecast_of({6, 8}), Seconds(0)),
      {7, 14}, {{{0}}, {{1}}});
}

// From the wake at 5 on an exchange of 1 and a call of 12 last until 18, when both others are
// there; or the call is only launched, and the next wake is at 10.
TEST(WakesOf, WaitForCallsWhereTheLibraryDoes) {
  const auto tensors = engine_tensors_of({40, 40, 40});
  const auto forecast = forecast_of({5, 9, 14}, 12);
  expect_wakes(wakes_of(rule_of(5, 1, true), tensors, forecast, Seconds(0)), {5, 18},
               {{{0}}, {{1, 2}}});
  expect_wakes(wakes_of(rule_of(5, 1), tensors, forecast, Seconds(0)), {5, 10, 15},
               {{{0}}, {{1}}, {{2}}});
}

// From the wake at 5 on an exchange of 1 and two launches of 3 ms: 12, of all that is left.
TEST(WakesOf, WaitForLaunches) {
  EngineRule rule = rule_of(5, 1);
  rule.launch = Seconds(3 * milli);
  rule.fusion_threshold = Bytes(0);
  expect_wakes(wakes_of(rule, engine_tensors_of({40, 40, 40}), forecast_of({5, 5, 11}), Seconds(0)),
               {5, 12}, {{{0}, {1}}, {{2}}});
}

TEST(WakesOf, ComeAtOnceWithoutACycle) {
  expect_wakes(wakes_of(rule_of(0), engine_tensors_of({40, 40}), forecast_of({3, 7}), Seconds(0)),
               {3, 7}, {{{0}}, {{1}}});
}

TEST(FirstWake, LetsWhatComesLastWaitHalfACycle) {
  EXPECT_NEAR(mean_first_wake(rule_of(5), Seconds(12 * milli)).value(), 4.5 * milli, 1e-12);
  EXPECT_EQ(mean_first_wake(rule_of(0), Seconds(12 * milli)), Seconds(0));
}

TEST(FirstWake, FillsACycleEvenlyOverSteps) {
  double sum = 0;
  constexpr int steps = 100;
  for (std::uint64_t i = 0; i < steps; ++i) {
    const Seconds first = first_wake_of(rule_of(5), i);
    EXPECT_GE(first, Seconds(0));
    EXPECT_LT(first, Seconds(5 * milli));
    sum += first.value();
  }
  EXPECT_NEAR(sum / steps, 2.5 * milli, 0.05 * milli);
}

}  // namespace
}  // namespace paceline::training
