#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "traces/collective_log/collective_log.h"

namespace paceline::traces {

struct CollectiveLogFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);
  std::vector<CollectiveLog> (*read)(std::string_view text);
};

// A row a format; the first that takes a text reads it.
[[nodiscard]] std::span<const CollectiveLogFormat> collective_log_formats();

// Whether one of the formats takes a text.
[[nodiscard]] bool is_collective_log(std::string_view text);

// Every table of a text, in the format that its content shows. Throws FormatError when it shows
// none, or is not text; tables have at least one row or one skipped line.
[[nodiscard]] std::vector<CollectiveLog> read_collective_logs(std::string_view text);

}  // namespace paceline::traces
