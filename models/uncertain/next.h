#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "models/uncertain/belief.h"

namespace paceline::uncertain {

// Something that could be measured: a row's response, with any `measured`.
struct Candidate {
  KnownRow row;
  double cost = 1;  // in any unit
};

struct NextMeasurement {
  std::size_t candidate = 0;
  double narrowed_to = 1;  // the mean over targets of the interval's width after over before
};

// An interval of the target once the candidate is measured: what is known of both then, as wide as
// the rows known so far say that it should be. Where it will be is not known.
[[nodiscard]] Believed believed_after(const Belief& belief, const KnownRow& candidate,
                                      const Response& target);

// The candidate that narrows the targets' intervals most; of those that do nearly as much, the
// cheapest. nullopt: none narrows them by a tenth.
[[nodiscard]] std::optional<NextMeasurement> next_measurement(const Belief& belief,
                                                              std::span<const Candidate> candidates,
                                                              std::span<const Response> targets);

}  // namespace paceline::uncertain
