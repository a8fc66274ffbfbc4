#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "models/folding/predicted_point.h"
#include "sim/flow_step.h"
#include "sim/rate_solver.h"
#include "tests/sim/isolated.h"

namespace paceline::sim {

using namespace folding;

// What flow, folded with either kind of chunks, and the closed form predict.
inline std::array<double, 4> steps_of(const ResolvedPoint& point) {
  const auto step = [](const Result& result) { return result.totals.step.value(); };
  return {isolated([&] { return step(simulate_flow(point)); }),
          isolated([&] { return step(simulate_folded(point, Chunks::exact)); }),
          isolated([&] { return step(simulate_folded(point, Chunks::even)); }),
          step(folding::predict_here(point))};
}

inline void expect_step(const ResolvedPoint& point, double seconds) {
  const auto steps = steps_of(point);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_NEAR(steps[i], seconds, 1e-9 * seconds) << "executor " << i;
  }
}

}  // namespace paceline::sim
