#include "models/cost/collective_fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "models/contract.h"
#include "models/stats/normal.h"

namespace paceline::cost {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Parameters = StructureParameters;
using collectives::Collective;

// Over how many octaves of size the shared residual stays alike, and how alike it is on one node
// and on several: by judgement. Factors of 1.5 either way change errors by 1 to 2 %.
constexpr double size_octaves = 1.5, across_alike = 0.4;

constexpr auto parameter_count = static_cast<Eigen::Index>(Parameters::count);

// A node's and nodes' ring-tree switches, in bytes a rank.
struct Switches {
  double local = 0, remote = 0;
};

// Two ranks have no tree that is not a ring.
bool has_a_choice(const CollectiveShape& shape) {
  return shape.collective == Collective::all_reduce && shape.ranks() > 2;
}

Pattern pattern_of(const Parameters& parameters, const CollectiveShape& shape, Bytes size,
                   const Switches& switches) {
  if (!has_a_choice(shape)) return Pattern::ring;
  const double from = shape.nodes > 1 ? switches.remote : switches.local;
  if (from == the_quicker) {
    return structural_time(parameters, Pattern::tree, shape, size) <
                   structural_time(parameters, Pattern::ring, shape, size)
               ? Pattern::tree
               : Pattern::ring;
  }
  return static_cast<double>(size.value()) / shape.ranks() >= from ? Pattern::ring : Pattern::tree;
}

// Where the residual of a collective stands.
struct Place {
  Pattern pattern;
  double size_octave, node_octave, local_octave;
  bool remote;
};

Place place_of(const CollectiveShape& shape, Bytes size, Pattern pattern) {
  const auto bytes = static_cast<double>(size.value());
  return {pattern, std::log2(pattern == Pattern::ring ? bytes / shape.ranks() : bytes),
          std::log2(shape.nodes), std::log2(shape.ranks_per_node), shape.nodes > 1};
}

// 1 for the same place.
double likeness(const Place& a, const Place& b, double group_octaves) {
  if (a.pattern != b.pattern) return 0;
  const double apart = (a.size_octave - b.size_octave) / size_octaves;
  const double groups_apart =
      std::abs(a.node_octave - b.node_octave) + std::abs(a.local_octave - b.local_octave);
  const double alike = std::exp(-apart * apart / 2 - groups_apart / group_octaves);
  return alike * (a.remote == b.remote ? 1 : across_alike);
}

double log_time(const Parameters& parameters, Pattern pattern, const CollectiveShape& shape,
                Bytes size) {
  return std::log(structural_time(parameters, pattern, shape, size).value());
}

// Of log_time, by every parameter.
VectorXd slope(Parameters parameters, Pattern pattern, const CollectiveShape& shape, Bytes size) {
  constexpr double step = 1e-4;
  VectorXd slope(parameter_count);
  for (Eigen::Index j = 0; j < parameter_count; ++j) {
    double& value = parameters[static_cast<std::size_t>(j)];
    const double at = value;
    value = at + step;
    const double above = log_time(parameters, pattern, shape, size);
    value = at - step;
    slope(j) = (above - log_time(parameters, pattern, shape, size)) / (2 * step);
    value = at;
  }
  return slope;
}

VectorXd vector_of(const Parameters& parameters) {
  return Eigen::Map<const VectorXd>(parameters.values.data(), parameter_count);
}

Parameters parameters_of(const VectorXd& vector) {
  Parameters parameters;
  Eigen::Map<VectorXd>(parameters.values.data(), parameter_count) = vector;
  return parameters;
}

// The samples under given switches: what is linear in the residuals is done once.
class Regression {
 public:
  Regression(std::span<const CollectiveSample> samples, std::span<const double> noise,
             const ResidualScale& scale, const Switches& switches)
      : samples_(samples) {
    const auto n = static_cast<Eigen::Index>(samples.size());
    MatrixXd covariance(n, n);
    for (const CollectiveSample& sample : samples) {
      places_.push_back(
          place_of(sample.shape, sample.size, pattern_of({}, sample.shape, sample.size, switches)));
    }
    measured_.resize(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      measured_(i) = std::log(samples[at].time.value());
      for (Eigen::Index j = 0; j <= i; ++j) {
        covariance(i, j) = covariance(j, i) =
            scale.shared * scale.shared *
            likeness(places_[at], places_[static_cast<std::size_t>(j)], scale.group_octaves);
      }
      covariance(i, i) += noise[at] * noise[at];
    }
    factor_.compute(covariance);
  }

  [[nodiscard]] std::span<const Place> places() const { return places_; }
  [[nodiscard]] VectorXd white(const VectorXd& v) const { return factor_.matrixL().solve(v); }
  [[nodiscard]] MatrixXd white(const MatrixXd& m) const { return factor_.matrixL().solve(m); }
  [[nodiscard]] VectorXd solve(const VectorXd& v) const { return factor_.solve(v); }
  [[nodiscard]] MatrixXd inverse() const {
    return factor_.solve(MatrixXd::Identity(measured_.size(), measured_.size()));
  }
  [[nodiscard]] double log_determinant() const {
    return 2 * factor_.matrixLLT().diagonal().array().log().sum();
  }

  [[nodiscard]] VectorXd residuals(const Parameters& parameters) const {
    VectorXd residuals = measured_;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      residuals(static_cast<Eigen::Index>(i)) -=
          log_time(parameters, places_[i].pattern, samples_[i].shape, samples_[i].size);
    }
    return residuals;
  }

  [[nodiscard]] MatrixXd slopes(const Parameters& parameters) const {
    MatrixXd slopes(measured_.size(), parameter_count);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      slopes.row(static_cast<Eigen::Index>(i)) =
          slope(parameters, places_[i].pattern, samples_[i].shape, samples_[i].size);
    }
    return slopes;
  }

 private:
  std::span<const CollectiveSample> samples_;
  std::vector<Place> places_;
  VectorXd measured_;
  Eigen::LLT<MatrixXd> factor_;
};

struct Explained {
  Parameters parameters;
  double criterion;  // minus twice the log evidence, up to a constant that all candidates share
};

// Damped Gauss-Newton (Levenberg, Marquardt) on the whitened residuals and the prior.
Explained explain(const Regression& regression, const StructurePrior& prior,
                  const Parameters& from) {
  const VectorXd mean = vector_of(prior.mean);
  const VectorXd precision = vector_of(prior.deviation).array().square().inverse();
  const auto cost = [&](const VectorXd& x, VectorXd& white) {
    white = regression.white(regression.residuals(parameters_of(x)));
    return white.squaredNorm() + (precision.array() * (x - mean).array().square()).sum();
  };
  constexpr int iterations = 25;
  constexpr double damping_max = 1e6, enough = 1e-3;
  VectorXd x = vector_of(from), white;
  double least = cost(x, white), damping = 1e-3;
  for (int i = 0; i < iterations && damping < damping_max; ++i) {
    const MatrixXd slopes = regression.white(regression.slopes(parameters_of(x)));
    MatrixXd normal = slopes.transpose() * slopes;
    normal.diagonal() += precision;
    const VectorXd pull =
        slopes.transpose() * white - (precision.array() * (x - mean).array()).matrix();
    for (; damping < damping_max; damping *= 5) {
      MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      const VectorXd next = x + damped.ldlt().solve(pull);
      VectorXd next_white;
      const double next_cost = cost(next, next_white);
      if (!(next_cost < least)) continue;
      const bool settled = least - next_cost < enough;
      x = next;
      white = next_white;
      least = next_cost;
      damping = std::max(damping / 5, 1e-7);
      if (settled) damping = damping_max;
      break;
    }
  }
  // The evidence, by Laplace's approximation: the parameters are integrated out.
  const MatrixXd slopes = regression.white(regression.slopes(parameters_of(x)));
  MatrixXd normal = slopes.transpose() * slopes;
  normal.diagonal() += precision;
  const double parameters_log_determinant =
      2 * Eigen::LLT<MatrixXd>(normal).matrixLLT().diagonal().array().log().sum();
  return {parameters_of(x), least + regression.log_determinant() + parameters_log_determinant};
}

struct Candidate {
  Switches switches;
  Explained explained;
};

// All places where rings may take over that tell the samples apart: first within a node for all
// between nodes, then the other way round, twice.
class Search {
 public:
  Search(std::span<const CollectiveSample> samples, const StructurePrior& prior,
         std::vector<double> noise, const ResidualScale& scale)
      : samples_(samples), prior_(prior), noise_(std::move(noise)), scale_(scale) {}

  // The likeliest first.
  std::vector<Candidate> run() {
    constexpr double never = std::numeric_limits<double>::infinity();
    std::vector<double> grid{0};
    for (int octave = 8; octave <= 25; ++octave) grid.push_back(std::ldexp(1.0, octave));
    grid.push_back(never);
    const auto tells = [&](bool remote) {
      return std::any_of(samples_.begin(), samples_.end(), [&](const CollectiveSample& sample) {
        return has_a_choice(sample.shape) && (sample.shape.nodes > 1) == remote;
      });
    };
    const std::vector<double> unknown{the_quicker};
    const auto& local = tells(false) ? grid : unknown;
    const auto& remote = tells(true) ? grid : unknown;
    best_ = {local.front(), remote.front()};
    for (int sweep = 0; sweep < 2; ++sweep) {
      for (const double at : local) look({at, best_.remote});
      for (const double at : remote) look({best_.local, at});
    }
    std::sort(found_.begin(), found_.end(), [](const Candidate& a, const Candidate& b) {
      return a.explained.criterion < b.explained.criterion;
    });
    return std::move(found_);
  }

 private:
  void look(const Switches& switches) {
    std::vector<Pattern> patterns;
    for (const CollectiveSample& sample : samples_) {
      patterns.push_back(pattern_of({}, sample.shape, sample.size, switches));
    }
    if (!seen_.insert(patterns).second) return;
    const Regression regression(samples_, noise_, scale_, switches);
    const Parameters from = found_.empty() ? prior_.mean : nearest_;
    const Explained explained = explain(regression, prior_, from);
    found_.push_back({switches, explained});
    if (explained.criterion < least_) {
      least_ = explained.criterion;
      best_ = switches;
      nearest_ = explained.parameters;
    }
  }

  std::span<const CollectiveSample> samples_;
  const StructurePrior& prior_;
  std::vector<double> noise_;
  ResidualScale scale_;
  std::vector<Candidate> found_;
  std::set<std::vector<Pattern>> seen_;
  Switches best_;
  Parameters nearest_;
  double least_ = std::numeric_limits<double>::infinity();
};

// Repetitions of a size as one sample, with their spread.
std::vector<CollectiveSample> merged(const std::vector<CollectiveSample>& sorted) {
  std::vector<CollectiveSample> all;
  for (std::size_t first = 0, last = 0; first < sorted.size(); first = last) {
    double sum = 0, squares = 0, spread = 0;
    for (; last < sorted.size() && sorted[last].shape == sorted[first].shape &&
           sorted[last].size == sorted[first].size;
         ++last) {
      sum += sorted[last].time.value();
      squares += sorted[last].time.value() * sorted[last].time.value();
      spread = std::max(spread, sorted[last].spread);
    }
    const auto n = static_cast<double>(last - first);
    const double mean = sum / n;
    const double variance = std::max(squares / n / (mean * mean) - 1, 0.0);
    CollectiveSample& one = all.emplace_back(sorted[first]);
    one.time = Seconds(mean);
    one.spread = std::max(spread, std::sqrt(variance));
  }
  return all;
}

// Eight samples an octave of each shape.
std::vector<CollectiveSample> thinned(std::vector<CollectiveSample> samples) {
  constexpr double an_octave = 8;
  std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
    return std::pair(a.shape, a.size) < std::pair(b.shape, b.size);
  });
  std::vector<CollectiveSample> kept;
  for (const CollectiveSample& sample : merged(samples)) {
    const bool near =
        !kept.empty() && kept.back().shape == sample.shape && kept.back().size != sample.size &&
        std::log2(static_cast<double>(sample.size.value()) /
                  static_cast<double>(kept.back().size.value())) < (1 - 1e-9) / an_octave;
    if (!near) kept.push_back(sample);
  }
  return kept;
}

// Those that keep nearly all of the evidence, by weight.
std::vector<CollectiveHypothesis> likely(const std::vector<Candidate>& candidates) {
  constexpr double least_weight = 0.01;  // of the likeliest one's
  std::vector<CollectiveHypothesis> likely;
  double sum = 0;
  for (const Candidate& candidate : candidates) {
    const double behind = candidate.explained.criterion - candidates.front().explained.criterion;
    const double weight = std::exp(-behind / 2);
    if (weight < least_weight) break;
    likely.push_back({candidate.explained.parameters, candidate.switches.local,
                      candidate.switches.remote, weight});
    sum += weight;
  }
  for (CollectiveHypothesis& hypothesis : likely) hypothesis.weight /= sum;
  return likely;
}

// `outlier_noise`: the noise added to each sample that does not fit the others.
std::vector<double> noise_of(std::span<const CollectiveSample> samples, double own,
                             std::span<const double> outlier_noise) {
  std::vector<double> noise;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    noise.push_back(std::hypot(own, samples[i].spread, outlier_noise[i]));
  }
  return noise;
}

// The scale that explains the samples best, with the switches of one that was guessed. A few
// samples say little of it: what is usual of logs is weighed in.
ResidualScale scale_of(std::span<const CollectiveSample> samples, const StructurePrior& prior,
                       std::span<const double> outlier_noise, const Candidate& guessed) {
  const ResidualScale usual;
  const bool one_group = std::all_of(samples.begin(), samples.end(), [&](const auto& sample) {
    return sample.shape == samples.front().shape;
  });
  if (one_group) return usual;  // one group does not show how groups differ
  const auto unusual = [](double value, double expected, double width) {
    const double off = std::log(value / expected) / width;
    return off * off;
  };
  ResidualScale best;
  double least = std::numeric_limits<double>::infinity();
  for (const double shared : {0.05, 0.1, 0.15, 0.2, 0.3}) {
    for (const double own : {0.005, 0.01, 0.02, 0.03, 0.05}) {
      for (const double octaves : {2.0, 4.0, 8.0, 16.0}) {
        const ResidualScale scale{shared, own, octaves};
        const Regression regression(samples, noise_of(samples, own, outlier_noise), scale,
                                    guessed.switches);
        const double criterion =
            explain(regression, prior, guessed.explained.parameters).criterion +
            unusual(shared, usual.shared, 0.5) + unusual(own, usual.own, 1) +
            unusual(octaves, usual.group_octaves, 1);
        if (criterion >= least) continue;
        least = criterion;
        best = scale;
      }
    }
  }
  return best;
}

// Adds noise to outliers, samples that the others do not predict: the worst first, because an
// outlier makes its neighbours look like outliers. Returns whether there were any.
bool add_outlier_noise(std::span<const CollectiveSample> samples, const ResidualScale& scale,
                       const Candidate& best, std::vector<double>& outlier_noise) {
  constexpr double too_far = 4;  // deviations, when left out
  const std::size_t most = samples.size() / 10;
  bool any = false;
  for (std::size_t outliers = 0; outliers < most; ++outliers) {
    const Regression regression(samples, noise_of(samples, scale.own, outlier_noise), scale,
                                best.switches);
    const VectorXd pulled = regression.solve(regression.residuals(best.explained.parameters));
    const MatrixXd inverse = regression.inverse();
    std::size_t worst = 0;
    double worst_deviations = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      // Left-one-out residual over its deviation (Rasmussen and Williams, section 5.4.2).
      const double deviations = std::abs(pulled(at)) / std::sqrt(inverse(at, at));
      if (deviations <= worst_deviations) continue;
      worst_deviations = deviations;
      worst = i;
    }
    if (worst_deviations <= too_far) break;
    const auto at = static_cast<Eigen::Index>(worst);
    outlier_noise[worst] = std::hypot(outlier_noise[worst], pulled(at) / inverse(at, at));
    any = true;
  }
  return any;
}

void put_in(const RingParts& parts, std::vector<CollectiveSample>& samples) {
  for (CollectiveSample& sample : samples) {
    sample.shape.part = parts.of(sample.shape.ranks_per_node);
  }
}

// Without a log of several nodes, a description says what links between them carry. (ABCI's
// machines, fitted in one node: on average 28 % off without a description, 19 % with it.)
StructurePrior prior_of(std::span<const CollectiveSample> samples, const RingParts& parts) {
  StructurePrior prior = structure_prior();
  const bool has_remote = std::ranges::any_of(
      samples, [](const CollectiveSample& sample) { return sample.shape.nodes > 1; });
  if (parts.between_nodes() && !has_remote) {
    using P = StructureParameters;
    prior.mean[P::remote_bandwidth] = std::log(parts.between_nodes()->value() / remote_unit);
    prior.deviation[P::remote_bandwidth] = 0.5;
  }
  return prior;
}

}  // namespace

// A hypothesis with what predictions need of it.
struct CollectiveFit::Explanation {
  Explanation(std::span<const CollectiveSample> samples, const StructurePrior& prior,
              std::span<const double> noise, const ResidualScale& residual,
              const CollectiveHypothesis& explained)
      : hypothesis(explained),
        scale(residual),
        switches{hypothesis.local_switch, hypothesis.remote_switch},
        regression(samples, noise, scale, switches),
        pulled(regression.solve(regression.residuals(hypothesis.parameters))),
        white_slopes(regression.white(regression.slopes(hypothesis.parameters))) {
    MatrixXd normal = white_slopes.transpose() * white_slopes;
    normal.diagonal() += vector_of(prior.deviation).array().square().inverse().matrix();
    covariance = normal.ldlt().solve(MatrixXd::Identity(parameter_count, parameter_count));
  }

  struct Normal {
    double mean, variance;  // of the logarithm of a time
  };

  [[nodiscard]] Normal predict(const CollectiveShape& shape, Bytes size) const {
    const Pattern pattern = pattern_of(hypothesis.parameters, shape, size, switches);
    const Place place = place_of(shape, size, pattern);
    const auto places = regression.places();
    const double shared_variance = scale.shared * scale.shared;
    VectorXd with(static_cast<Eigen::Index>(places.size()));
    for (std::size_t i = 0; i < places.size(); ++i) {
      with(static_cast<Eigen::Index>(i)) =
          shared_variance * likeness(place, places[i], scale.group_octaves);
    }
    const VectorXd white = regression.white(with);
    const VectorXd rest =
        slope(hypothesis.parameters, pattern, shape, size) - white_slopes.transpose() * white;
    return {log_time(hypothesis.parameters, pattern, shape, size) + with.dot(pulled),
            shared_variance - white.squaredNorm() + rest.dot(covariance * rest) +
                scale.own * scale.own};
  }

  CollectiveHypothesis hypothesis;
  ResidualScale scale;
  Switches switches;
  Regression regression;
  VectorXd pulled;
  MatrixXd white_slopes;
  MatrixXd covariance;
};

CollectiveFit::CollectiveFit(std::vector<CollectiveSample> samples, std::vector<double> noise,
                             ResidualScale scale, std::vector<CollectiveHypothesis> hypotheses,
                             RingParts parts)
    : samples_(std::move(samples)),
      noise_(std::move(noise)),
      scale_(scale),
      hypotheses_(std::move(hypotheses)),
      parts_(std::move(parts)) {
  put_in(parts_, samples_);
  PACELINE_EXPECTS(!samples_.empty() && samples_.size() == noise_.size() && !hypotheses_.empty());
  const StructurePrior prior = prior_of(samples_, parts_);
  for (const CollectiveHypothesis& hypothesis : hypotheses_) {
    explanations_.push_back(
        std::make_shared<const Explanation>(samples_, prior, noise_, scale_, hypothesis));
  }
}

std::vector<std::vector<double>> CollectiveFit::covariance() const {
  const MatrixXd& covariance = explanations_.front()->covariance;
  std::vector<std::vector<double>> rows;
  for (Eigen::Index i = 0; i < parameter_count; ++i) {
    rows.emplace_back(covariance.row(i).begin(), covariance.row(i).end());
  }
  return rows;
}

std::vector<double> CollectiveFit::residuals() const {
  const Explanation& likeliest = *explanations_.front();
  const VectorXd residuals = likeliest.regression.residuals(likeliest.hypothesis.parameters);
  return {residuals.begin(), residuals.end()};
}

// Whether rings in nodes of some sample cross what those of the shape do.
bool CollectiveFit::has_way_of(const CollectiveShape& shape) const {
  const auto is_local = [](const CollectiveSample& one) { return one.shape.ranks_per_node > 1; };
  return shape.ranks_per_node == 1 || std::ranges::none_of(samples_, is_local) ||
         std::ranges::any_of(samples_, [&](const CollectiveSample& sample) {
           return is_local(sample) && sample.shape.part.way == shape.part.way;
         });
}

Prediction CollectiveFit::predict(const CollectiveShape& asked, Bytes size) const {
  CollectiveShape shape = asked;
  shape.part = parts_.of(asked.ranks_per_node);
  // The mixture of the hypotheses' normal distributions, taken as one of its mean and variance.
  double mean = 0, square = 0;
  for (const auto& explanation : explanations_) {
    const auto normal = explanation->predict(shape, size);
    mean += explanation->hypothesis.weight * normal.mean;
    square += explanation->hypothesis.weight * (normal.variance + normal.mean * normal.mean);
  }
  const double of_way = has_way_of(shape) ? 0 : std::log(of_unknown_way);
  const double half =
      std::hypot(stats::normal_90 * std::sqrt(std::max(square - mean * mean, 0.0)), of_way);
  return {Seconds(std::exp(mean)), Seconds(std::exp(mean - half)), Seconds(std::exp(mean + half))};
}

bool are_enough(std::span<const CollectiveSample> samples) {
  std::set<std::uint64_t> sizes;
  for (const CollectiveSample& sample : samples) sizes.insert(sample.size.value());
  return sizes.size() >= samples_least &&
         static_cast<double>(*sizes.rbegin()) >= span_least * static_cast<double>(*sizes.begin());
}

CollectiveFit fit_collectives(std::vector<CollectiveSample> samples, RingParts parts) {
  PACELINE_EXPECTS(are_enough(samples));
  put_in(parts, samples);
  samples = thinned(std::move(samples));
  const StructurePrior prior = prior_of(samples, parts);
  // Outliers are looked for twice: they distort the scale, which decides what an outlier is.
  ResidualScale scale;
  std::vector<double> outlier_noise(samples.size());
  const auto search = [&] {
    return Search(samples, prior, noise_of(samples, scale.own, outlier_noise), scale).run();
  };
  std::vector<Candidate> candidates = search();
  if (add_outlier_noise(samples, scale, candidates.front(), outlier_noise)) candidates = search();
  scale = scale_of(samples, prior, outlier_noise, candidates.front());
  candidates = search();
  if (add_outlier_noise(samples, scale, candidates.front(), outlier_noise)) candidates = search();
  std::vector<double> noise = noise_of(samples, scale.own, outlier_noise);
  return {std::move(samples), std::move(noise), scale, likely(candidates), std::move(parts)};
}

}  // namespace paceline::cost
