// Times closed points by forms: closed_points SCENARIO [THREADS [DRAWS]], with DRAWS above 0 only
// their steps in so many draws of latencies, bandwidths, compute and calls.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "scenarios/predict/closed_forms.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/simulator.h"
#include "tests/sim/folded/drawn.h"

namespace {

constexpr double links_drawn = 1.5;

double drawn(std::uint64_t number, double most) {
  return paceline::sim::drawn(number, 1 / most, most);
}

std::vector<paceline::StepDraw> draws_of(std::size_t count) {
  std::vector<paceline::StepDraw> draws(count);
  std::uint64_t number = 0;
  for (paceline::StepDraw& draw : draws) {
    draw.links.values[0] = drawn(++number, links_drawn);
    draw.links.values[2] = drawn(++number, links_drawn);
    draw.compute = drawn(++number, 1.05);
    draw.calls = drawn(++number, 1.1);
  }
  return draws;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace paceline;
  if (argc < 2) return 2;
  const auto number = [&](int at) { return std::strtoul(argv[at], nullptr, 10); };
  const std::size_t threads = argc > 2 ? number(2) : 1;
  const std::vector<StepDraw> draws = draws_of(argc > 3 ? number(3) : 0);
  ClosedForms forms(ScenarioFile::read(argv[1], {}), false, unconditioned_belief(), 1,
                    draws.empty() ? 1 : links_drawn);
  std::vector<double> steps(ScenarioFile::read(argv[1], {}).point_count());
  const auto begin = std::chrono::steady_clock::now();
  for_each(steps.size(), threads, [&](std::size_t point, Simulator&) {
    if (draws.empty()) {
      const auto made = forms.outcome(point);
      if (made) steps[point] = made->predicted->totals.step.value();
    } else if (const auto made = forms.steps(point, draws)) {
      for (const Seconds step : *made) {
        steps[point] += step.value() / static_cast<double>(draws.size());
      }
    }
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  double sum = 0;
  std::size_t formed = 0;
  for (const double step : steps) {
    sum += step;
    formed += step > 0 ? 1 : 0;
  }
  fmt::print("{} points, {} by forms, {} draws, {:.3f} s, sum of steps {:.17g} s\n", steps.size(),
             formed, draws.size(), took.count(), sum);
}
