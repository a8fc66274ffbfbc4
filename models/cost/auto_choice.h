#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "models/assumption.h"
#include "models/run/resolved_point.h"

namespace paceline::cost {

// Why a point is not predicted: mostly, that it would take too much effort.
struct NotPredicted {
  std::string reason;
};
using PredictedStep = std::variant<Seconds, NotPredicted>;
using PredictTime = std::function<PredictedStep(const ResolvedPoint&)>;

// A point of one call and nothing else, on the nodes of the point's job, all ranks of one speed:
// nothing holds it up.
[[nodiscard]] ResolvedPoint alone(const ResolvedPoint& point, const training::CollectiveCall& call);

// An algorithm that is no candidate for a call, and why.
struct LeftOut {
  std::string algorithm, reason;
};

// An algorithm that is a candidate for a call, and what the call takes by it, alone.
struct RankedAlgorithm {
  std::string algorithm;
  Seconds time;
};

// The candidates for a call of the point, the fastest first; of equals the first of the registry.
// Those that are not predicted are left out. What `predict` throws passes through.
[[nodiscard]] std::vector<RankedAlgorithm> ranked_algorithms(
    const ResolvedPoint& point, const training::CollectiveCall& call,
    const collectives::AlgorithmOptions& options, const PredictTime& predict);

// Thrown for a call of which no algorithm can be predicted.
struct NoAlgorithm : std::runtime_error {
  NoAlgorithm(const training::CollectiveCall& call, std::vector<LeftOut> all);
  std::vector<LeftOut> left_out;
};

// Gives every automatic call of the point's program an algorithm: the registered one that is
// predicted to be the fastest for that call, alone on the job's nodes, all ranks starting together;
// of equals the first. Those that are not predicted are left out. What `predict` throws passes
// through. Returns what was chosen and left out, for each different call.
//
// Throws NoAlgorithm when none can be predicted for a call.
Assumptions choose_automatically(ResolvedPoint& point, const PredictTime& predict);

}  // namespace paceline::cost
