// Flow and folded ask one scheduler what may start: on programs in which no bandwidth is
// shared they have the same times to rounding.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "sim/flow/flow_step.h"
#include "sim/folded/folded_step.h"
#include "sim/folded/predicted_point.h"
#include "tests/models/training/random_programs.h"
#include "tests/sim/isolated.h"
#include "tests/sim/points.h"

namespace paceline::sim {

namespace {

constexpr std::uint32_t ranks_max = 4, operations_max = 16;

// Of each rank and operation, as plain data to cross from a child process.
struct Times {
  std::array<std::array<std::array<double, 2>, operations_max>, ranks_max> of_rank{};
};

Times times_of(const Result& result) {
  Times times;
  for (const RankClass& members : result.trace.classes) {
    for (const Rank rank : members.ranks) {
      for (std::size_t id = 0; id < members.intervals.size(); ++id) {
        times.of_rank[index(rank)][id] = {members.intervals[id].start.value(),
                                          members.intervals[id].end.value()};
      }
    }
  }
  return times;
}

double largest_difference(const Times& a, const Times& b) {
  double most = 0;
  for (std::uint32_t r = 0; r < ranks_max; ++r) {
    for (std::uint32_t id = 0; id < operations_max; ++id) {
      for (const std::size_t side : {0U, 1U}) {
        most = std::max(most, std::abs(a.of_rank[r][id][side] - b.of_rank[r][id][side]));
      }
    }
  }
  return most;
}

ResolvedPoint random_point(std::mt19937_64& random) {
  const auto ranks = std::uniform_int_distribution<std::uint32_t>(1, ranks_max)(random);
  ResolvedPoint point;
  point.cluster = flat(ranks, 1e9, 0);
  point.program = training::random_program(random, RankCount(ranks));
  return point;
}

// The third call takes the slot that the second leaves.
TEST(OneSchedule, StartsACallInWhicheverSlotIsFreeFirst) {
  ResolvedPoint point;
  point.cluster = flat(2, 1e9, 0);
  point.program = training::three_calls_in_two_slots();
  for (const Times& times :
       {isolated([&] { return times_of(simulate_flow(point)); }),
        isolated([&] { return times_of(simulate_folded(point, Chunks::exact)); }),
        times_of(sim::predict_folded(point))}) {
    EXPECT_NEAR(times.of_rank[0][2][0], 0.01, 1e-12);
    EXPECT_NEAR(times.of_rank[1][2][1], 0.02, 1e-12);
  }
}

TEST(OneSchedule, TwoThousandRandomProgramsHaveTheSameTimesInFlowFoldedAndClosed) {
  std::mt19937_64 random(16);
  int differ = 0;
  for (int i = 0; i < 2000; ++i) {
    const ResolvedPoint point = random_point(random);
    const Result predicted = sim::predict_folded(point);
    const double step = predicted.totals.step.value();
    const Times expected = times_of(predicted);
    const Times flow = isolated([&] { return times_of(simulate_flow(point)); });
    const Times folded = isolated([&] { return times_of(simulate_folded(point, Chunks::exact)); });
    const double difference =
        std::max(largest_difference(flow, expected), largest_difference(folded, expected));
    if (difference > 1e-6 * step) {
      ++differ;
      ADD_FAILURE() << "program " << i << ": by " << difference << " s of " << step << " s";
    }
  }
  EXPECT_EQ(differ, 0);
}

}  // namespace
}  // namespace paceline::sim
