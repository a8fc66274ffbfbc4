// The search of `paceline capacity` beside grids that are predicted whole
// (tests/scenarios/capacity/oracle.h): capacity_grid [JOBS [NODES [FIRST]]]. Prints what part of
// its grid each job's search predicts, and all that differs; exits with 1 if anything does, or
// where a tenth of all setups or more were predicted.
#include <fmt/format.h>

#include <cstdlib>

#include "tests/scenarios/capacity/against_oracle.h"

namespace {

double percent(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace paceline;
  const auto number = [&](int at, std::uint64_t unless) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : unless;
  };
  const std::uint64_t jobs = number(1, 200), nodes = number(2, 8), first = number(3, 0);
  test::Foretold foretold;
  std::size_t setups = 0, best = 0, predicted = 0, answered = 0, differences = 0;
  fmt::print("{:>5}{:>8}{:>7}{:>8}{:>8}\n", "job", "setups", "best", "answer", "");
  for (std::uint64_t job = first; job < first + jobs; ++job) {
    const test::DrawnJob drawn = test::JobDrawer(job).draw(nodes);
    const test::AgainstOracle against(drawn, foretold);
    fmt::print("{:>5}{:>8}{:>7}{:>8}{:>7.1f}%{}\n", job, against.setups(),
               against.predicted_for_best(), against.predicted(),
               percent(against.predicted(), against.setups()),
               against.has_answer() ? "" : "  none meets its targets");
    for (const std::string& difference : against.differences()) fmt::print("  {}\n", difference);
    std::fflush(stdout);
    setups += against.setups();
    best += against.predicted_for_best();
    predicted += against.predicted();
    if (against.has_answer()) ++answered;
    differences += against.differences().size();
  }
  fmt::print(
      "{} jobs, {} with an answer; {} setups, {:.2f} % predicted for the best, {:.2f} % for "
      "all of the answers; {} predictions of the oracle; {} differences\n",
      jobs, answered, setups, percent(best, setups), percent(predicted, setups),
      foretold.predictions(), differences);
  return differences == 0 && 10 * predicted < setups ? 0 : 1;
}
