// Times closed points by forms: closed_points SCENARIO [THREADS].
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "scenarios/predict/closed_forms.h"
#include "scenarios/predict/simulator.h"

int main(int argc, char** argv) {
  using namespace paceline;
  if (argc < 2) return 2;
  const std::size_t threads = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  ClosedForms forms(ScenarioFile::read(argv[1], {}), false);
  std::vector<double> steps(ScenarioFile::read(argv[1], {}).point_count());
  const auto begin = std::chrono::steady_clock::now();
  for_each(steps.size(), threads, [&](std::size_t point, Simulator&) {
    if (const auto made = forms.outcome(point)) steps[point] = made->predicted->totals.step.value();
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  double sum = 0;
  std::size_t formed = 0;
  for (const double step : steps) {
    sum += step;
    formed += step > 0 ? 1 : 0;
  }
  fmt::print("{} points, {} by forms, {:.3f} s, sum of steps {:.17g} s\n", steps.size(), formed,
             took.count(), sum);
}
