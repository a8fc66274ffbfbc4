#pragma once

#include "traces/ping_pong/ping_pong.h"

namespace paceline::traces {

// A text with a title of the OSU micro-benchmarks that is no collective's. Reading passes over
// collectives, which mpi_benchmarks/ reads, and throws FormatError for other tests that are no
// ping-pong of two ranks.
[[nodiscard]] bool is_osu_latency(std::string_view text);
[[nodiscard]] std::vector<PingPong> read_osu_latency(std::string_view text);

}  // namespace paceline::traces
