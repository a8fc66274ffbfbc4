#pragma once

#include "traces/collective_log/collective_log.h"

namespace paceline::traces {

// A text with a title of a collective's test of the OSU micro-benchmarks. Reading passes over their
// other tests; a table begins at each title, and its times are the mean over ranks. Ranks are those
// that a comment says. Throws FormatError where a title has no row.
[[nodiscard]] bool is_osu_collective(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_osu_collective(std::string_view text);

}  // namespace paceline::traces
