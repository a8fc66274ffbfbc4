#include "traces/formats/device_traces.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "models/registered_rows.h"
#include "models/text/number.h"
#include "traces/chakra/chakra.h"
#include "traces/device_trace/limits.h"
#include "traces/execution_trace/execution_trace.h"
#include "traces/flight_recorder/flight_recorder.h"
#include "traces/formats/add_format.h"
#include "traces/kineto/kineto.h"
#include "traces/nsys/nsys.h"
#include "traces/perfetto/perfetto.h"
#include "traces/text/format_error.h"
#include "traces/torch/recording.h"

namespace paceline::traces {
namespace {

constexpr std::array trace_formats_of_the_tree{
    DeviceTraceFormat{"kineto", is_kineto, read_kineto},
    DeviceTraceFormat{"recording", is_recording, read_recording},
    DeviceTraceFormat{"execution trace", is_execution_trace, read_execution_trace},
    DeviceTraceFormat{"chakra", is_chakra, read_chakra},
    DeviceTraceFormat{"Nsight Systems", is_nsys_trace, nullptr, read_nsys_traces},
    DeviceTraceFormat{"flight recorder", is_flight_recorder, read_flight_recorder, nullptr, true},
};

RegisteredRows<DeviceTraceFormat>& registered_trace_formats() {
  static RegisteredRows<DeviceTraceFormat> rows(trace_formats_of_the_tree);
  return rows;
}

const DeviceTraceFormat& trace_format_of(std::string_view text) {
  if (is_own_timeline(text)) {
    throw FormatError(0, "is a timeline that paceline wrote for viewers, not a profiler's trace",
                      "give what --trace wrote beside --timeline");
  }
  std::string known;
  for (const DeviceTraceFormat& row : device_trace_formats()) {
    if (row.is_one(text)) return row;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw FormatError(0, "is in no known format", "known: " + known);
}

}  // namespace

std::optional<Rank> rank_of_file_name(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  name = name.substr(name.find_last_of("/\\") + 1);  // of none the whole
  const std::size_t word = name.rfind("rank");
  std::string_view number;
  if (word != std::string_view::npos) {
    number = name.substr(std::min(name.find_first_not_of("_-.=", word + 4), name.size()));
    number = number.substr(0, number.find_first_not_of(digits));
  }
  if (number.empty()) {
    const std::size_t dot = name.find('.');
    number = name.substr(0, dot);
    number = number.substr(number.find_last_not_of(digits) + 1);
  }
  const auto rank = number_of<std::uint32_t>(number);
  return rank && *rank < traced_ranks_most ? std::optional(Rank(*rank)) : std::nullopt;
}

std::span<const DeviceTraceFormat> device_trace_formats() {
  return registered_trace_formats().all();
}

void add_device_trace_format(const DeviceTraceFormat& row) {
  PACELINE_EXPECTS(!row.name.empty() && row.is_one != nullptr);
  PACELINE_EXPECTS((row.read == nullptr) != (row.read_all == nullptr));
  registered_trace_formats().add(row,
                                 [](const auto& a, const auto& b) { return a.name == b.name; });
}

std::vector<TracePart> read_device_traces(std::string_view text) {
  const DeviceTraceFormat& format = trace_format_of(text);
  if (format.read_all != nullptr) return format.read_all(text);
  std::vector<TracePart> only;
  only.push_back({"", format.read(text)});
  return only;
}

}  // namespace paceline::traces
