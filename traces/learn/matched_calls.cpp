#include "traces/learn/matched_calls.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "models/stats/quantile.h"

namespace paceline::traces {
namespace {

using Kind = std::tuple<std::string, std::uint32_t, std::string>;  // group, its size, kind
using Key = std::tuple<Kind, bool, std::uint64_t>;                 // whether numbered by the trace

std::vector<MatchedCall> grouped(std::span<const DeviceTrace> traces) {
  std::map<Key, std::size_t> numbers;
  std::vector<MatchedCall> calls;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    std::map<Kind, std::uint64_t> seen;
    const auto& list = traces[t].collectives;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].device) continue;
      const Kind kind{list[i].group, list[i].group_size, list[i].kind};
      const std::uint64_t ordinal = seen[kind]++;
      const Key key{kind, list[i].sequence.has_value(), list[i].sequence.value_or(ordinal)};
      const auto [entry, is_new] = numbers.try_emplace(key, calls.size());
      if (is_new) calls.emplace_back();
      auto& ranks = calls[entry->second].ranks;
      // A number that a trace has twice stands for its first.
      if (ranks.empty() || ranks.back().trace != t) ranks.push_back({t, i, {}, {}});
    }
  }
  return calls;
}

const TracedCollective::OnDevice& device(std::span<const DeviceTrace> traces,
                                         const MatchedCall::OnRank& at) {
  return *traces[at.trace].collectives[at.collective].device;
}

// From what each trace shares with the first.
std::vector<std::optional<TraceTime>> clocks_of(std::span<const DeviceTrace> traces,
                                                const std::vector<MatchedCall>& calls) {
  std::vector<std::vector<TraceTime>> behind(traces.size());
  for (const MatchedCall& call : calls) {
    if (call.ranks.front().trace != 0) continue;
    const TraceTime end = device(traces, call.ranks.front()).end;
    for (const auto& at : call.ranks) behind[at.trace].push_back(end - device(traces, at).end);
  }
  std::vector<std::optional<TraceTime>> clocks(traces.size());
  for (std::size_t t = 0; t < traces.size(); ++t) {
    if (!behind[t].empty()) clocks[t] = stats::lower_median(std::move(behind[t]));
  }
  return clocks;
}

// A rank's time begins when it joins, and all end together.
void measure_by_lengths(std::span<const DeviceTrace> traces, MatchedCall& call) {
  TraceTime most = 0;
  for (const auto& at : call.ranks) {
    most = std::max(most, device(traces, at).end - device(traces, at).start);
  }
  for (auto& at : call.ranks) {
    at.late = seconds_of(most - (device(traces, at).end - device(traces, at).start));
    call.skew = std::max(call.skew, at.late);
  }
}

void measure(std::span<const DeviceTrace> traces,
             const std::vector<std::optional<TraceTime>>& clocks, MatchedCall& call) {
  TraceTime least = std::numeric_limits<TraceTime>::max(), first = least;
  for (const auto& at : call.ranks) {
    const auto& on = device(traces, at);
    least = std::min(least, on.end - on.start);
    if (clocks[at.trace]) first = std::min(first, on.start + *clocks[at.trace]);
  }
  call.transfer = seconds_of(least);
  const bool by_lengths = std::ranges::any_of(
      call.ranks, [&](const auto& at) { return traces[at.trace].has_late_ends; });
  if (by_lengths) measure_by_lengths(traces, call);
  for (auto& at : call.ranks) {
    const auto& on = device(traces, at);
    at.waited = seconds_of(on.end - on.start - least);
    if (by_lengths) continue;
    if (clocks[at.trace]) at.late = seconds_of(on.start + *clocks[at.trace] - first);
    call.skew = std::max(call.skew, at.late);
  }
}

}  // namespace

MatchedCalls match_calls(std::span<const DeviceTrace> traces) {
  MatchedCalls matched;
  matched.calls = grouped(traces);
  matched.alone = static_cast<std::size_t>(
      std::erase_if(matched.calls, [](const MatchedCall& call) { return call.ranks.size() < 2; }));
  matched.clocks = clocks_of(traces, matched.calls);
  for (MatchedCall& call : matched.calls) measure(traces, matched.clocks, call);
  return matched;
}

}  // namespace paceline::traces
