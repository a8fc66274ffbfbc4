#include "traces/ping_pong/ping_pong.h"

#include <algorithm>

#include "traces/ping_pong/imb_ping_pong.h"
#include "traces/ping_pong/osu_latency.h"
#include "traces/ping_pong/table.h"
#include "traces/text/format_error.h"
#include "traces/text/plain_text.h"

namespace paceline::traces {

const std::vector<PingPongFormat>& ping_pong_formats() {
  static const std::vector<PingPongFormat> formats{
      {"osu_latency", is_osu_latency, read_osu_latency},
      {"Intel MPI Benchmarks", is_imb_ping_pong, read_imb_ping_pong},
      {"table with a header", is_ping_pong_table, read_ping_pong_table},
  };
  return formats;
}

bool is_ping_pong(std::string_view text) {
  const auto& formats = ping_pong_formats();
  return std::any_of(formats.begin(), formats.end(),
                     [&](const PingPongFormat& format) { return format.is_one(text); });
}

std::vector<PingPong> read_ping_pongs(std::string_view text) {
  text = plain_text(text);
  for (const PingPongFormat& format : ping_pong_formats()) {
    if (format.is_one(text)) return format.read(text);
  }
  throw FormatError(0, "has no ping-pong",
                    "give the output of osu_latency or of IMB's PingPong, or a table below "
                    "\"# ping_pong: network\"");
}

}  // namespace paceline::traces
