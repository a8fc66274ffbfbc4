#pragma once

#include <string_view>

#include "traces/run_record/run_record.h"

// What Horovod writes where HOROVOD_TIMELINE, or hvd.start_timeline(), names a file: events, a
// process per tensor, times in microseconds since its start. Source: Horovod 0.18 to 0.28,
// horovod/common/timeline.cc, common.h.
namespace paceline::traces {

// A list of events, closed or not, of which the first 64 KiB have what only Horovod writes.
[[nodiscard]] bool is_horovod_timeline(std::string_view text);

// What the engine did: negotiations, waits, calls and how many tensors each fused, transfers, ranks
// by how often others waited for them, cycles; README.md says how each is found. A note counts
// broken events. Throws FormatError where only metadata is there, and for a byte of zero.
//
// Settings: training.strategy; training.cycle_time and training.negotiation where cycles are marked
// and most had nothing to do; training.hierarchical_allreduce where calls show it.
[[nodiscard]] RunRecord read_horovod_timeline(std::string_view text);

}  // namespace paceline::traces
