#pragma once

#include <string_view>

#include "traces/nsys/events.h"

namespace paceline::traces::nsys {

// What an SQLite export holds. Throws FormatError as Database does, for one that is no report of
// Nsight Systems, and for more than events_most.
[[nodiscard]] Events events_of_export(std::string_view bytes);

}  // namespace paceline::traces::nsys
