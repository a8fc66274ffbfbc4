// Times the closed points of a scenario: closed_points SCENARIO THREADS.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/closed_forms.h"
#include "scenarios/predict/simulator.h"

int main(int argc, char** argv) {
  using namespace paceline;
  const auto file = ScenarioFile::read(argv[1], {});
  const std::size_t threads = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  ClosedForms forms(file, false);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> steps(file.point_count());
  for_each(steps.size(), threads, [&](std::size_t point, Simulator&) {
    steps[point] = forms.outcome(point).predicted->totals.step.value();
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  double sum = 0;
  for (const double step : steps) sum += step;
  fmt::print("{} points, {} simulated, {:.3f} s, sum of steps {:.9g} s\n", steps.size(),
             forms.simulated(), took.count(), sum);
}
