#pragma once

#include <string_view>

#include "traces/run_record/run_record.h"
#include "traces/text/format_error.h"

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

}  // namespace paceline::traces
