#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "models/cost/link_fit.h"
#include "models/units/units.h"
#include "traces/collective_log/collective_log.h"

namespace paceline::traces {

struct PingPong {
  struct Row {
    std::size_t line = 0;
    Bytes size;    // 0 to 2^56
    Seconds time;  // one way; 1 ps to 1e9 s
  };
  using Skipped = CollectiveLog::Skipped;

  std::optional<cost::LinkPlace> between;  // nullopt: not recorded
  std::vector<Row> rows;                   // sizes may repeat
  std::vector<Skipped> skipped;            // lines that look like a row and cannot be one
};

[[nodiscard]] bool is_ping_pong(std::string_view text);

// Every table of a text. Throws FormatError when no format takes it, or it is not text; tables have
// at least one row or one skipped line.
[[nodiscard]] std::vector<PingPong> read_ping_pongs(std::string_view text);

struct PingPongFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);
  std::vector<PingPong> (*read)(std::string_view text);
};

// A row a format; the first that takes a text reads it.
[[nodiscard]] const std::vector<PingPongFormat>& ping_pong_formats();

}  // namespace paceline::traces
