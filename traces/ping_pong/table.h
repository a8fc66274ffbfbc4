#pragma once

#include "traces/ping_pong/ping_pong.h"

namespace paceline::traces {

// A table of comma-separated values with size(B) and time(us), time(ns), time(ms) or time(s), below
// a comment "# ping_pong: network" or "# ping_pong: intra_node"; README.md has an example.
[[nodiscard]] bool is_ping_pong_table(std::string_view text);
[[nodiscard]] std::vector<PingPong> read_ping_pong_table(std::string_view text);

}  // namespace paceline::traces
