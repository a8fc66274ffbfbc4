#include "scenarios/predict/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/prepare/resolve.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace simulate_test {

ResolvedPoint small_point(std::uint64_t id) {
  const test::Folder folder;
  const auto file = ScenarioFile::read(folder.write("scenario.yaml", test::small_scenario),
                                       {{"simulation.fidelity", "flow"}});
  return resolve(file.scenario(0), id, nullptr).point;
}

// As many as there are jobs are under way at the most, each begun once.
TEST(ForEach, DoesEachOnceAndNoMoreAtATimeThanJobs) {
  for (const std::size_t jobs : {1U, 3U}) {
    constexpr std::size_t count = 40;
    std::mutex mutex;
    std::vector<std::size_t> begun;
    std::size_t under_way = 0, most = 0;
    for_each(count, jobs, [&](std::size_t i) {
      {
        const std::lock_guard lock(mutex);
        begun.push_back(i);
        most = std::max(most, ++under_way);
      }
      const traces::Reply reply = simulate(small_point(i));
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(std::holds_alternative<Result>(reply));
      --under_way;
    });
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    if (jobs == 1) {
      EXPECT_EQ(begun, all) << "in order";
    }
    std::sort(begun.begin(), begun.end());
    EXPECT_EQ(begun, all);
    EXPECT_LE(most, jobs);
  }
}

TEST(ForEach, EndsWithWhatIsThrown) {
  std::atomic<int> begun = 0;
  const auto work = [&](std::size_t i) {
    ++begun;
    if (i == 2) throw std::out_of_range("the third");
  };
  EXPECT_THROW(for_each(40, 1, work), std::out_of_range);
  EXPECT_EQ(begun, 3);
}

TEST(ForEach, OfNothingDoesNothing) {
  for_each(0, 2, [](std::size_t) { FAIL(); });
}

}  // namespace simulate_test
}  // namespace paceline
