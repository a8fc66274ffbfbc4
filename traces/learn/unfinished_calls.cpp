#include "traces/learn/unfinished_calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/stats/quantile.h"

namespace paceline::traces {
namespace {

using State = TracedCollective::State;
using OnRank = UnfinishedCall::OnRank;

struct GroupCalls {
  std::map<std::uint64_t, std::vector<OnRank>> calls;  // by number, a trace once
  std::map<std::size_t, std::uint64_t> last;           // number that each trace has
  const std::vector<Rank>* ranks = nullptr;            // where they are listed
};

bool is_message(const TracedCollective& call) {
  return call.kind.starts_with("send") || call.kind.starts_with("recv");
}

std::map<std::string, GroupCalls> calls_by_group(std::span<const DeviceTrace> traces) {
  std::map<std::string, GroupCalls> groups;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    const auto& list = traces[t].collectives;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].state || !list[i].sequence || is_message(list[i])) continue;
      GroupCalls& group = groups[list[i].group];
      auto& ranks = group.calls[*list[i].sequence];
      // Calls that are made together (coalesced) have one number: the first stands for them.
      if (ranks.empty() || ranks.back().trace != t) ranks.push_back({t, i});
      std::uint64_t& last = group.last.try_emplace(t, *list[i].sequence).first->second;
      last = std::max(last, *list[i].sequence);
    }
  }
  for (const DeviceTrace& trace : traces) {
    for (const DeviceTrace::Group& group : trace.groups) {
      const auto found = groups.find(group.name);
      if (found != groups.end()) found->second.ranks = &group.ranks;
    }
  }
  return groups;
}

// Traces of the group, of ranks that are listed, or that have calls of it.
std::set<std::size_t> members_of(const GroupCalls& group, std::span<const DeviceTrace> traces) {
  std::set<std::size_t> members;
  for (const auto& [trace, last] : group.last) members.insert(trace);
  if (group.ranks == nullptr) return members;
  const std::set<Rank> ranks(group.ranks->begin(), group.ranks->end());
  for (std::size_t t = 0; t < traces.size(); ++t) {
    if (traces[t].rank && ranks.contains(*traces[t].rank)) members.insert(t);
  }
  return members;
}

std::vector<Rank> not_given(const GroupCalls& group, std::span<const DeviceTrace> traces) {
  std::set<Rank> given;
  for (const DeviceTrace& trace : traces) {
    if (!trace.rank) return {};  // it may be any of them
    given.insert(*trace.rank);
  }
  std::vector<Rank> lacking;
  if (group.ranks == nullptr) return lacking;
  std::ranges::copy_if(*group.ranks, std::back_inserter(lacking),
                       [&](Rank rank) { return !given.contains(rank); });
  return lacking;
}

std::optional<UnfinishedCall> unfinished_of(const std::string& name, const GroupCalls& group,
                                            std::span<const DeviceTrace> traces) {
  const std::set<std::size_t> members = members_of(group, traces);
  std::optional<UnfinishedCall> first;
  for (const auto& [sequence, ranks] : group.calls) {
    UnfinishedCall call;
    call.group = name;
    call.sequence = sequence;
    for (const OnRank& at : ranks) {
      const auto& traced = traces[at.trace].collectives[at.collective];
      (traced.state == State::completed ? call.ended : call.waiting).push_back(at);
    }
    for (const std::size_t trace : members) {
      const auto last = group.last.find(trace);
      if (last == group.last.end() || last->second < sequence) call.lacking.push_back(trace);
    }
    if (call.waiting.empty() && call.lacking.empty()) continue;
    if (first) {
      ++first->later;
    } else {
      call.not_given = not_given(group, traces);
      first = std::move(call);
    }
  }
  return first;
}

}  // namespace

std::vector<UnfinishedCall> unfinished_calls(std::span<const DeviceTrace> traces) {
  std::vector<UnfinishedCall> all;
  for (const auto& [name, group] : calls_by_group(traces)) {
    if (auto call = unfinished_of(name, group, traces)) all.push_back(std::move(*call));
  }
  return all;
}

std::vector<CalledLate> calls_by_clock(std::span<const DeviceTrace> traces) {
  std::map<std::size_t, std::vector<TraceTime>> behind;
  std::map<std::size_t, std::size_t> lasts;
  const auto called = [&](const OnRank& at) {
    return *traces[at.trace].since_epoch + traces[at.trace].collectives[at.collective].called;
  };
  for (const auto& [name, group] : calls_by_group(traces)) {
    for (const auto& [sequence, ranks] : group.calls) {
      const bool can_tell = ranks.size() > 1 && std::ranges::all_of(ranks, [&](const OnRank& at) {
                              return traces[at.trace].since_epoch.has_value();
                            });
      if (!can_tell) continue;
      const TraceTime first = called(*std::ranges::min_element(ranks, {}, called));
      const OnRank last = *std::ranges::max_element(ranks, {}, called);
      if (called(last) > first) ++lasts[last.trace];
      for (const OnRank& at : ranks) behind[at.trace].push_back(called(at) - first);
    }
  }
  std::vector<CalledLate> late;
  for (const auto& [trace, times] : behind) {
    late.push_back({trace, lasts[trace], seconds_of(stats::lower_median(times)),
                    seconds_of(*std::ranges::max_element(times))});
  }
  return late;
}

}  // namespace paceline::traces
