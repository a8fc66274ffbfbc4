#include "scenarios/predict/call_forms.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/cost/auto_choice.h"
#include "sim/folded/folded_step.h"
#include "sim/folded/predicted_point.h"

namespace paceline {
namespace {

using training::CollectiveCall;

// With chunks of a round taken as equal, where the call has no root: ranks are alike then.
Result folded_evenly(ResolvedPoint point) {
  const auto& call = *call_of(point.program.operations.front());
  if (!collectives::has_root(call.collective)) {
    try {
      return simulate_folded(point, sim::Chunks::even);
    } catch (const sim::NotFolded&) {
    }
  }
  return sim::predict_folded(std::move(point));
}

sim::CallTime time_alone(const topology::Cluster& cluster, const CollectiveCall& call,
                         bool has_next) {
  ResolvedPoint one;
  one.cluster = cluster;
  one.fidelity = Fidelity::folded;
  ResolvedPoint in_a_row = cost::alone(one, call);
  if (has_next) in_a_row.program.add(training::Operation(in_a_row.program.operations.front()));
  const std::size_t count = in_a_row.program.operations.size();
  const Result result = folded_evenly(std::move(in_a_row));
  std::vector<Seconds> ends(count);
  for (const RankClass& members : result.trace.classes) {
    for (std::size_t i = 0; i < count; ++i) ends[i] = std::max(ends[i], members.intervals[i].end);
  }
  return {ends[0], has_next ? ends[0] - (ends[1] - ends[0]) : Seconds(0)};
}

// What a step computes for each byte of its calls.
Seconds compute_of_a_byte(const PreparedPoint& prepared) {
  double bytes = 0;
  for (const training::Operation& operation : prepared.point.program.operations) {
    if (const auto* call = call_of(operation)) bytes += static_cast<double>(call->size().value());
  }
  return bytes > 0 ? prepared.one_gpu_step / bytes : Seconds(0);
}

}  // namespace

CallForms::CallForms(const PreparedPoint& prepared, const sim::LinkNumbers& least,
                     const sim::LinkNumbers& most)
    : domain_{prepared.point.cluster, least, most, compute_of_a_byte(prepared), time_alone} {}

std::optional<sim::CallTime> CallForms::time(const CollectiveCall& call, const sim::LinkNumbers& at,
                                             bool waits) {
  const auto [plain, start] = sim::plain_call(call);
  Entry& entry = entry_of(plain);
  std::unique_lock lock(entry.mutex, std::defer_lock);
  if (waits) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return std::nullopt;
  }
  sim::CallTime found = entry.form.at(at);
  found.time += start;
  return found;
}

CallForms::Entry& CallForms::entry_of(const CollectiveCall& call) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(call);
  if (found != entries_.end()) return found->second;
  return entries_.try_emplace(call, domain_, call).first->second;
}

}  // namespace paceline
