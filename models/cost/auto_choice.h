#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/run/resolved_point.h"

namespace paceline::cost {

// What a time of a point is asked of: nothing when it would take too much effort.
using PredictTime = std::function<std::optional<Seconds>(const ResolvedPoint&)>;

// Names the algorithm of every call of the point's program that is collectives::automatic: the
// registered one that is predicted to be the fastest for that call, alone on the job's nodes, all
// ranks starting together; of equals the first. Returns what it chose, a sentence for each
// different call.
//
// Throws std::runtime_error when no algorithm can be predicted for a call.
std::vector<std::string> choose_automatically(ResolvedPoint& point, const PredictTime& predict);

}  // namespace paceline::cost
