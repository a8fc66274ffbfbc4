#include "traces/nsys/nsys.h"

#include <string>
#include <utility>

#include "traces/nsys/events.h"
#include "traces/nsys/stats_tables.h"
#include "traces/text/lines.h"
#include "traces/text/plain_text.h"

namespace paceline::traces {
namespace {

using nsys::Report;

// SQLite, "Database File Format", 1.3: with its zero byte.
constexpr std::string_view magic("SQLite format 3\0", 16);

// How both of Nsight Systems' own kinds of files begin, which only it reads.
bool is_own_file(std::string_view bytes) {
  return bytes.starts_with("NVIDIA Tegra Profiler Report") ||
         bytes.starts_with("NVIDIA Nsight Systems");
}

bool has_trace_tables(std::string_view text) {
  constexpr std::size_t first = std::size_t{1} << 20U;
  text = text.substr(0, first);
  if (!may_begin_text(text) || !contains(text, "Duration") ||
      !contains_any(text, {"CorrId", "RangeStack"})) {
    return false;
  }
  return nsys::has_stats_table(text, [](Report report) {
    return report == Report::device_trace || report == Report::range_trace;
  });
}

std::string name_of(const nsys::ProcessTrace& one) {
  const std::string device = "GPU " + std::to_string(one.device);
  return one.process == 0 ? device : "process " + std::to_string(one.process) + ", " + device;
}

}  // namespace

bool is_nsys_trace(std::string_view bytes) {
  return bytes.starts_with(magic) || is_own_file(bytes) || has_trace_tables(bytes);
}

std::vector<TracePart> read_nsys_traces(std::string_view bytes) {
  if (is_own_file(bytes)) {
    throw FormatError(
        0, "is a report of Nsight Systems, which only its own programs read",
        "export it: nsys export --type sqlite REPORT.nsys-rep (of .qdrep files, too)");
  }
  const nsys::Events events = bytes.starts_with(magic) ? nsys::events_of_export(bytes)
                                                       : nsys::events_of_tables(plain_text(bytes));
  std::vector<TracePart> parts;
  auto traces = nsys::traces_of(events);
  for (auto& one : traces) {
    parts.push_back({traces.size() > 1 ? name_of(one) : "", std::move(one.trace)});
  }
  if (parts.empty()) {
    throw FormatError(0, "is a report of Nsight Systems without kernels or copies of a GPU",
                      "profile with nsys profile --trace=cuda,nvtx");
  }
  return parts;
}

}  // namespace paceline::traces
