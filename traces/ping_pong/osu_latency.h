#pragma once

#include "traces/ping_pong/ping_pong.h"

namespace paceline::traces {

// A text with a title of the OSU micro-benchmarks. Reading throws FormatError for their tests that
// are no ping-pong of two ranks.
[[nodiscard]] bool is_osu_latency(std::string_view text);
[[nodiscard]] std::vector<PingPong> read_osu_latency(std::string_view text);

}  // namespace paceline::traces
