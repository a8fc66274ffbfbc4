#include "models/uncertain/belief.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "models/uncertain/covariance.h"

namespace paceline::uncertain {
namespace {

constexpr int settling_passes = 8;
using ByQuantity = std::array<double, quantities>;

double moved_by(const Response& response, const ByQuantity& values) {
  double moved = 0;
  for (std::size_t q = 0; q < quantities; ++q) moved += response.at(unknown_of(q), values[q]);
  return moved;
}

double deviation_at(const Priors& priors, const KnownRow& row) {
  return row.deviation > 0 ? row.deviation : priors.row;
}

}  // namespace

std::optional<Unknown> Believed::widest() const {
  std::size_t most = 0;
  for (std::size_t q = 1; q < quantities; ++q) {
    if (highs[q] - lows[q] > highs[most] - lows[most]) most = q;
  }
  if (highs[most] - lows[most] <= rest_high - rest_low) return std::nullopt;
  return unknown_of(most);
}

// Rows by number, with their values and slopes as they were found.
struct Belief::Known {
  std::vector<KnownRow> rows;
  // Slopes by which values follow, and those by which rows narrow what is left.
  std::vector<ByQuantity> values, slopes, width_slopes;
  Eigen::VectorXd weights;  // of each row's residual in what others follow
  Eigen::LDLT<Eigen::MatrixXd> covariance, width_covariance;  // of rows, by either
  double surprise = 0;                                        // their residuals' squares, by that

  Known(const Priors& priors, std::vector<KnownRow> all) : rows(std::move(all)) {
    const std::size_t count = rows.size();
    values.assign(count, {});
    slopes.assign(count, {});
    width_slopes.assign(count, {});
    for (int pass = 0; pass < settling_passes; ++pass) settle(priors, pass > 0);
  }

  // One of Gauss and Newton's steps, half of it after the first.
  void settle(const Priors& priors, bool by_half) {
    const std::size_t count = rows.size();
    Eigen::VectorXd left(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double residual = rows[i].measured - moved_by(rows[i].response, values[i]);
      left(index(i)) = residual;
      for (std::size_t q = 0; q < quantities; ++q) {
        const double variance = uncertain::covariance(priors, unknown_of(q), rows[i].response.place,
                                                      rows[i].response.place, true);
        const Slopes found =
            slopes_at(rows[i].response, unknown_of(q), values[i][q], std::sqrt(variance));
        // Nothing is beyond the most overlap: how the step comes there is what counts.
        const bool is_most = unknown_of(q) == Unknown::overlap && values[i][q] >= 1;
        slopes[i][q] = residual > 0 && !is_most ? found.up : found.down;
        // A row that is no slower says that what only makes it slower is small.
        const bool is_least = is_one_sided(unknown_of(q)) && values[i][q] <= 0;
        width_slopes[i][q] = is_least ? found.up : slopes[i][q];
        left(index(i)) += slopes[i][q] * values[i][q];
      }
    }
    covariance = covariance_by(slopes, priors);
    weights = covariance.solve(left);
    width_covariance = covariance_by(width_slopes, priors);
    surprise = left.dot(weights);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t q = 0; q < quantities; ++q) {
        double value = value_at(priors, unknown_of(q), rows[i].response.place, i);
        if (is_one_sided(unknown_of(q))) value = std::max(value, 0.0);
        if (unknown_of(q) == Unknown::overlap) value = std::min(value, 1.0);
        values[i][q] = by_half ? (values[i][q] + value) / 2 : value;
      }
    }
  }

  // Of the rows' steps, by these slopes of theirs.
  [[nodiscard]] Eigen::LDLT<Eigen::MatrixXd> covariance_by(const std::vector<ByQuantity>& by,
                                                           const Priors& priors) const {
    const std::size_t count = rows.size();
    Eigen::MatrixXd all(count, count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        all(index(i), index(j)) = shared(priors, rows[i].response.place, by[i], by[j], j, i == j);
      }
      all(index(i), index(i)) += square(deviation_at(priors, rows[i]));
    }
    return Eigen::LDLT<Eigen::MatrixXd>(all);
  }

  static Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

  // Covariance of a row's step with that of a place, both with their slopes.
  [[nodiscard]] double shared(const Priors& priors, const Place& place, const ByQuantity& here,
                              const ByQuantity& there, std::size_t row, bool is_same) const {
    return step_covariance(priors, place, here, rows[row].response.place, there, is_same);
  }

  // Of a quantity at a place; `row`: that place is this row's, or no row's.
  [[nodiscard]] double value_at(const Priors& priors, Unknown quantity, const Place& place,
                                std::size_t row) const {
    const auto q = static_cast<std::size_t>(quantity);
    double value = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (slopes[k][q] == 0) continue;
      value += weights(index(k)) * slopes[k][q] *
               uncertain::covariance(priors, quantity, place, rows[k].response.place, k == row);
    }
    return value;
  }

  // What is left of a quantity's variance at a place that is no row's.
  [[nodiscard]] double variance_at(const Priors& priors, Unknown quantity,
                                   const Place& place) const {
    ByQuantity one{};
    one[static_cast<std::size_t>(quantity)] = 1;
    const double before = uncertain::covariance(priors, quantity, place, place, true);
    return std::max(before - taken(priors, place, one), 0.0);
  }

  // What rows take from the variance of a step with these slopes.
  [[nodiscard]] double taken(const Priors& priors, const Place& place,
                             const ByQuantity& here) const {
    Eigen::VectorXd with(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      with(index(k)) = shared(priors, place, here, width_slopes[k], k, false);
    }
    return with.dot(width_covariance.solve(with));
  }
};

Belief::Belief(const Priors& priors) : priors_(priors) {}

Belief::Belief(const Priors& priors, std::vector<KnownRow> rows)
    : Belief(priors, std::move(rows), "known rows") {}

Belief::Belief(const Priors& priors, std::vector<KnownRow> rows, std::string told_by)
    : priors_(priors), told_by_(std::move(told_by)) {
  if (!rows.empty()) known_ = std::make_shared<const Known>(priors_, std::move(rows));
}

double Belief::distance() const { return known_ ? known_->surprise : 0; }

double Belief::log_density() const {
  if (!known_) return 0;
  const auto rows = static_cast<double>(known_->rows.size());
  const double root = known_->covariance.vectorD().array().log().sum() / 2;  // of the determinant
  return std::lgamma((freedom + rows) / 2) - std::lgamma(freedom / 2) -
         rows / 2 * std::log(freedom * std::numbers::pi) - root -
         (freedom + rows) / 2 * std::log1p(known_->surprise / freedom);
}

// How many scales from the centre the ends of 90 % are: with rows known there are more degrees of
// freedom, and scales are larger where those were surprising (Student-t processes; Shah, Wilson and
// Ghahramani, AISTATS 2014, lemma 3).
double Belief::ends() const {
  if (!known_) return student_90(freedom);
  const auto rows = static_cast<double>(known_->rows.size());
  return student_90(freedom + rows) * std::sqrt((freedom + known_->surprise) / (freedom + rows));
}

Belief Belief::expecting(KnownRow row) const {
  row.measured = of(row.response).moved;
  std::vector<KnownRow> rows = known_ ? known_->rows : std::vector<KnownRow>{};
  const auto count = static_cast<double>(rows.size());
  const double surprise = known_ ? known_->surprise : 0;
  rows.push_back(std::move(row));
  Known known(priors_, std::move(rows));
  known.surprise = surprise + (freedom + surprise) / (freedom + count);
  Belief made(priors_);
  made.known_ = std::make_shared<const Known>(std::move(known));
  return made;
}

Believed Belief::of(const Response& response) const {
  const Place& place = response.place;
  const double to_ends = ends();
  Believed made;
  ByQuantity mean{};
  double high = 0, low = 0, both = 0;  // variances
  for (std::size_t q = 0; q < quantities; ++q) {
    const Unknown quantity = unknown_of(q);
    const double before = covariance(priors_, quantity, place, place, true);
    double left = before;
    if (known_) {
      made.values[q] = known_->value_at(priors_, quantity, place, known_->rows.size());
      left = known_->variance_at(priors_, quantity, place);
    }
    if (quantity == Unknown::host) made.values[q] = std::max(made.values[q], 0.0);
    if (quantity == Unknown::overlap) made.values[q] = std::clamp(made.values[q], 0.0, 1.0);
    const Slopes slopes = slopes_at(response, quantity, made.values[q], std::sqrt(left));
    mean[q] = slopes.mean();
    made.highs[q] = to_ends * std::sqrt(left) * std::abs(slopes.up);
    made.lows[q] = -to_ends * std::sqrt(left) * std::abs(slopes.down);
    high += square(slopes.up) * before;
    low += square(slopes.down) * before;
    both += square(mean[q]) * before;
  }
  made.moved = moved_by(response, made.values);
  // What rows say of all quantities together takes the same part of both ends.
  const double left =
      known_ && both > 0 ? std::clamp(1 - known_->taken(priors_, place, mean) / both, 0.0, 1.0) : 1;
  const double row = place.is_alone() ? 0 : priors_.row;
  made.rest_high = std::hypot(to_ends * row, response.waits_high);
  made.rest_low = -std::hypot(to_ends * row, response.waits_low);
  made.high = std::hypot(to_ends * std::sqrt(high * left), made.rest_high);
  made.low = -std::hypot(to_ends * std::sqrt(low * left), made.rest_low);
  return made;
}

}  // namespace paceline::uncertain
