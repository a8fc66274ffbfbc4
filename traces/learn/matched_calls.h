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
  // The least of any rank's times: that rank joined last, and waited for no other.
  Seconds transfer;
  Seconds skew;  // the most that one was late
};

struct MatchedCalls {
  std::vector<MatchedCall> calls;  // in the order of the first trace that has each
  std::size_t alone = 0;           // collectives on a device that no other trace has
  // What to add to each trace's times for its collectives to end with the first trace's, in the
  // median, whatever hosts' clocks say; nullopt where none is shared.
  std::vector<std::optional<TraceTime>> clocks;
};

// Collectives on the device are the same where group, kind and number agree: the trace's own count
// (sequence), or the ordinal in group and kind on its rank, for which traces must begin at the same
// collective. Sizes are not compared: an all-to-all's differ. Ranks end one together, which sets
// their clocks; where ends are late (DeviceTrace::has_late_ends), lengths alone tell how late a
// rank began.
[[nodiscard]] MatchedCalls match_calls(std::span<const DeviceTrace> traces);

}  // namespace paceline::traces
