#include "scenarios/run/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/run/resolve.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace {

ResolvedPoint small_point(std::uint64_t id) {
  const test::Folder folder;
  const auto file = ScenarioFile::read(folder.write("scenario.yaml", test::small_scenario),
                                       {{"simulation.fidelity", "flow"}});
  return resolve(file.scenario(0), id, nullptr).point;
}

// Each point is made in its turn, and as many as there are jobs are under way at the most.
TEST(Simulations, AreMadeInOrderAndNoMoreAtATimeThanJobs) {
  for (const std::size_t jobs : {1U, 3U}) {
    std::vector<std::size_t> made, taken;
    std::size_t most = 0;
    SimulationQueue queue;
    queue.count = 40;
    queue.make = [&](std::size_t i) {
      made.push_back(i);
      most = std::max(most, made.size() - taken.size());
      return Simulation{small_point(i), {}};
    };
    queue.take = [&](std::size_t i, const traces::Reply& reply) {
      EXPECT_EQ(std::get<Result>(reply).id, i);
      taken.push_back(i);
    };
    simulate(queue, jobs);
    std::vector<std::size_t> all(queue.count);
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_EQ(made, all);
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(taken, all);
    EXPECT_LE(most, jobs);
  }
}

TEST(Simulations, EndWithWhatIsThrown) {
  std::size_t made = 0;
  SimulationQueue queue;
  queue.count = 40;
  queue.make = [&](std::size_t i) {
    if (++made == 3) throw std::out_of_range("the third");
    return Simulation{small_point(i), {}};
  };
  queue.take = [](std::size_t, const traces::Reply&) {};
  EXPECT_THROW(simulate(queue, 2), std::out_of_range);
  EXPECT_EQ(made, 3U);
}

TEST(Simulations, MayBeNone) {
  simulate({0, [](std::size_t) { return Simulation{}; }, [](std::size_t, const traces::Reply&) {}},
           4);
}

}  // namespace
}  // namespace paceline
