#include <set>
#include <string>
#include <utility>

#include "traces/device_trace/readers.h"
#include "traces/nsys/events.h"
#include "traces/nsys/stats_tables.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using nsys::AroundTables;
using nsys::Events;
using nsys::name_most;
using nsys::Report;
using nsys::StatsRow;

// SQLite, "Database File Format", 1.3: with its zero byte.
constexpr std::string_view magic("SQLite format 3\0", 16);

// How both of Nsight Systems' own kinds of files begin, which only it reads.
bool is_own_file(std::string_view bytes) {
  return bytes.starts_with("NVIDIA Tegra Profiler Report") ||
         bytes.starts_with("NVIDIA Nsight Systems");
}

bool has_trace_tables(std::string_view text) {
  constexpr std::size_t first = std::size_t{1} << 20U;
  text = searched(text.substr(0, first));
  return contains(text, "Duration") && contains_any(text, {"CorrId", "RangeStack"}) &&
         nsys::has_stats_table(text, [](Report report) {
           return report == Report::device_trace || report == Report::range_trace;
         });
}

// "NVIDIA A100-SXM4-40GB (3)" is 3.
std::uint32_t device_number(std::string_view device) {
  const std::size_t open = device.rfind('(');
  if (open == std::string_view::npos || !device.ends_with(')')) return 0;
  device = device.substr(open + 1, device.size() - open - 2);
  return number_of<std::uint32_t>(device).value_or(0);
}

std::string_view device_name(std::string_view device) {
  const std::size_t open = device.rfind(" (");
  return device.substr(0, open);
}

// The domain stands before a colon; that of most programs has no name.
std::string_view without_domain(std::string_view name) {
  for (const char* domain : {":", "NCCL:"}) {
    if (name.starts_with(domain)) return name.substr(std::string_view(domain).size());
  }
  return name;
}

class Taking {
 public:
  bool take(const StatsRow& row) {
    if (row.header.report == Report::device_trace) return take_work(row);
    return row.header.report != Report::range_trace || take_range(row);
  }

  Events events(const AroundTables& around) && {
    if (events_.work.empty()) {
      throw FormatError(around.first_broken_line,
                        around.has_traces_in_columns
                            ? "has traces in columns of text, whose empty cells cannot be told"
                            : "has no kernel of a device",
                        "give nsys stats --format csv --report cuda_gpu_trace,nvtx_pushpop_trace "
                        "REPORT.nsys-rep");
    }
    events_.skip("a row that cannot be read", around.broken_rows);
    events_.events += around.broken_rows;
    // Which of them had the device is not told.
    if (processes_.size() > 1) {
      events_.skip("a range of one of several processes: nsys export --type sqlite tells which",
                   events_.ranges.size());
      events_.ranges.clear();
    }
    return std::move(events_);
  }

 private:
  bool take_work(const StatsRow& row) {
    const auto start = row.nanoseconds("start"), length = row.nanoseconds("duration");
    const auto name = row.text("name");
    constexpr std::int64_t a_day = 86'400'000'000'000;
    if (!start || !length || *length > a_day || name.empty()) return false;
    ++events_.events;
    const auto device = row.text("device");
    const std::uint32_t number = device_number(device);
    events_.devices.try_emplace(number, device_name(device));
    const auto kind = name.starts_with("[CUDA memcpy")   ? DeviceTrace::Work::copy
                      : name.starts_with("[CUDA memset") ? DeviceTrace::Work::set
                                                         : DeviceTrace::Work::kernel;
    events_.work.push_back({*start, *start + *length, 0, 0, number,
                            number_of<std::uint32_t>(row.text("strm")).value_or(0),
                            events_.number_of(name.substr(0, name_most)), kind});
    return true;
  }

  bool take_range(const StatsRow& row) {
    const auto start = row.nanoseconds("start"), end = row.nanoseconds("end");
    const auto name = without_domain(row.text("name"));
    if (!start || !end || *end < *start || name.empty()) return false;
    ++events_.events;
    processes_.insert(std::string(row.text("pid")));
    events_.ranges.push_back({*start, *end, 0,
                              number_of<std::uint64_t>(row.text("tid")).value_or(0),
                              events_.number_of(name.substr(0, name_most)), std::nullopt});
    return true;
  }

  Events events_;
  std::set<std::string> processes_;  // of ranges
};

// cuda_gpu_trace and nvtx_pushpop_trace as CSV, in one text, which do not tell when the host
// launched what, nor of which process work is. Throws FormatError without a row of the first.
Events events_of_tables(std::string_view text) {
  Taking taking;
  const AroundTables around =
      nsys::read_stats_tables(text, [&](const StatsRow& row) { return taking.take(row); });
  return std::move(taking).events(around);
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
  const Events events = bytes.starts_with(magic) ? nsys::events_of_export(bytes)
                                                 : events_of_tables(plain_text(bytes));
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
