#include "models/uncertain/learn.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "models/contract.h"
#include "models/uncertain/covariance.h"

namespace paceline::uncertain {
namespace {

constexpr double pull = 0.03;  // of each number to what was expected before
constexpr double least_gained = 1e-4;
constexpr double steps[] = {1.8, 1.35, 1.2};

// The logarithm of what was measured over the step at the centres.
double apart(const Priors& priors, const KnownRow& row) {
  return row.measured - row.moved(centres(priors, row.response.place));
}

// Upwards of rows that were slower than predicted, else downwards.
BySlope slopes_of(const Priors& priors, const KnownRow& row) {
  const Place& place = row.response.place;
  const bool is_slower = apart(priors, row) > 0;
  BySlope slopes{};
  for (std::size_t q = 0; q < quantities; ++q) {
    const Unknown quantity = unknown_of(q);
    const double variance = covariance(priors, quantity, place, place, true);
    const Slopes found =
        slopes_at(row.response, quantity, centre(priors, quantity, place), std::sqrt(variance));
    slopes[q] = is_slower ? found.up : found.down;
  }
  return slopes;
}

Eigen::MatrixXd scales_of(const Priors& priors, const Rows& rows) {
  const std::size_t count = rows.size();
  std::vector<BySlope> slopes;
  for (const KnownRow& row : rows) slopes.push_back(slopes_of(priors, row));
  Eigen::MatrixXd all(count, count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double own = i == j ? priors.row * priors.row : 0;
      const double sum = own + step_covariance(priors, rows[i].response.place, slopes[i],
                                               rows[j].response.place, slopes[j], i == j);
      all(numbered(i), numbered(j)) = all(numbered(j), numbered(i)) = sum;
    }
  }
  return all;
}

double surprise_of(const Priors& priors, const Rows& rows) {
  const auto count = static_cast<double>(rows.size());
  Eigen::VectorXd measured(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) measured(numbered(i)) = apart(priors, rows[i]);
  const Eigen::LLT<Eigen::MatrixXd> scales(scales_of(priors, rows));
  const double square = measured.dot(scales.solve(measured));
  const double root = scales.matrixLLT().diagonal().array().log().sum();  // of the determinant
  return root + (freedom + count) / 2 * std::log1p(square / freedom) -
         std::lgamma((freedom + count) / 2) + std::lgamma(freedom / 2) +
         count / 2 * std::log(freedom * std::numbers::pi);
}

// With the pull.
double cost_of(Priors priors, const Sources& sources) {
  double cost = uncertain::surprise_of(priors, sources);
  for (const KnownPrior& row : known_priors_table()) {
    const double at = row.at(priors);
    cost += pull * square(row.is_centre ? at - row.before : std::log(at / row.before));
  }
  return cost;
}

}  // namespace

double surprise_of(const Priors& priors, const Sources& sources) {
  double sum = 0;
  for (const auto& [source, groups] : sources) {
    double of_source = 0;
    std::size_t count = 0;
    for (const Rows& rows : groups) {
      if (rows.empty()) continue;
      of_source += surprise_of(priors, rows);
      count += rows.size();
    }
    PACELINE_EXPECTS(count > 0);
    sum += of_source / static_cast<double>(count);
  }
  return sum / static_cast<double>(sources.size());
}

Priors learnt(const Sources& sources, const Priors& start) {
  Priors best = start;
  double least = cost_of(best, sources);
  const auto goes_on = [&](const KnownPrior& row, double by) {
    bool moved = false;
    for (;;) {
      Priors tried = best;
      double& number = row.at(tried);
      number = row.is_centre ? number + std::log(by) / 5 : number * by;
      const double cost = cost_of(tried, sources);
      if (cost >= least - least_gained) return moved;
      best = tried;
      least = cost;
      moved = true;
    }
  };
  for (const double step : steps) {
    for (bool moved = true; moved;) {
      moved = false;
      for (const KnownPrior& row : known_priors_table()) {
        if (goes_on(row, step) || goes_on(row, 1 / step)) moved = true;
      }
    }
  }
  return best;
}

std::vector<std::size_t> smallest_rows(std::span<const Place> places, std::size_t count) {
  PACELINE_EXPECTS(count <= 2);
  if (count == 0 || places.size() <= count) return {};
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::pair(places[i].log2_ranks, places[i].log2_nodes);
  });
  std::vector<std::size_t> known{order.front()};
  if (count == 1) return known;
  const Place& first = places[known.front()];
  const auto next = [&](bool more_ranks, bool more_nodes) {
    return std::find_if(order.begin() + 1, order.end(), [&](std::size_t i) {
      return (!more_ranks || places[i].log2_ranks > first.log2_ranks) &&
             (!more_nodes || places[i].log2_nodes > first.log2_nodes);
    });
  };
  for (const auto& [ranks, nodes] : {std::pair(true, true), {true, false}, {false, false}}) {
    const auto found = next(ranks, nodes);
    if (found == order.end()) continue;
    known.push_back(*found);
    break;
  }
  return known;
}

}  // namespace paceline::uncertain
