#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces {

// One collective on all ranks whose traces have it.
struct MatchedCall {
  struct OnRank {
    std::size_t trace;       // of those given
    std::size_t collective;  // in its list
    Seconds waited;          // of its time on the device, what it took longer than on the quickest
    // How much later it began there than on the first, by clocks that collectives have set.
    Seconds late;
  };
  std::vector<OnRank> ranks;  // by trace; two at least
  // The least time that any rank took: a rank's kernel waits for the last one to join, which itself
  // waits for no other rank.
  Seconds transfer;
  Seconds skew;  // the most that one was late
};

struct MatchedCalls {
  std::vector<MatchedCall> calls;  // in the order of the first trace that has each
  std::size_t alone = 0;           // collectives on a device that no other trace has
  // What is to be added to each trace's times so that the ends of its collectives are those of the
  // first trace, in the median; nullopt where none is shared. Hosts' clocks play no part.
  std::vector<std::optional<TraceTime>> clocks;
};

// Collectives with a time on the device are the same where group, kind and number agree: the
// trace's own count (sequence), or else its ordinal among the calls of its group and kind on its
// rank, so that traces must begin at the same collective. Sizes are not compared: in an all-to-all
// they may differ. Ranks of one group end it together, which sets their clocks; where ends are late
// (DeviceTrace::has_late_ends), how late a rank began follows from lengths alone.
[[nodiscard]] MatchedCalls match_calls(std::span<const DeviceTrace> traces);

}  // namespace paceline::traces
