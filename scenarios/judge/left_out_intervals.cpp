#include "scenarios/judge/left_out_intervals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "models/stats/errors.h"

namespace paceline {
namespace {

constexpr double outside = 0.1;             // of rows, of a 90 % interval
constexpr double outside_of_chosen = 0.05;  // by which widths are chosen

struct LogInterval {
  double low, high;
};

double measured_of(const ValidationRow& row) {
  return std::log(row.measured_step / row.predicted_step);
}

LogInterval interval_of(const ValidationRow& row, const IntervalWidths& widths) {
  const StepEnds ends = ends_of(row.parts, widths);
  return {ends.low(), ends.high()};
}

LogInterval interval_of(const ValidationRow& /*row*/, const ConstantInterval& constant) {
  return {constant.low, constant.high};
}

// The score is a sum of what its low end and its high end cost.
double low_cost(double low, double measured, double part_outside) {
  return -low + 2 / part_outside * std::max(low - measured, 0.0);
}
double high_cost(double high, double measured, double part_outside) {
  return high + 2 / part_outside * std::max(measured - high, 0.0);
}

template <class Widths>
IntervalFigures judge(const std::vector<ValidationRow>& rows, const Widths& widths) {
  IntervalFigures figures;
  std::vector<double> all, easy;
  double covered = 0;
  for (const ValidationRow& row : rows) {
    const auto [low, high] = interval_of(row, widths);
    const double measured = measured_of(row);
    covered += measured >= low && measured <= high ? 1 : 0;
    figures.score += low_cost(low, measured, outside) + high_cost(high, measured, outside);
    all.push_back(100 * std::expm1(high - low));
    if (is_easy(row)) easy.push_back(all.back());
  }
  const auto count = static_cast<double>(rows.size());
  figures.coverage_percent = 100 * covered / count;
  figures.score /= count;
  figures.width_percent = stats::median(all);
  if (!easy.empty()) figures.easy_width_percent = stats::median(easy);
  return figures;
}

// The mean over sources of the mean of a cost over their rows.
template <class Cost>
double mean_cost(const RowsBySource& sources, const Cost& cost) {
  double sum = 0;
  for (const auto& [source, rows] : sources) {
    double of_source = 0;
    for (const ValidationRow& row : rows) of_source += cost(row);
    sum += of_source / static_cast<double>(rows.size());
  }
  return sum / static_cast<double>(sources.size());
}

constexpr std::array faster_grid{0.0, 0.005, 0.01, 0.02, 0.03, 0.05};
constexpr std::array faster_by_share_grid{0.1, 0.3, 0.5, 0.7, 0.9};
constexpr std::array slower_grid{0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3};
constexpr std::array slower_by_share_grid{0.0, 0.1, 0.3, 0.5};
// Above 0: a network that was measured is to have narrower intervals than one that is only
// described.
constexpr std::array calls_grid{0.1, 0.2, 0.4, 0.6};
constexpr std::array constant_grid{0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2,
                                   0.25, 0.3,  0.4,  0.5,  0.6, 0.8};

// Sets `alone` and `by_share` of the widths to the pair of a grid that costs the least, and returns
// that.
template <class Cost>
double choose_pair(const RowsBySource& sources, IntervalWidths& widths,
                   double IntervalWidths::*alone, std::span<const double> alone_grid,
                   double IntervalWidths::*by_share, std::span<const double> by_share_grid,
                   const Cost& cost) {
  double least = std::numeric_limits<double>::infinity();
  IntervalWidths best = widths;
  for (const double one : alone_grid) {
    for (const double other : by_share_grid) {
      widths.*alone = one;
      widths.*by_share = other;
      const double mean =
          mean_cost(sources, [&](const ValidationRow& row) { return cost(row, widths); });
      if (mean >= least) continue;
      least = mean;
      best = widths;
    }
  }
  widths = best;
  return least;
}

}  // namespace

bool is_easy(const ValidationRow& row) {
  constexpr double percent = 10;
  return std::abs(row.perfect_scaling_percent - row.no_overlap_percent) < percent;
}

IntervalFigures judge_intervals(const std::vector<ValidationRow>& rows,
                                const IntervalWidths& widths) {
  return judge(rows, widths);
}

IntervalFigures judge_intervals(const std::vector<ValidationRow>& rows,
                                const ConstantInterval& constant) {
  return judge(rows, constant);
}

IntervalWidths choose_widths(const RowsBySource& sources) {
  const auto low = [](const ValidationRow& row, const IntervalWidths& widths) {
    return low_cost(interval_of(row, widths).low, measured_of(row), outside_of_chosen);
  };
  const auto high = [](const ValidationRow& row, const IntervalWidths& widths) {
    return high_cost(interval_of(row, widths).high, measured_of(row), outside_of_chosen);
  };
  IntervalWidths best;
  double least = std::numeric_limits<double>::infinity();
  // Both ends depend on what of the calls counts, and else on numbers of their own.
  for (const double calls : calls_grid) {
    IntervalWidths widths{.calls = calls};
    const double cost = choose_pair(sources, widths, &IntervalWidths::faster, faster_grid,
                                    &IntervalWidths::faster_by_share, faster_by_share_grid, low) +
                        choose_pair(sources, widths, &IntervalWidths::slower, slower_grid,
                                    &IntervalWidths::slower_by_share, slower_by_share_grid, high);
    if (cost >= least) continue;
    least = cost;
    best = widths;
  }
  return best;
}

ConstantInterval choose_constant(const RowsBySource& sources) {
  const auto least = [&](const auto& cost) {
    return *std::ranges::min_element(constant_grid, {}, [&](double end) {
      return mean_cost(sources, [&](const ValidationRow& row) { return cost(row, end); });
    });
  };
  return {-least([](const ValidationRow& row, double end) {
            return low_cost(-end, measured_of(row), outside);
          }),
          least([](const ValidationRow& row, double end) {
            return high_cost(end, measured_of(row), outside);
          })};
}

}  // namespace paceline
