#include "models/uncertain/contradiction.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/contract.h"
#include "models/uncertain/covariance.h"

namespace paceline::uncertain {
namespace {

using Steps = std::vector<MeasuredStep>;

const double strongly = std::log(20.0);

// Logarithms of values lie so far apart: less than what rows by themselves scatter by, twice.
const double grid_step = std::log(2.0) / 32;

KnownRow known(const Priors& priors, const MeasuredStep& row) {
  // Waits of an engine are somewhere between their ends, which are of 90 %.
  const double waits = row.measured > 0 ? row.response.waits_high : row.response.waits_low;
  return {row.response, row.measured, std::hypot(priors.row, waits / student_90(freedom))};
}

// Time grows with the square of rows and more: of more than these, as many are taken evenly.
constexpr std::size_t rows_weighed = 24;

double log_density(const Priors& priors, const Steps& rows) {
  std::vector<KnownRow> all;
  const std::size_t count = std::min(rows.size(), rows_weighed);
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(known(priors, rows[i * rows.size() / count]));
  }
  return uncertain::log_density(priors, all);
}

Curve& curve_of(MeasuredStep& row, Unknown quantity) {
  return row.response.curves[static_cast<std::size_t>(quantity)];
}

// The row as of a description in which a quantity is other by that much.
MeasuredStep with(MeasuredStep row, Unknown quantity, double by) {
  row.measured -= row.response.at(quantity, by);
  curve_of(row, quantity) = curve_of(row, quantity).from(by);
  return row;
}

MeasuredStep with_compute(MeasuredStep row, double by) {
  row = with(std::move(row), Unknown::compute, by);
  curve_of(row, Unknown::wrapper) = curve_of(row, Unknown::wrapper).from(by);
  return row;
}

// With a part that is serial: what quantities move is less of the whole.
template <class Whole>
MeasuredStep with_serial(MeasuredStep row, const Whole& whole) {
  const double here = whole(row.step);
  row.measured -= std::log(here / row.step.value());
  for (Curve& curve : row.response.curves) {
    curve = curve.through(
        [&](double moved) { return std::log(whole(row.step * std::exp(moved)) / here); });
  }
  return row;
}

// A batch was another: the step was measured, or the throughput.
enum class Told { steps, throughput };

MeasuredStep with_batch(MeasuredStep row, double factor, Told told) {
  const double by = std::log(factor);
  row = with_compute(std::move(row), by);
  if (told == Told::throughput) row.measured += by;
  return row;
}

MeasuredStep as_of(Cause cause, double value, Told told, const MeasuredStep& row) {
  switch (cause) {
    case Cause::batch: return with_batch(row, value, told);
    case Cause::one_gpu: return with_compute(row, std::log(value));
    case Cause::network: return with(row, Unknown::network, std::log(value));
    case Cause::node_links: return with(row, Unknown::node_links, std::log(value));
    case Cause::input:
      return with_serial(row,
                         [&](Seconds step) { return std::max(step.value(), row.samples / value); });
    case Cause::each_step:
      return with_serial(row, [&](Seconds step) { return step.value() + value; });
  }
  PACELINE_UNREACHABLE("a cause outside the enumeration");
}

// From `centre` / farthest to `centre` x farthest.
std::vector<double> values_around(double centre) {
  std::vector<double> values;
  const int each_way = static_cast<int>(std::lround(std::log(farthest) / grid_step));
  for (int i = -each_way; i <= each_way; ++i) values.push_back(centre * std::exp(i * grid_step));
  return values;
}

// Of what gives samples: what was measured is the likeliest to be what it gives.
double middle_rate(const Steps& rows) {
  double sum = 0;
  for (const MeasuredStep& row : rows) {
    sum += std::log(row.samples / row.step.value()) - row.measured;
  }
  return std::exp(sum / static_cast<double>(rows.size()));
}

double middle_step(const Steps& rows) {
  double sum = 0;
  for (const MeasuredStep& row : rows) sum += std::log(row.step.value());
  return std::exp(sum / static_cast<double>(rows.size()));
}

std::vector<double> values_of(Cause cause, const Steps& rows) {
  switch (cause) {
    case Cause::batch: return {0.25, 0.5, 2, 4};
    case Cause::one_gpu:
    case Cause::network:
    case Cause::node_links: return values_around(1);
    case Cause::input: return values_around(middle_rate(rows));
    case Cause::each_step: return values_around(middle_step(rows));
  }
  PACELINE_UNREACHABLE("a cause outside the enumeration");
}

Steps all_as_of(Cause cause, double value, Told told, const Steps& rows) {
  Steps made;
  for (const MeasuredStep& row : rows) made.push_back(as_of(cause, value, told, row));
  return made;
}

// Rows of a group: the first `contradicting` are to be explained.
struct Group {
  Steps rows;
  std::size_t contradicting = 0;
};

bool contradicts(const Priors& priors, const MeasuredStep& row) {
  return std::abs(surprise_of(priors, row)) > student_end(contradicting);
}

bool holds(const Priors& priors, const Group& group, const Steps& rows) {
  const double together = student_end(0.1 / static_cast<double>(group.contradicting));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double most = i < group.contradicting ? together : student_end(contradicting);
    if (std::abs(surprise_of(priors, rows[i])) > most) return false;
  }
  return true;
}

// Links that are no farther off than their class goes are no contradiction.
bool is_of_class(const Priors& priors, Cause cause, double value, const Place& place) {
  if (cause != Cause::network && cause != Cause::node_links) return false;
  const Unknown links = cause == Cause::network ? Unknown::network : Unknown::node_links;
  const double scale = std::sqrt(covariance(priors, links, place, place, true));
  return std::abs(std::log(value)) <= student_90(freedom) * scale;
}

// The likeliest value of a cause, with the mean density over all; nullopt: it explains no rows.
std::optional<Explanation> explained(const Priors& priors, const Group& group, Cause cause) {
  struct Tried {
    double value, density;
    Told told;
  };
  std::vector<Tried> all;
  std::size_t count = 0;
  for (const double value : values_of(cause, group.rows)) {
    for (const Told told : {Told::steps, Told::throughput}) {
      if (told == Told::throughput && cause != Cause::batch) continue;
      ++count;
      // By which one row still contradicts, all together are next to impossible.
      if (contradicts(priors, as_of(cause, value, told, group.rows.front()))) continue;
      all.push_back({value, log_density(priors, all_as_of(cause, value, told, group.rows)), told});
    }
  }
  if (all.empty()) return {};
  const Tried best = *std::ranges::max_element(all, {}, &Tried::density);
  if (is_of_class(priors, cause, best.value, group.rows.front().response.place)) return {};
  if (!holds(priors, group, all_as_of(cause, best.value, best.told, group.rows))) return {};
  double sum = 0;
  for (const Tried& one : all) sum += std::exp(one.density - best.density);
  return Explanation{cause, best.value, best.density + std::log(sum / static_cast<double>(count))};
}

std::vector<Explanation> explanations_of(const Priors& priors, const Group& group) {
  std::vector<Explanation> all;
  for (const auto& [cause, words] : words_of(Cause{})) {
    if (auto found = explained(priors, group, cause)) all.push_back(*found);
  }
  std::ranges::sort(all, std::ranges::greater(), &Explanation::evidence);
  while (all.size() > 2 || (all.size() == 2 && all[0].evidence - all[1].evidence > strongly)) {
    all.pop_back();
  }
  return all;
}

Group group_of(std::span<const MeasuredStep> rows, const std::vector<std::size_t>& farther,
               const std::vector<std::size_t>& others) {
  Group group{{}, farther.size()};
  for (const std::size_t i : farther) group.rows.push_back(rows[i]);
  for (const std::size_t i : others) group.rows.push_back(rows[i]);
  return group;
}

}  // namespace

double surprise_of(const Priors& priors, const MeasuredStep& row) {
  const KnownRow one = known(priors, row);
  const double scales = std::sqrt(distance(priors, std::span(&one, 1)));
  return row.measured > 0 ? scales : -scales;
}

std::vector<Contradiction> contradictions(const Priors& priors,
                                          std::span<const MeasuredStep> rows) {
  std::vector<std::size_t> farther, others;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    PACELINE_EXPECTS(rows[i].step > Seconds(0) && rows[i].samples > 0);
    (contradicts(priors, rows[i]) ? farther : others).push_back(i);
  }
  if (farther.empty()) return {};
  auto together = explanations_of(priors, group_of(rows, farther, others));
  if (!together.empty() || farther.size() == 1) return {{farther, together}};
  std::vector<Contradiction> found;
  std::vector<std::size_t> unexplained;
  for (const std::size_t i : farther) {
    auto alone = explanations_of(priors, group_of(rows, {i}, others));
    if (alone.empty()) {
      unexplained.push_back(i);
    } else {
      found.push_back({{i}, std::move(alone)});
    }
  }
  if (!unexplained.empty()) found.push_back({std::move(unexplained), {}});
  return found;
}

}  // namespace paceline::uncertain
