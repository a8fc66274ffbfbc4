#include "traces/learn/repeated_steps.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace paceline::traces {
namespace {

// Between one boundary and the next.
std::vector<StepProfile> between(const std::vector<TraceTime>& boundaries) {
  std::vector<StepProfile> steps;
  for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) {
    StepProfile& step = steps.emplace_back();
    step.name = "step " + std::to_string(i + 1);
    step.host_start = boundaries[i];
    step.host_end = boundaries[i + 1];
  }
  return steps;
}

std::vector<TraceTime> optimizer_ends(const DeviceTrace& trace) {
  std::vector<TraceTime> ends;
  for (const DeviceTrace::Range& range : trace.ranges) {
    if (trace.names[range.name].starts_with(optimizer_prefix)) ends.push_back(range.end);
  }
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

bool are_alike(const TracedCollective& a, const TracedCollective& b) {
  return std::tie(a.kind, a.count, a.element_size, a.group, a.group_size) ==
         std::tie(b.kind, b.count, b.element_size, b.group, b.group_size);
}

// Of the collectives; 0 where there is none, or all are alike: buckets of one step are, often. What
// repeats is shorter by a period than what it is taken from: the longest beginning that is an end,
// too (Knuth, Morris and Pratt).
std::size_t period(const std::vector<TracedCollective>& calls) {
  std::vector<std::size_t> longest(calls.size() + 1);  // such a beginning of the first i calls
  for (std::size_t i = 1; i < calls.size(); ++i) {
    std::size_t length = longest[i];
    while (length > 0 && !are_alike(calls[length], calls[i])) length = longest[length];
    longest[i + 1] = are_alike(calls[length], calls[i]) ? length + 1 : 0;
  }
  const std::size_t shortest = calls.size() - longest.back();
  return shortest == 1 || shortest * 2 > calls.size() ? 0 : shortest;
}

// The last thing that the host did, as far as the trace records it.
TraceTime end_of(const DeviceTrace& trace) {
  TraceTime end = 0;
  for (const auto& range : trace.ranges) end = std::max(end, range.end);
  for (const auto& task : trace.tasks) end = std::max(end, task.launched.value_or(task.start) + 1);
  for (const auto& call : trace.collectives) end = std::max(end, call.returned + 1);
  return end;
}

std::vector<TraceTime> first_calls(const DeviceTrace& trace) {
  std::vector<TracedCollective> calls = trace.collectives;
  std::ranges::stable_sort(calls, {}, &TracedCollective::called);
  const std::size_t every = period(calls);
  std::vector<TraceTime> boundaries;
  if (every == 0) return boundaries;
  for (std::size_t i = 0; i < calls.size(); i += every) boundaries.push_back(calls[i].called);
  boundaries.push_back(end_of(trace));
  return boundaries;
}

}  // namespace

std::vector<StepProfile> repeated_steps(const DeviceTrace& trace) {
  if (!trace.has_times) return {};
  auto steps = between(optimizer_ends(trace));
  return steps.empty() ? between(first_calls(trace)) : steps;
}

}  // namespace paceline::traces
