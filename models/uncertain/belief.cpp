#include "models/uncertain/belief.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "models/uncertain/covariance.h"

namespace paceline::uncertain {
namespace {

using ByQuantity = std::array<double, quantities>;

double deviation_at(const Priors& priors, const KnownRow& row) {
  return row.deviation > 0 ? row.deviation : priors.row;
}

// How far a row that is known may be from its own measurement, measured again: a deviation.
constexpr double repeated = 0.02;

// Rows are followed from their description to what was measured in moves of so much of the
// logarithm, so that what is found does not depend on a start, and moves as the row does.
constexpr double move = 0.05;

// Of the rows' quantities: by quantity, at each row.
using ByRow = std::array<Eigen::VectorXd, quantities>;

// The likeliest quantities at rows: least of the squares of their scales and of what is left of
// each row, in scales of its own. Values at a place are covariances times `pulls` of rows.
class Fit {
 public:
  Fit(const Priors& priors, std::span<const KnownRow> rows) : rows_(rows) {
    const Eigen::Index count = numbered(rows.size());
    for (std::size_t q = 0; q < quantities; ++q) {
      covariances_[q].resize(count, count);
      centres_[q].resize(count);
      pulls_[q] = Eigen::VectorXd::Zero(count);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        centres_[q](numbered(i)) = centre(priors, unknown_of(q), rows[i].response.place);
        for (std::size_t j = 0; j < rows.size(); ++j) {
          covariances_[q](numbered(i), numbered(j)) = covariance(
              priors, unknown_of(q), rows[i].response.place, rows[j].response.place, i == j);
        }
      }
    }
    variances_.resize(count);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      variances_(numbered(i)) = square(deviation_at(priors, rows[i]));
    }
  }

  // Goes on from what was found before to rows that measure `aims`.
  void go_on_to(const Eigen::VectorXd& aims) {
    constexpr int steps_most = 50;
    constexpr double gained_least = 1e-10;
    double here = distance(pulls_, aims);
    for (int step = 0; step < steps_most; ++step) {
      const double before = here;
      for (const bool is_near : {false, true}) here = descend(aims, is_near, here);
      if (before - here <= gained_least * (1 + before)) break;
    }
    distance_ = here;
  }
  void go_on_to_measured() {
    Eigen::VectorXd aims(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) aims(numbered(i)) = rows_[i].measured;
    go_on_to(aims);
  }

  [[nodiscard]] const ByRow& pulls() const { return pulls_; }
  [[nodiscard]] double distance() const { return distance_; }
  // Of the rows' covariance by the slopes that were taken last.
  [[nodiscard]] double log_determinant() const { return log_determinant_; }
  [[nodiscard]] std::vector<ByQuantity> values() const { return values_by(pulls_); }

 private:
  [[nodiscard]] std::vector<ByQuantity> values_by(const ByRow& pulls) const {
    std::vector<ByQuantity> values(rows_.size());
    for (std::size_t q = 0; q < quantities; ++q) {
      const Eigen::VectorXd at = centres_[q] + covariances_[q] * pulls[q];
      for (std::size_t i = 0; i < rows_.size(); ++i) values[i][q] = at(numbered(i));
    }
    return values;
  }

  [[nodiscard]] double distance(const ByRow& pulls, const Eigen::VectorXd& aims) const {
    const std::vector<ByQuantity> values = values_by(pulls);
    double sum = 0;
    for (std::size_t q = 0; q < quantities; ++q) sum += pulls[q].dot(covariances_[q] * pulls[q]);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      sum += square(aims(numbered(i)) - rows_[i].moved(values[i])) / variances_(numbered(i));
    }
    return sum;
  }

  // A step of Gauss and Newton's by slopes near the values or as far as those may well be, halved
  // until it comes closer; returns the distance.
  double descend(const Eigen::VectorXd& aims, bool is_near, double here) {
    const std::vector<ByQuantity> values = this->values();
    ByRow slopes;
    for (Eigen::VectorXd& of : slopes) of.resize(aims.size());
    Eigen::VectorXd left(aims.size());
    Eigen::MatrixXd steps = variances_.asDiagonal();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double residual = aims(numbered(i)) - rows_[i].moved(values[i]);
      left(numbered(i)) = residual;
      for (std::size_t q = 0; q < quantities; ++q) {
        const double deviation = is_near ? 0 : std::sqrt(covariances_[q](numbered(i), numbered(i)));
        const Slopes found = slopes_at(rows_[i].response, unknown_of(q), values[i][q], deviation);
        slopes[q](numbered(i)) = residual > 0 ? found.up : found.down;
        left(numbered(i)) += slopes[q](numbered(i)) * (values[i][q] - centres_[q](numbered(i)));
      }
    }
    for (std::size_t q = 0; q < quantities; ++q) {
      steps += slopes[q].asDiagonal() * covariances_[q] * slopes[q].asDiagonal();
    }
    const Eigen::LDLT<Eigen::MatrixXd> solved(steps);
    log_determinant_ = solved.vectorD().array().log().sum();
    const Eigen::VectorXd weights = solved.solve(left);
    // As far as it may be there are bends that no slope knows: all parts of the way are tried, and
    // some more of it.
    ByRow best = pulls_;
    for (double part = is_near ? 1 : 16; part > 1.0 / 64; part /= 2) {
      ByRow pulls = pulls_;
      for (std::size_t q = 0; q < quantities; ++q) {
        pulls[q] += part * (slopes[q].cwiseProduct(weights) - pulls_[q]);
      }
      const double there = distance(pulls, aims);
      if (there >= here) continue;
      best = std::move(pulls);
      here = there;
      if (is_near) break;
    }
    pulls_ = std::move(best);
    return here;
  }

  std::span<const KnownRow> rows_;
  std::array<Eigen::MatrixXd, quantities> covariances_;
  ByRow centres_;
  Eigen::VectorXd variances_;
  ByRow pulls_;
  double distance_ = 0, log_determinant_ = 0;
};

// How far towards what a row measured quantities lead that are so far from the centre together, by
// directions: calls that all hide have no slope until they are longer. Each quantity that moves the
// step gets no part, one or two.
double reached_by_directions(const Priors& priors, const KnownRow& row, double farthest) {
  const ByQuantity around = centres(priors, row.response.place);
  const double described = row.moved(around);
  const double sign = std::copysign(1, row.measured - described);
  ByQuantity ends{};
  std::vector<std::size_t> moving;
  const Place& place = row.response.place;
  for (std::size_t q = 0; q < quantities; ++q) {
    ends[q] = sign * std::sqrt(farthest * covariance(priors, unknown_of(q), place, place, true));
    if (row.response.at(unknown_of(q), ends[q]) != 0) moving.push_back(q);
  }
  double best = 0;
  const double most = std::abs(row.measured - described);
  const auto tries = static_cast<std::size_t>(std::lround(std::pow(3, moving.size())));
  for (std::size_t number = 1; number < tries && best < most; ++number) {
    ByQuantity values{};
    double squares = 0;
    std::size_t left = number;
    for (const std::size_t q : moving) {
      const auto part = static_cast<double>(left % 3);
      left /= 3;
      values[q] = part * ends[q];
      squares += square(part);
    }
    for (std::size_t q = 0; q < quantities; ++q) {
      values[q] = around[q] + values[q] / std::sqrt(squares);
    }
    best = std::max(best, sign * (row.moved(values) - described));
  }
  return std::min(best, most);
}

// As far towards what a row measured as quantities within 99 % reach.
double reached(const Priors& priors, const KnownRow& row) {
  const double farthest = square(student_end(outside_of_priors));
  Fit fit(priors, std::span(&row, 1));
  const double described = row.moved(centres(priors, row.response.place));
  const double most = std::abs(row.measured - described);
  const double sign = std::copysign(1, row.measured - described);
  double at = 0, distance = 0;
  while (at < most) {
    fit.go_on_to(Eigen::VectorXd::Constant(1, described + sign * (at + move)));
    if (fit.distance() > farthest) {
      const double part = (farthest - distance) / (fit.distance() - distance);
      const double by_slopes = std::min(at + part * move, most);
      return described + sign * std::max(by_slopes, reached_by_directions(priors, row, farthest));
    }
    at += move;
    distance = fit.distance();
  }
  return row.measured;
}

}  // namespace

double KnownRow::moved(const ByQuantity& values) const {
  const ByQuantity bounded = response.bounded(values);
  return composed ? composed(bounded) : response.moved(bounded);
}

double distance(const Priors& priors, std::span<const KnownRow> rows) {
  Fit fit(priors, rows);
  fit.go_on_to_measured();
  return fit.distance();
}

double log_density(const Priors& priors, std::span<const KnownRow> rows) {
  Fit fit(priors, rows);
  fit.go_on_to_measured();
  const auto count = static_cast<double>(rows.size());
  return std::lgamma((freedom + count) / 2) - std::lgamma(freedom / 2) -
         count / 2 * std::log(freedom * std::numbers::pi) - fit.log_determinant() / 2 -
         (freedom + count) / 2 * std::log1p(fit.distance() / freedom);
}

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
  std::vector<double> counted;  // of each, as far as priors reach
  std::vector<ByQuantity> values;
  std::vector<ByQuantity> width_slopes;  // by which rows narrow what is left
  ByRow pulls;
  Eigen::LDLT<Eigen::MatrixXd> width_covariance;  // of rows
  double surprise = 0;                            // squares of scales from the centre

  Known(const Priors& priors, std::vector<KnownRow> all) : rows(std::move(all)) {
    Eigen::VectorXd start(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      counted.push_back(reached(priors, rows[i]));
      start(numbered(i)) = rows[i].moved(centres(priors, rows[i].response.place));
    }
    Fit fit(priors, rows);
    const Eigen::VectorXd aims = Eigen::Map<Eigen::VectorXd>(counted.data(), numbered(rows.size()));
    const double farthest = (aims - start).cwiseAbs().maxCoeff();
    for (double at = move; at < farthest; at += move) {
      fit.go_on_to(start + (aims - start) * (at / farthest));
    }
    fit.go_on_to(aims);
    values = fit.values();
    pulls = fit.pulls();
    surprise = fit.distance();
    find_widths(priors);
  }

  void find_widths(const Priors& priors) {
    width_slopes.assign(rows.size(), {});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool is_slower = counted[i] > rows[i].moved(values[i]);
      for (std::size_t q = 0; q < quantities; ++q) {
        const Place& place = rows[i].response.place;
        const double variance = covariance(priors, unknown_of(q), place, place, true);
        const Slopes found =
            slopes_at(rows[i].response, unknown_of(q), values[i][q], std::sqrt(variance));
        // Nothing is beyond the most overlap: how the step comes there is what counts. A row that
        // is no slower says that what only makes it slower is small.
        const bool is_most = unknown_of(q) == Unknown::overlap && values[i][q] >= 1;
        const bool is_least = values[i][q] <= 0 && (is_one_sided(unknown_of(q)) ||
                                                    std::isfinite(rows[i].response.least[q]));
        width_slopes[i][q] = is_least || (is_slower && !is_most) ? found.up : found.down;
      }
    }
    Eigen::MatrixXd all(rows.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < rows.size(); ++j) {
        all(numbered(i), numbered(j)) =
            step_covariance(priors, rows[i].response.place, width_slopes[i], rows[j].response.place,
                            width_slopes[j], i == j);
      }
      all(numbered(i), numbered(i)) += square(deviation_at(priors, rows[i]));
    }
    width_covariance = Eigen::LDLT<Eigen::MatrixXd>(all);
  }

  // Of a quantity at a place that is no row's.
  [[nodiscard]] double value_at(const Priors& priors, Unknown quantity, const Place& place) const {
    const Eigen::VectorXd& pull = pulls[static_cast<std::size_t>(quantity)];
    double value = centre(priors, quantity, place);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (pull(numbered(k)) == 0) continue;
      value +=
          pull(numbered(k)) * covariance(priors, quantity, place, rows[k].response.place, false);
    }
    return value;
  }

  // What is left of a quantity's variance at a place that is no row's.
  [[nodiscard]] double variance_at(const Priors& priors, Unknown quantity,
                                   const Place& place) const {
    ByQuantity one{};
    one[static_cast<std::size_t>(quantity)] = 1;
    const double before = covariance(priors, quantity, place, place, true);
    return std::max(before - taken(priors, place, one), 0.0);
  }

  // What rows take from the variance of a step with these slopes.
  [[nodiscard]] double taken(const Priors& priors, const Place& place,
                             const ByQuantity& here) const {
    Eigen::VectorXd with(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      with(numbered(k)) =
          step_covariance(priors, place, here, rows[k].response.place, width_slopes[k], false);
    }
    return with.dot(width_covariance.solve(with));
  }
};

Belief::Belief(const Priors& priors) : priors_(priors), told_by_("published rows") {}

Belief::Belief(const Priors& priors, std::vector<KnownRow> rows)
    : Belief(priors, std::move(rows), "known rows") {}

Belief::Belief(const Priors& priors, std::vector<KnownRow> rows, std::string told_by)
    : priors_(priors), told_by_(std::move(told_by)) {
  if (!rows.empty()) known_ = std::make_shared<const Known>(priors_, std::move(rows));
}

// How many scales from the centre the ends of 90 % are: with rows known there are more degrees of
// freedom, and scales are larger where those were surprising (Student-t processes; Shah, Wilson and
// Ghahramani, AISTATS 2014, lemma 3).
double Belief::ends() const {
  if (!known_) return student_90(freedom);
  const auto rows = static_cast<double>(known_->rows.size());
  return student_90(freedom + rows) * std::sqrt((freedom + known_->surprise) / (freedom + rows));
}

// Of a row that is known: as it is, but for what measuring it again may give.
Believed Belief::of_row(std::size_t row) const {
  Believed made;
  made.row = {known_->rows[row].measured, known_->counted[row]};
  made.values = known_->rows[row].response.bounded(known_->values[row]);
  const Response& response = known_->rows[row].response;
  made.moved = std::max(known_->counted[row], response.fastest(made.values));
  made.row->counted = made.moved;
  const auto rows = static_cast<double>(known_->rows.size());
  const double deviation = known_->rows[row].deviation;
  const double end = student_90(freedom + rows) * (deviation > 0 ? deviation : repeated);
  // Where a row is not reached nobody knows which is right: the interval has both.
  const double left = made.row->measured - made.moved;
  made.high = std::max(end, left);
  made.low = std::max(std::min(-end, left), std::min(response.shortest - made.moved, 0.0));
  made.rest_high = made.high;
  made.rest_low = made.low;
  return made;
}

std::span<const KnownRow> Belief::rows() const {
  return known_ ? std::span<const KnownRow>(known_->rows) : std::span<const KnownRow>();
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
  if (known_ && response.step > Seconds(0)) {
    const auto same = std::ranges::find(known_->rows, response, &KnownRow::response);
    if (same != known_->rows.end()) {
      return of_row(static_cast<std::size_t>(same - known_->rows.begin()));
    }
  }
  const Place& place = response.place;
  const double to_ends = ends();
  Believed made;
  made.values = centres(priors_, place);
  ByQuantity mean{};
  double high = 0, low = 0, both = 0;  // variances
  for (std::size_t q = 0; q < quantities; ++q) {
    const Unknown quantity = unknown_of(q);
    const double before = covariance(priors_, quantity, place, place, true);
    double left = before;
    if (known_) {
      made.values[q] = known_->value_at(priors_, quantity, place);
      left = known_->variance_at(priors_, quantity, place);
    }
    const Slopes slopes = slopes_at(response, quantity, made.values[q], std::sqrt(left));
    mean[q] = slopes.mean();
    made.highs[q] = to_ends * std::sqrt(left) * std::abs(slopes.up);
    made.lows[q] = -to_ends * std::sqrt(left) * std::abs(slopes.down);
    high += square(slopes.up) * before;
    low += square(slopes.down) * before;
    both += square(mean[q]) * before;
  }
  made.values = response.bounded(made.values);
  made.moved = std::max(response.moved(made.values), response.fastest(made.values));
  // What rows say of all quantities together takes the same part of both ends.
  const double left =
      known_ && both > 0 ? std::clamp(1 - known_->taken(priors_, place, mean) / both, 0.0, 1.0) : 1;
  const double row = place.is_alone() ? 0 : priors_.row;
  made.rest_high = std::hypot(to_ends * row, response.waits_high);
  made.rest_low = -std::hypot(to_ends * row, response.waits_low);
  made.high = std::hypot(to_ends * std::sqrt(high * left), made.rest_high);
  made.low = std::max(-std::hypot(to_ends * std::sqrt(low * left), made.rest_low),
                      std::min(response.shortest - made.moved, 0.0));
  return made;
}

}  // namespace paceline::uncertain
