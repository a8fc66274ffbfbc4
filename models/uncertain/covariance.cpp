#include "models/uncertain/covariance.h"

#include <algorithm>

#include "models/contract.h"
#include "models/stats/normal.h"

namespace paceline::uncertain {
namespace {

// Slopes are those of chords, from where a quantity is to as far as it may well be from there.
constexpr double chord_deviations = 1.3, chord_least = 0.03, chord_most = 1.2;

// What two points of a class of links share beyond it: as far as the nearer of both has come.
double doublings(double one, double other) { return std::max(std::min(one, other) - 1, 0.0); }

double deviation_of(const Priors& priors, LinkClass links) {
  return priors.links[static_cast<std::size_t>(links)];
}

// Of links that lie apart by `one` and `other`.
double links_covariance(const Priors& priors, double one, double other, double doubled,
                        double of_row) {
  return one * other * (1 + square(priors.links_by_doubling) * doubled + square(of_row));
}

double node_deviation(const Priors& priors, const Place& place) {
  if (place.box > 0) return priors.boxes * place.box / stats::normal_90;
  return deviation_of(priors, place.node);
}

double row_of_network(const Priors& priors, LinkClass network) {
  const bool is_cloud = network == LinkClass::tcp_virtual || network == LinkClass::tcp_unknown;
  return is_cloud ? priors.cloud_of_row : priors.links_of_row;
}

double wrapper_of(const Priors& priors, const Place& place) {
  return place.is_unmeasured_strategy ? priors.unmeasured_wrapper : priors.wrapper;
}

// Of other workloads the machine has the same links, and hides as much.
bool has_in_common(Unknown quantity, const Place& one, const Place& other) {
  switch (quantity) {
    case Unknown::compute: return one.workload == other.workload && one.computes == other.computes;
    case Unknown::wrapper: return one.workload == other.workload;
    case Unknown::node_links:
      return one.links == other.links && one.node == other.node && one.box == other.box;
    case Unknown::network: return one.links == other.links && one.network == other.network;
    case Unknown::host:
    case Unknown::overlap: return true;
  }
  PACELINE_UNREACHABLE("a quantity outside the enumeration");
}

double overlap_of(const Priors& priors, const Place& place) {
  return place.hides_behind_slow ? priors.overlap_slow : priors.overlap_fast;
}

}  // namespace

double centre(const Priors& priors, Unknown quantity, const Place& place) {
  if (place.is_alone() || place.node != LinkClass::pcie_staged) return 0;
  if (quantity == Unknown::node_links) return priors.staged_links;
  return quantity == Unknown::overlap && place.log2_nodes == 0 ? priors.staged_overlap : 0;
}

std::array<double, quantities> centres(const Priors& priors, const Place& place) {
  std::array<double, quantities> all{};
  for (std::size_t q = 0; q < quantities; ++q) all[q] = centre(priors, unknown_of(q), place);
  return all;
}

double covariance(const Priors& priors, Unknown quantity, const Place& one, const Place& other,
                  bool is_same) {
  if (!has_in_common(quantity, one, other)) return 0;
  switch (quantity) {
    // What one is surer of than the other is all that both share.
    case Unknown::compute: return square(std::min(one.compute, other.compute));
    case Unknown::wrapper:
      return square(std::min(wrapper_of(priors, one), wrapper_of(priors, other))) +
             square(priors.wrapper_by_doubling) * std::min(one.log2_ranks, other.log2_ranks);
    case Unknown::node_links:
      return links_covariance(priors, node_deviation(priors, one), node_deviation(priors, other),
                              doublings(one.log2_gpus_per_node, other.log2_gpus_per_node),
                              is_same ? priors.links_of_row : 0);
    case Unknown::network:
      return links_covariance(priors, deviation_of(priors, one.network),
                              deviation_of(priors, other.network),
                              doublings(one.log2_nodes, other.log2_nodes),
                              is_same ? row_of_network(priors, one.network) : 0);
    case Unknown::host: return square(priors.host);
    case Unknown::overlap:
      return square(std::min(overlap_of(priors, one), overlap_of(priors, other))) *
             (1 + (is_same ? square(priors.links_of_row) : 0));
  }
  PACELINE_UNREACHABLE("a quantity outside the enumeration");
}

Slopes slopes_at(const Response& response, Unknown quantity, double value, double deviation) {
  const double by = std::clamp(chord_deviations * deviation, chord_least, chord_most);
  const auto at = [&](double there) {
    return response.at(quantity, response.bounded(quantity, there));
  };
  const double here = at(value);
  return {(at(value + by) - here) / by, (here - at(value - by)) / by};
}

double step_covariance(const Priors& priors, const Place& one, const BySlope& one_slopes,
                       const Place& other, const BySlope& other_slopes, bool is_same) {
  double sum = 0;
  for (std::size_t q = 0; q < quantities; ++q) {
    const double slope = one_slopes[q] * other_slopes[q];
    if (slope == 0) continue;
    sum += slope * covariance(priors, unknown_of(q), one, other, is_same);
  }
  return sum;
}

}  // namespace paceline::uncertain
