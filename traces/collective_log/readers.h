#pragma once

#include "traces/collective_log/collective_log.h"

// Readers of logs of collectives, each in the folder of its format.
namespace paceline::traces {

// Texts with a title of a collective's test of the OSU micro-benchmarks or the Intel MPI
// Benchmarks. Other tests are passed over and named in a note; a table begins at each title; times
// are the mean over ranks. Throws FormatError where no title has a row.

// Ranks are those that a comment says.
[[nodiscard]] bool is_osu_collective(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_osu_collective(std::string_view text);

// Ranks are the processes that it says. Rows of 0 bytes are passed over. A size of Reduce_scatter
// is of one rank's share from 2019 on, before of the whole (src_c/IMB_reduce_scatter.c, IMB2018):
// without the line of the version its rows are skipped.
[[nodiscard]] bool is_imb_collective(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_imb_collective(std::string_view text);

// What `paceline measure --json` wrote (paceline.result/1): the collective calls of measured steps,
// each from when the last rank joined until all were done. A table per point and collective.

[[nodiscard]] bool is_paceline_result(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_paceline_result(std::string_view text);

}  // namespace paceline::traces
