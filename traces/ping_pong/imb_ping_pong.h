#pragma once

#include "traces/ping_pong/ping_pong.h"

namespace paceline::traces {

// A text with a benchmark of the Intel MPI Benchmarks. Reading passes over all but the ping-pongs;
// it throws FormatError where there are none, or where several pairs ran at a time.
[[nodiscard]] bool is_imb_ping_pong(std::string_view text);
[[nodiscard]] std::vector<PingPong> read_imb_ping_pong(std::string_view text);

}  // namespace paceline::traces
