#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/assumption.h"
#include "models/run/resolved_point.h"

namespace paceline::cost {

// Predicts the time of a point; nullopt when that would take too much effort.
using PredictTime = std::function<std::optional<Seconds>(const ResolvedPoint&)>;

// A point of one call and nothing else, on the nodes of the point's job, all ranks of one speed:
// nothing holds it up.
[[nodiscard]] ResolvedPoint alone(const ResolvedPoint& point, const training::CollectiveCall& call);

struct AutomaticChoice {
  std::map<training::OperationId, std::string> algorithms;  // of the calls that were automatic
  Assumptions assumptions;                                  // one for each different call

  // To what the point with these algorithms was predicted to take.
  void add_to(Result& result) const;
};

// Gives every automatic call of the point's program an algorithm: the registered one that is
// predicted to be the fastest for that call, alone on the job's nodes, all ranks starting together;
// of equals the first.
//
// Throws std::runtime_error when no algorithm can be predicted for a call.
AutomaticChoice choose_automatically(ResolvedPoint& point, const PredictTime& predict);

}  // namespace paceline::cost
