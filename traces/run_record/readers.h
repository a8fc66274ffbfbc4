#pragma once

#include <string_view>

#include "traces/run_record/run_record.h"
#include "traces/text/format_error.h"

// Readers of records of runs, each in the folder of its format.
namespace paceline::traces {

// What DistributedDataParallel records of itself: the dictionary of _get_ddp_logging_data(), as
// Python or JSON, or what torch logs with TORCH_DISTRIBUTED_DEBUG=INFO or DETAIL.
[[nodiscard]] bool is_ddp_logging(std::string_view text);

// Buckets, settings and times (there in nanoseconds) by rank, of the last run in the text, with a
// note of others. Throws FormatError for more than traced_ranks_most ranks, or where nothing can be
// read.
//
// Source: PyTorch, torch/csrc/distributed/c10d/logger.cpp of 1.9 to 2.x (torch/lib/c10d before
// 1.11), and the page "Distributed communication package" for how lines look.
[[nodiscard]] RunRecord read_ddp_logging(std::string_view text);

// What Horovod writes where HOROVOD_TIMELINE, or hvd.start_timeline(), names a file: events, a
// process per tensor, times in microseconds since its start. Source: Horovod 0.18 to 0.28,
// horovod/common/timeline.cc, common.h.

// A list of events, closed or not, of which the first 64 KiB have what only Horovod writes.
[[nodiscard]] bool is_horovod_timeline(std::string_view text);

// What the engine did: negotiations, waits, calls and how many tensors each fused, transfers, ranks
// by how often others waited for them, cycles; README.md says how each is found. A note counts
// broken events. Throws FormatError where only metadata is there, and for a byte of zero.
//
// Settings: training.strategy; training.cycle_time and training.negotiation where cycles are marked
// and most had nothing to do; training.hierarchical_allreduce where calls show it.
[[nodiscard]] RunRecord read_horovod_timeline(std::string_view text);

// Whether a text has sums of `nsys stats`, as CSV or in columns: of kernels, copies or NVTX ranges.
[[nodiscard]] bool is_nsys_statistics(std::string_view text);

// Compute beside communication, by kernel and by range. Throws FormatError without a readable row.
[[nodiscard]] RunRecord read_nsys_statistics(std::string_view text);

}  // namespace paceline::traces
