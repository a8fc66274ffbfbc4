#pragma once

#include "traces/collective_log/collective_log.h"

// What `paceline measure --json` wrote (paceline.result/1): the collective calls of measured steps,
// each from when the last rank joined until all were done. A table per point and collective.
namespace paceline::traces {

[[nodiscard]] bool is_paceline_result(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_paceline_result(std::string_view text);

}  // namespace paceline::traces
