#include "sim/rate_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tests/sim/isolated.h"

namespace paceline::sim {
namespace {

BytesPerSecond gigabytes_per_s(double amount) { return BytesPerSecond(1e9 * amount); }

// The rates of up to three paths of an island, in GB/s.
using Rates = std::array<double, 3>;

Rates rates(const Island& island, const std::vector<std::uint32_t>& times) {
  return isolated([&] {
    RateSolver solver;
    const IslandId number = solver.add(island);
    Rates found{};
    const auto solved = solver.rates(number, times);
    std::transform(solved.begin(), solved.end(), found.begin(),
                   [](double rate) { return rate / 1e9; });
    return found;
  });
}

// A link of 10 GB/s with two flows, of which one goes on through 2 GB/s: that one gets 2, the other
// the 8 that are left.
TEST(RateSolver, GivesAFlowWhatANarrowerLinkKeepsAnotherFromTaking) {
  const Island island{{gigabytes_per_s(10), gigabytes_per_s(2)}, {{{0}, 1}, {{0, 1}, 1}}};
  const Rates got = rates(island, {1, 1});
  EXPECT_NEAR(got[0], 8, 1e-9);
  EXPECT_NEAR(got[1], 2, 1e-9);
}

// Links of 6 and 10 GB/s, one flow through both and one through each. The narrower link gives 3 to
// both of its flows, and the flow alone with the long one on the wider link gets 10 - 3 = 7.
TEST(RateSolver, SharesMaxMinWhereALongFlowMeetsTwoShortOnes) {
  const Island island{{gigabytes_per_s(6), gigabytes_per_s(10)}, {{{0, 1}, 1}, {{0}, 1}, {{1}, 1}}};
  const Rates got = rates(island, {1, 1, 1});
  EXPECT_NEAR(got[0], 3, 1e-9);
  EXPECT_NEAR(got[1], 3, 1e-9);
  EXPECT_NEAR(got[2], 7, 1e-9);
}

// A path of 3 flows, in flight twice, and one of 4: 10 flows on 10 GB/s. A path that is not under
// way takes nothing and gets nothing.
TEST(RateSolver, CountsTheFlowsThatAPathStandsForAsOftenAsItIsUnderWay) {
  const Island island{{gigabytes_per_s(10)}, {{{0}, 3}, {{0}, 4}, {{0}, 50}}};
  const Rates got = rates(island, {2, 1, 0});
  EXPECT_NEAR(got[0], 1, 1e-9);
  EXPECT_NEAR(got[1], 1, 1e-9);
  EXPECT_EQ(got[2], 0);
}

// The second island is the first one again; the third has other links. Of five questions the first
// island's two sets and the third island's one are new.
TEST(RateSolver, SolvesEachSetOfFlowsOfEachShapeOnce) {
  struct Outcome {
    std::array<IslandId, 3> numbers;
    std::uint64_t solves;
  };
  const auto got = isolated([] {
    const Island island{{gigabytes_per_s(1)}, {{{0}, 1}}};
    Island wider = island;
    wider.links.front() = gigabytes_per_s(2);
    RateSolver solver;
    Outcome outcome{{solver.add(island), solver.add(island), solver.add(wider)}, 0};
    (void)solver.rates(outcome.numbers[0], {1});
    (void)solver.rates(outcome.numbers[0], {2});
    (void)solver.rates(outcome.numbers[1], {1});
    (void)solver.rates(outcome.numbers[2], {1});
    (void)solver.rates(outcome.numbers[1], {2});
    outcome.solves = solver.solves();
    return outcome;
  });
  EXPECT_EQ(got.numbers[0], got.numbers[1]);
  EXPECT_NE(got.numbers[0], got.numbers[2]);
  EXPECT_EQ(got.solves, 3U);
}

// Solves go one after another in one engine: what was in flight in one is gone in the next.
TEST(RateSolver, KeepsNothingOfOneSolveInTheNext) {
  const auto got = isolated([] {
    RateSolver solver;
    const IslandId island = solver.add({{gigabytes_per_s(6)}, {{{0}, 1}}});
    Rates found{};
    std::uint32_t flows = 3;
    for (double& rate : found) rate = solver.rates(island, {flows--})[0] / 1e9;
    return found;
  });
  EXPECT_NEAR(got[0], 2, 1e-9);
  EXPECT_NEAR(got[1], 3, 1e-9);
  EXPECT_NEAR(got[2], 6, 1e-9);
}

}  // namespace
}  // namespace paceline::sim
