#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "models/cost/collective_structure.h"

namespace paceline::cost {

// A measured collective.
struct CollectiveSample {
  CollectiveShape shape;
  Bytes size;         // of the whole buffer, as nccl-tests counts
  Seconds time;       // above 0
  double spread = 0;  // of repetitions, relative: a standard deviation
};

// A switch that no sample determines: what the structure has as the quicker runs.
inline constexpr double the_quicker = -1;

// A hypothesis that explains the samples: the cluster's parameters, and the bytes a rank above
// which all-reduces run along rings instead of trees, within a node and between nodes.
struct CollectiveHypothesis {
  StructureParameters parameters;
  double local_switch = 0, remote_switch = 0;  // bytes a rank; infinity: never; or the_quicker
  double weight = 1;                           // they add up to 1
};

// Relative deviations of times from the structure: those shared by similar sizes and groups, those
// of each sample, and over how many octaves of nodes, or of ranks a node, groups share them.
struct ResidualScale {
  double shared = 0.15, own = 0.03, group_octaves = 4;
};

struct Prediction {
  Seconds time;       // the median
  Seconds low, high;  // of a 90 % interval
};

// A cluster's collectives, as far as samples determine them.
//
// The logarithm of a time is the structure's (structural_time), plus a residual that is a Gaussian
// process: alike for sizes near one another and for groups alike in nodes and ranks a node; of
// rings as a function of bytes a rank, which is what their steps see, of trees of the size. So
// predictions go through what was measured, and extrapolate to other numbers of nodes by the
// structure. (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, 2.7.)
class CollectiveFit {
 public:
  // As fit_collectives found it: `noise` is the relative deviation of each sample. All samples, and
  // all groups that are predicted, get their part of the machine's rings from `parts`.
  // Precondition: `parts` reach the samples' ranks a node.
  CollectiveFit(std::vector<CollectiveSample> samples, std::vector<double> noise,
                ResidualScale scale, std::vector<CollectiveHypothesis> hypotheses, RingParts parts);

  [[nodiscard]] std::span<const CollectiveSample> samples() const { return samples_; }
  // By sample, its relative deviation, with outlier noise where it does not fit.
  [[nodiscard]] std::span<const double> noise() const { return noise_; }
  [[nodiscard]] ResidualScale scale() const { return scale_; }
  [[nodiscard]] std::span<const CollectiveHypothesis> hypotheses() const { return hypotheses_; }
  // Of the likeliest hypothesis: rows and columns as StructureParameters.
  [[nodiscard]] std::vector<std::vector<double>> covariance() const;
  // By sample: the logarithm of measured over structural time, of the likeliest hypothesis.
  [[nodiscard]] std::vector<double> residuals() const;

  // Precondition: the samples' collective; two ranks or more that the machine has; a size above 0.
  [[nodiscard]] Prediction predict(const CollectiveShape& shape, Bytes size) const;

 private:
  // Of rings that cross in nodes what those of no sample do (over a GPU between, or the hosts): the
  // interval is wider by this factor either way, by judgement, as no log at hand has such groups.
  static constexpr double of_unknown_way = 2;
  struct Explanation;
  [[nodiscard]] bool has_way_of(const CollectiveShape& shape) const;
  std::vector<CollectiveSample> samples_;
  std::vector<double> noise_;
  ResidualScale scale_;
  std::vector<CollectiveHypothesis> hypotheses_;
  RingParts parts_;
  std::vector<std::shared_ptr<const Explanation>> explanations_;
};

// How many samples of different sizes a fit takes, and how far apart the least and the largest are.
inline constexpr std::size_t samples_least = 6;
inline constexpr double span_least = 16;

// Whether there are enough of them.
[[nodiscard]] bool are_enough(std::span<const CollectiveSample> samples);

// Fits samples of one collective: the parameters that explain them best, weighed against the prior,
// for every place where rings may take over from trees; places that explain nearly as well are
// kept, by weight. Outliers, samples more than four deviations off, count less.
//
// Of a densely measured group it takes eight samples an octave. Precondition: are_enough(samples);
// `parts` reach their ranks a node.
[[nodiscard]] CollectiveFit fit_collectives(std::vector<CollectiveSample> samples, RingParts parts);

}  // namespace paceline::cost
