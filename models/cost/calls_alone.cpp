#include "models/cost/calls_alone.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string>

#include "models/cost/auto_choice.h"

namespace paceline::cost {
using training::CollectiveCall;

std::size_t time_calls_alone(ResolvedPoint& point,
                             const std::function<Seconds(const ResolvedPoint&)>& predict) {
  std::map<CollectiveCall, Seconds> known;
  const auto time_at = [&](CollectiveCall call, std::uint64_t count) {
    call.count = ElementCount(count);
    const auto [entry, is_new] = known.try_emplace(call);
    if (is_new) entry->second = predict(alone(point, call));
    return entry->second;
  };
  for (training::Operation& operation : point.program.operations) {
    CollectiveCall* call = call_of(operation);
    if (call == nullptr || call->simulated() == nullptr) continue;
    const std::uint64_t count = std::max<std::uint64_t>(call->count.value(), 1);
    const std::uint64_t below = std::bit_floor(count);
    Seconds time = time_at(*call, below);
    if (count > below) {
      const double part = static_cast<double>(count - below) / static_cast<double>(below);
      time += (time_at(*call, 2 * below) - time) * part;
    }
    call->how = training::KnownCall{time, std::string(algorithm_of(*call))};
  }
  return known.size();
}

}  // namespace paceline::cost
