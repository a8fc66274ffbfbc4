#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces {

struct DeviceTraceFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);
  // One of the two is there; both throw FormatError.
  DeviceTrace (*read)(std::string_view text);
  std::vector<TracePart> (*read_all)(std::string_view text) = nullptr;  // files may hold several
  // Its contents never tell the rank, which the names of its files have: nccl_trace_rank_3.
  bool is_named_by_rank = false;
};

// A row a format; the first that takes a text reads it.
[[nodiscard]] std::span<const DeviceTraceFormat> device_trace_formats();

// The rank that a file is named by: the number behind its last "rank", or else at its end but for
// the extension. nullopt where there is none, or it is no rank of a run.
[[nodiscard]] std::optional<Rank> rank_of_file_name(std::string_view name);

// All traces of a text, in the format that its content shows: one, but of formats whose files hold
// several. Throws FormatError when it shows none, or is cut off, or is a timeline of ours, which
// looks like Kineto's.
[[nodiscard]] std::vector<TracePart> read_device_traces(std::string_view text);

}  // namespace paceline::traces
