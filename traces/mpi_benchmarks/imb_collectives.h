#pragma once

#include "traces/collective_log/collective_log.h"

namespace paceline::traces {

// A text with a collective of the Intel MPI Benchmarks. Reading passes over their other benchmarks,
// and names them in a note; a table begins at each title, of as many ranks as it says processes;
// its times are t_avg, the mean over ranks. Rows of 0 bytes are passed over: they move nothing.
// Throws FormatError where a title has no row.
//
// A size of Reduce_scatter is of one rank's share from 2019 on, and of the whole before
// (src_c/IMB_reduce_scatter.c, IMB2018): without the line of the version its rows are skipped.
[[nodiscard]] bool is_imb_collective(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_imb_collective(std::string_view text);

}  // namespace paceline::traces
