#include "traces/learn/seen_steps.h"

#include <algorithm>
#include <map>
#include <string>

#include "models/stats/interval_set.h"
#include "models/stats/quantile.h"

namespace paceline::traces {
namespace {

using Intervals = stats::IntervalSet<TraceTime>;

// The range in which PyTorch's DataLoader takes the next batch (since torch 1.7):
// "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__".
constexpr std::string_view data_loader = "enumerate(DataLoader)";

Seconds median(std::vector<Seconds> values) {
  return values.empty() ? Seconds() : stats::lower_median(std::move(values));
}

std::vector<std::vector<Seconds>> lateness(std::span<const DeviceTrace> traces,
                                           const MatchedCalls& matched) {
  std::vector<std::vector<Seconds>> late;
  for (const DeviceTrace& trace : traces) late.emplace_back(trace.collectives.size());
  for (const MatchedCall& call : matched.calls) {
    for (const auto& at : call.ranks) late[at.trace][at.collective] = at.late;
  }
  return late;
}

// Of each range of the data loader, once: processes of its own have a range inside another.
Intervals waits_for_input(const DeviceTrace& trace) {
  std::vector<Intervals::Interval> waits;
  for (const DeviceTrace::Range& range : trace.ranges) {
    if (trace.names[range.name].starts_with(data_loader)) waits.push_back({range.start, range.end});
  }
  return Intervals(std::move(waits));
}

SeenSteps::OfRank seen_of_rank(const DeviceTrace& trace, const std::vector<StepProfile>& steps,
                               const std::vector<Seconds>& late) {
  const Intervals input = waits_for_input(trace);
  std::vector<Seconds> lengths, busy, waits, latest;
  for (const StepProfile& step : steps) {
    if (!step.length) continue;
    lengths.push_back(*step.length);
    busy.push_back(std::min(step.busy(), *step.length));
    waits.push_back(seconds_of(input.covered(step.host_start, step.host_end)));
    Seconds most;
    for (const ProfiledCall& call : step.calls) most = std::max(most, late[call.collective]);
    latest.push_back(most);
  }
  return {median(lengths), median(busy), median(waits), median(latest)};
}

}  // namespace

SeenSteps seen_steps(std::span<const DeviceTrace> traces,
                     std::span<const std::vector<StepProfile>> steps, const MatchedCalls& matched) {
  SeenSteps seen;
  const auto late = lateness(traces, matched);
  std::map<std::string, std::pair<std::size_t, Seconds>> by_name;  // on how many ranks, the longest
  for (std::size_t t = 0; t < traces.size(); ++t) {
    seen.ranks.push_back(seen_of_rank(traces[t], steps[t], late[t]));
    for (const StepProfile& step : steps[t]) {
      if (!step.length) continue;
      auto& [ranks, longest] = by_name[step.name];
      ++ranks;
      longest = std::max(longest, *step.length);
    }
  }
  for (const auto& [name, step] : by_name) {
    if (step.first == traces.size()) seen.lengths.push_back(step.second);
  }
  std::ranges::sort(seen.lengths);
  return seen;
}

bool is_forward_only(const DeviceTrace& trace) {
  return trace.has_operations && !trace.has_training && trace.gradients.empty();
}

std::uint32_t world_of(std::span<const DeviceTrace> traces) {
  std::uint32_t world = 0, largest_group = 0;
  for (const DeviceTrace& trace : traces) {
    world = std::max(world, trace.world_size);
    for (const TracedCollective& call : trace.collectives) {
      largest_group = std::max(largest_group, call.group_size);
    }
  }
  return world > 0 ? world : largest_group;
}

}  // namespace paceline::traces
