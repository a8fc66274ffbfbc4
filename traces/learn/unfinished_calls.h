#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces {

// The first collective of a group that not all its ranks have ended: what a run hangs in.
struct UnfinishedCall {
  struct OnRank {
    std::size_t trace;       // of those given
    std::size_t collective;  // in its list
  };
  std::string group;
  std::uint64_t sequence = 0;
  std::vector<OnRank> waiting;       // called it, and have not ended it
  std::vector<OnRank> ended;         // by what they say
  std::vector<std::size_t> lacking;  // traces of the group that had not come to it
  std::vector<Rank> not_given;       // ranks of the group of which there is no trace
  std::uint64_t later = 0;           // collectives of the group behind it, not ended either
};

// One per group at most; of traces that record states and number their collectives. A rank lacks a
// call that its trace does not have, with a number above all that it has. A trace without a rank is
// of the groups whose calls it has. Messages are none.
[[nodiscard]] std::vector<UnfinishedCall> unfinished_calls(std::span<const DeviceTrace> traces);

// How long after the first rank each called collectives, as far as their hosts' clocks agree.
struct CalledLate {
  std::size_t trace;
  std::size_t last = 0;  // collectives that it called last
  Seconds median, most;  // behind the first
};

// By trace, those that share collectives with others; of those with times since 1970 and numbers.
[[nodiscard]] std::vector<CalledLate> calls_by_clock(std::span<const DeviceTrace> traces);

}  // namespace paceline::traces
