#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// The measurement that narrows predictions of a run most for what it costs.
struct ProposedMeasurement {
  std::string what;          // "all_reduce_perf of 100 MB between two nodes"
  double narrowed_to = 1;    // intervals' width after over before, in the mean of the points
  std::size_t of = 0;        // the outcome whose interval is the widest
  double low = 0, high = 0;  // of its step, over the one predicted, once that is measured
};

// Tried: one number of one GPU; nccl-tests in a node and between two; and the run's own points with
// the fewest GPUs, on one node and on more. nullopt: none is worth it, or nothing was predicted.
[[nodiscard]] std::optional<ProposedMeasurement> propose_measurement(
    const std::vector<PointOutcome>& outcomes);

// What makes the widest interval wide: "16 GPUs, because of the network (TCP of unknown hosts)".
[[nodiscard]] std::optional<std::string> widest_in_words(const std::vector<PointOutcome>& outcomes);

// Both, a line each; empty where there is none.
struct Sureness {
  std::string widest, next;
};
[[nodiscard]] Sureness sureness_in_words(const std::vector<PointOutcome>& outcomes);

}  // namespace paceline
