#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "sim/flow/flow_step.h"
#include "sim/folded/folded_step.h"
#include "sim/folded/predicted_point.h"
#include "tests/sim/isolated.h"

namespace paceline::sim {

// What flow, folded with either kind of chunks, and predict_folded() find.
inline std::array<double, 4> steps_of(const ResolvedPoint& point) {
  const auto step = [](const Result& result) { return result.totals.step.value(); };
  return {isolated([&] { return step(simulate_flow(point)); }),
          isolated([&] { return step(simulate_folded(point, Chunks::exact)); }),
          isolated([&] { return step(simulate_folded(point, Chunks::even)); }),
          step(sim::predict_folded(point))};
}

inline void expect_step(const ResolvedPoint& point, double seconds) {
  const auto steps = steps_of(point);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_NEAR(steps[i], seconds, 1e-9 * seconds) << "executor " << i;
  }
}

}  // namespace paceline::sim
