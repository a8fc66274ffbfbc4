#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "models/assumption.h"
#include "models/run/resolved_point.h"
#include "models/text/fields.h"

namespace paceline::cost {

// Why a point is not predicted, mostly because it would take too long.
struct NotPredicted {
  std::string reason;
};
using PredictedStep = std::variant<Seconds, NotPredicted>;
using PredictTime = std::function<PredictedStep(const ResolvedPoint&)>;

// A point with this call alone, on the nodes of the point's job, with ranks that are all as fast.
[[nodiscard]] ResolvedPoint alone(const ResolvedPoint& point, const training::CollectiveCall& call);

// An algorithm that can be used for a call, and the time of that call alone.
struct RankedAlgorithm {
  std::string algorithm;
  Seconds time;
};

constexpr auto fields_of(const RankedAlgorithm*) {
  return Fields(field("algorithm", &RankedAlgorithm::algorithm),
                field("time_s", &RankedAlgorithm::time));
}

// The algorithms for a call of the point, the fastest first; equally fast ones in the registry's
// order. Leaves out those that are not predicted. Passes on what `predict` throws.
[[nodiscard]] std::vector<RankedAlgorithm> ranked_algorithms(
    const ResolvedPoint& point, const training::CollectiveCall& call,
    const collectives::AlgorithmOptions& options, const PredictTime& predict);

// Thrown for a call of which no algorithm can be predicted.
struct NoAlgorithm : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Gives every automatic call of the point's program the first of its ranked_algorithms. Returns
// what was chosen and left out. Throws NoAlgorithm where a call has none.
Assumptions choose_automatically(ResolvedPoint& point, const PredictTime& predict);

}  // namespace paceline::cost
