#include "sim/flow/rate_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/sim/isolated.h"

namespace paceline::sim {

namespace {

BytesPerSecond gigabytes_per_s(double amount) { return BytesPerSecond(1e9 * amount); }

// Each way's number.
std::vector<std::uint32_t> all_of(const std::vector<std::uint64_t>& flows) {
  std::vector<std::uint32_t> ways(flows.size());
  std::iota(ways.begin(), ways.end(), 0U);
  return ways;
}

// The rates of up to three ways of an island, in GB/s.
using Rates = std::array<double, 3>;

const std::vector<std::uint32_t> only_way{0};

Rates rates(const Island& island, const std::vector<std::uint64_t>& flows) {
  return isolated([&] {
    RateSolver solver;
    const IslandId number = solver.add(island);
    Rates found{};
    std::vector<double> solved(flows.size());
    solver.find(number, flows, all_of(flows), solved);
    std::transform(solved.begin(), solved.end(), found.begin(),
                   [](double rate) { return rate / 1e9; });
    return found;
  });
}

// A link of 10 GB/s with two flows, of which one goes on through 2 GB/s: that one gets 2, the other
// the 8 that are left.
TEST(RateSolver, GivesAFlowWhatANarrowerLinkKeepsAnotherFromTaking) {
  const Island island{{gigabytes_per_s(10), gigabytes_per_s(2)}, {{0}, {0, 1}}};
  const Rates got = rates(island, {1, 1});
  EXPECT_NEAR(got[0], 8, 1e-9);
  EXPECT_NEAR(got[1], 2, 1e-9);
}

// Links of 6 and 10 GB/s, one flow through both and one through each. The narrower link gives 3 to
// both of its flows, and the flow alone with the long one on the wider link gets 10 - 3 = 7.
TEST(RateSolver, SharesMaxMinWhereALongFlowMeetsTwoShortOnes) {
  const Island island{{gigabytes_per_s(6), gigabytes_per_s(10)}, {{0, 1}, {0}, {1}}};
  const Rates got = rates(island, {1, 1, 1});
  EXPECT_NEAR(got[0], 3, 1e-9);
  EXPECT_NEAR(got[1], 3, 1e-9);
  EXPECT_NEAR(got[2], 7, 1e-9);
}

// 6 and 4 flows on 10 GB/s, of which the 4 go on through 2 GB/s: 0.5 each, and the 6 have 8 GB/s. A
// way without flows takes nothing and gets nothing.
TEST(RateSolver, CountsTheFlowsOfAWay) {
  const Island island{{gigabytes_per_s(10), gigabytes_per_s(2)}, {{0}, {0, 1}, {0}}};
  const Rates got = rates(island, {6, 4, 0});
  EXPECT_NEAR(got[0], 8.0 / 6, 1e-9);
  EXPECT_NEAR(got[1], 0.5, 1e-9);
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
    const Island island{{gigabytes_per_s(1)}, {{0}}};
    Island wider = island;
    wider.links.front() = gigabytes_per_s(2);
    RateSolver solver;
    Outcome outcome{{solver.add(island), solver.add(island), solver.add(wider)}, 0};
    std::vector<double> rates(1);
    for (const auto& [which, flows] : {std::pair(0U, 1U), std::pair(0U, 2U), std::pair(1U, 1U),
                                       std::pair(2U, 1U), std::pair(1U, 2U)}) {
      solver.find(outcome.numbers[which], std::vector<std::uint64_t>{flows}, only_way, rates);
    }
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
    const IslandId island = solver.add({{gigabytes_per_s(6)}, {{0}}});
    Rates found{};
    std::vector<double> rates(1);
    std::uint64_t flows = 3;
    for (double& rate : found) {
      solver.find(island, std::vector<std::uint64_t>{flows--}, only_way, rates);
      rate = rates[0] / 1e9;
    }
    return found;
  });
  EXPECT_NEAR(got[0], 2, 1e-9);
  EXPECT_NEAR(got[1], 3, 1e-9);
  EXPECT_NEAR(got[2], 6, 1e-9);
}

// 1, 2, 3... flows on a link, more sets than SimGrid solves; the first one again at the end.
TEST(RateSolver, HasSimGridSolveTheFirstSetsOnly) {
  struct Outcome {
    std::uint64_t solves, wrong;
  };
  const auto got = isolated([] {
    RateSolver solver;
    const IslandId island = solver.add({{gigabytes_per_s(6)}, {{0}}});
    Outcome outcome{0, 0};
    std::vector<double> rates(1);
    for (std::uint64_t set = 0; set <= 2 * RateSolver::simgrid_solves_max; ++set) {
      const std::uint64_t flows = 1 + set % (2 * RateSolver::simgrid_solves_max);
      solver.find(island, std::vector<std::uint64_t>{flows}, only_way, rates);
      if (std::abs(rates[0] * static_cast<double>(flows) - 6e9) > 1) ++outcome.wrong;
    }
    outcome.solves = solver.solves();
    return outcome;
  });
  EXPECT_EQ(got.solves, RateSolver::simgrid_solves_max);
  EXPECT_EQ(got.wrong, 0U);
}

// Islands of up to eight links and twelve ways of up to three links, with up to five flows each.
// Every other time only some ways' flows are others than before: rates found from the ones before
// and from nothing are compared here, those of what was looked at with SimGrid's in find().
TEST(RateSolver, FindsInSimGridWhatFillingFinds) {
  const auto [sets, differ] = isolated([] {
    std::mt19937 random(20);
    const auto below = [&random](std::uint32_t end) {
      return static_cast<std::uint32_t>(random() % end);
    };
    RateSolver solver(10'000);
    std::vector<IslandId> islands;
    std::vector<Island> shapes;
    for (std::size_t i = 0; i < 200; ++i) {
      Island& island = shapes.emplace_back();
      const std::uint32_t links = 1 + below(8);
      for (std::uint32_t l = 0; l < links; ++l) {
        island.links.push_back(gigabytes_per_s(1 + below(24)));
      }
      const std::uint32_t ways = 1 + below(12);
      for (std::uint32_t w = 0; w < ways; ++w) {
        std::set<std::uint32_t> crossed;
        for (std::uint32_t c = 0; c < 3; ++c) crossed.insert(below(links));
        island.ways.emplace_back(crossed.begin(), crossed.end());
      }
      islands.push_back(solver.add(island));
    }
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < islands.size(); ++i) {
      const std::size_t ways = shapes[i].ways.size();
      std::vector<std::uint64_t> flows(ways);
      for (std::uint64_t& count : flows) count = below(6);
      flows.front() = 1;  // a set of none is not solved
      std::vector<double> rates(ways), anew(ways);
      solver.find(islands[i], flows, all_of(flows), rates);
      for (int change = 0; change < 20; ++change) {
        const std::vector<std::uint32_t> changed{below(static_cast<std::uint32_t>(ways)),
                                                 below(static_cast<std::uint32_t>(ways))};
        for (const std::uint32_t way : changed) flows[way] = below(6);
        solver.find(islands[i], flows, changed, rates);
        FairRates(shapes[i]).find(flows, all_of(flows), anew);
        for (std::size_t way = 0; way < ways; ++way) {
          if (std::abs(rates[way] - anew[way]) > 1e-9 * anew[way]) ++others;
        }
      }
    }
    return std::pair(solver.solves(), others);
  });
  EXPECT_GT(sets, 2000U);
  EXPECT_EQ(differ, 0U);
}

}  // namespace
}  // namespace paceline::sim
