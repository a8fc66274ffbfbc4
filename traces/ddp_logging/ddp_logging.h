#pragma once

#include <string_view>

#include "traces/run_record/run_record.h"
#include "traces/text/format_error.h"

namespace paceline::traces {

// Whether a text has what DistributedDataParallel records of itself: the dictionary of
// _get_ddp_logging_data(), as Python or as JSON, or what torch logs with TORCH_DISTRIBUTED_DEBUG
// set to INFO or DETAIL. Of what begins as JSON the first MiB decides.
[[nodiscard]] bool is_ddp_logging(std::string_view text);

// Buckets, settings and times by rank, of one run: of several in one text the last, with a note.
// Times are nanoseconds there. Throws FormatError where a rank or the ranks are more than
// traced_ranks_most, or nothing of it can be read.
//
// Source: PyTorch, torch/csrc/distributed/c10d/logger.cpp of 1.9 to 2.x (torch/lib/c10d before
// 1.11), and the page "Distributed communication package" for how lines look.
[[nodiscard]] RunRecord read_ddp_logging(std::string_view text);

}  // namespace paceline::traces
