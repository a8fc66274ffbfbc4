#include "models/cost/calls_alone.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "models/cost/auto_choice.h"

namespace paceline::cost {
using training::CollectiveCall;

namespace {

// The time before a call's first messages is its own, whatever other calls of its kind have.
CollectiveCall without_start(CollectiveCall call) {
  training::SimulatedCall simulated = *call.simulated();
  simulated.wire.start = Seconds(0);
  call.how = std::move(simulated);
  return call;
}

// The different counts of elements of the calls that differ in nothing else.
class Sizes {
 public:
  explicit Sizes(const training::StepProgram& program) {
    for (const training::Operation& operation : program.operations) {
      const CollectiveCall* call = call_of(operation);
      if (call != nullptr && call->simulated() != nullptr)
        of_kind_[kind(*call)].insert(call->count);
    }
  }
  [[nodiscard]] bool is_only(const CollectiveCall& call) const {
    return of_kind_.at(kind(call)).size() == 1;
  }

 private:
  static CollectiveCall kind(const CollectiveCall& call) {
    CollectiveCall of_kind = without_start(call);
    of_kind.count = ElementCount(0);
    return of_kind;
  }
  std::map<CollectiveCall, std::set<ElementCount>> of_kind_;
};

}  // namespace

std::size_t time_calls_alone(ResolvedPoint& point,
                             const std::function<Seconds(const ResolvedPoint&)>& predict) {
  const Sizes sizes(point.program);
  std::map<CollectiveCall, Seconds> known;
  const auto time_at = [&](CollectiveCall call, std::uint64_t count) {
    call.count = ElementCount(count);
    const auto [entry, is_new] = known.try_emplace(call);
    if (is_new) entry->second = predict(alone(point, call));
    return entry->second;
  };
  const auto time_after_start = [&](const CollectiveCall& call) {
    const std::uint64_t count = std::max<std::uint64_t>(call.count.value(), 1);
    const std::uint64_t below = std::bit_floor(count);
    if (count == below || sizes.is_only(call)) return time_at(call, count);
    const double part = static_cast<double>(count - below) / static_cast<double>(below);
    const Seconds least = time_at(call, below);
    return least + (time_at(call, 2 * below) - least) * part;
  };
  for (training::Operation& operation : point.program.operations) {
    CollectiveCall* call = call_of(operation);
    if (call == nullptr || call->simulated() == nullptr) continue;
    const Seconds time = call->simulated()->wire.start + time_after_start(without_start(*call));
    call->how = training::KnownCall{time, std::string(algorithm_of(*call))};
  }
  return known.size();
}

}  // namespace paceline::cost
