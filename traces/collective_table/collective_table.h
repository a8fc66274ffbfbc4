#pragma once

#include <string>

#include "traces/collective_log/collective_log.h"

// A table of comma-separated values with a header: size(B), time(us) or time(ns), time(ms),
// time(s); several columns of times are repetitions; others are passed over. Comments before it may
// say "# GPUs: 8", "# nodes: 1" and "# collective: all_reduce". Several tables may follow each
// other.

namespace paceline::traces {

[[nodiscard]] bool is_collective_table(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_collective_table(std::string_view text);

// How a table that somebody made by hand is to be written, where a text is one that no format
// takes: three rows or more of as many cells, most of them numbers; else empty.
[[nodiscard]] std::string hint_for_table(std::string_view text);

}  // namespace paceline::traces
