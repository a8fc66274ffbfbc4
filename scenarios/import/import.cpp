#include "scenarios/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "traces/archive/archive.h"
#include "traces/formats/collective_logs.h"
#include "traces/formats/device_traces.h"
#include "traces/formats/run_records.h"
#include "traces/text/format_error.h"
#include "traces/text/plain_text.h"

namespace paceline {
namespace {

using traces::DeviceTrace;

std::string reason(const traces::FormatError& error) {
  std::string text = error.line() > 0 ? fmt::format("line {}: {}", error.line(), error.what())
                                      : std::string(error.what());
  return error.hint().empty() ? text : text + "; " + error.hint();
}

struct LogFiles {
  traces::CollectiveLogFiles files;
  std::vector<std::string> names;  // of those that were taken
};

void take_runs(const traces::UnpackedFile& file, Import& import) {
  auto runs = traces::read_step_traces(file.text);
  if (runs.empty()) import.refused.push_back({file.name, "has no runs"});
  std::move(runs.begin(), runs.end(), std::back_inserter(import.runs));
}

bool has_device_work(const DeviceTrace& trace) {
  return !trace.tasks.empty() || std::ranges::any_of(trace.collectives, [](const auto& call) {
    return call.device.has_value();
  });
}

void take_device_trace(traces::UnpackedFile file, Import& import) {
  DeviceTrace trace = traces::read_device_trace(file.text);
  if (trace.is_cut && !has_device_work(trace)) {
    import.refused.push_back({std::move(file.name),
                              fmt::format("is cut off after {} events, before anything that ran on "
                                          "a device",
                                          trace.events)});
    return;
  }
  if (trace.tasks.empty() && trace.collectives.empty()) {
    import.refused.push_back(
        {std::move(file.name), "has no collectives, and nothing that ran on a device"});
    return;
  }
  import.traces.push_back(std::move(trace));
  import.files.push_back(std::move(file.name));
}

void add_log(const std::string& file, traces::CollectiveLog log, Import& import) {
  if (log.rows.empty()) {
    const auto& [line, why] = log.skipped.front();
    import.refused.push_back({file, fmt::format("line {}: {}", line, why)});
    return;
  }
  import.logs.push_back({file, std::move(log)});
}

void take_log(const traces::UnpackedFile& file, LogFiles& logs, Import& import) {
  logs.names.push_back(file.name);
  for (traces::CollectiveLog& log : logs.files.take(file.text)) {
    add_log(file.name, std::move(log), import);
  }
}

void add_joined(LogFiles& logs, Import& import) {
  for (auto& joined : logs.files.joined()) {
    for (traces::CollectiveLog& log : joined.tables) {
      add_log(logs.names[joined.files.front()], std::move(log), import);
    }
  }
}

std::string known_formats() {
  std::string known = "paceline.trace";
  for (const auto& format : traces::device_trace_formats())
    known += ", " + std::string(format.name);
  for (const auto& format : traces::collective_log_formats()) {
    known += ", " + std::string(format.name);
  }
  for (const auto& format : traces::run_record_formats()) known += ", " + std::string(format.name);
  return known;
}

bool is_device_trace(std::string_view text) {
  return std::ranges::any_of(traces::device_trace_formats(),
                             [&](const auto& format) { return format.is_one(text); });
}

const traces::RunRecordFormat* record_format_of(std::string_view text) {
  const auto formats = traces::run_record_formats();
  const auto found =
      std::ranges::find_if(formats, [&](const auto& format) { return format.is_one(text); });
  return found == formats.end() ? nullptr : &*found;
}

// Whether what begins so may be in a known format: all are texts but for some of profilers'.
bool may_be_known(std::string_view first) {
  return traces::may_begin_text(first) || is_device_trace(first) ||
         record_format_of(first) != nullptr;
}

// "12,345".
std::string in_thousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

// Kineto's traces are read up to their last whole event; of other formats a reader took what is
// left of the text.
void note_cut(const std::string& name, const std::string& why, std::size_t traces_before,
              Import& import) {
  const bool is_cut_trace = import.traces.size() > traces_before && import.traces.back().is_cut;
  if (is_cut_trace) {
    import.notes.push_back(
        {name, fmt::format("cut off after {} events{}: what came later is not there",
                           in_thousands(import.traces.back().events),
                           why.empty() ? "" : " (" + why + ")")});
  } else if (!why.empty()) {
    import.notes.push_back({name, fmt::format("cut off, or damaged ({}): read up to there", why)});
  }
}

// Throws FormatError. False: in no known format.
bool read(traces::UnpackedFile file, LogFiles& logs, Import& import) {
  if (traces::is_step_traces(file.text)) {
    take_runs(file, import);
  } else if (const auto* format = record_format_of(file.text)) {
    import.records.push_back({file.name, format->read(file.text)});
  } else if (is_device_trace(file.text)) {
    take_device_trace(std::move(file), import);
  } else if (traces::is_collective_log(file.text)) {
    take_log(file, logs, import);
  } else {
    return false;
  }
  return true;
}

void take(traces::UnpackedFile file, LogFiles& logs, Import& import) {
  const std::string name = file.name, cut = file.cut;
  const std::size_t traces = import.traces.size(), refused = import.refused.size();
  try {
    if (!read(std::move(file), logs, import)) {
      import.refused.push_back({name, "is in no known format; known: " + known_formats()});
    }
  } catch (const traces::FormatError& error) {
    import.refused.push_back({name, reason(error)});
  }
  if (import.refused.size() == refused) return note_cut(name, cut, traces, import);
  if (!cut.empty()) import.refused.back().why += fmt::format("; the file is cut off ({})", cut);
}

std::uint32_t rank_or_last(const DeviceTrace& trace) {
  return trace.rank ? trace.rank->value() : std::numeric_limits<std::uint32_t>::max();
}

void sort_by_rank(Import& import) {
  std::vector<std::size_t> order(import.traces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return rank_or_last(import.traces[i]); });
  Import sorted;
  for (const std::size_t i : order) {
    sorted.files.push_back(std::move(import.files[i]));
    sorted.traces.push_back(std::move(import.traces[i]));
  }
  import.files = std::move(sorted.files);
  import.traces = std::move(sorted.traces);
}

void refuse_several_jobs(const Import& import) {
  for (std::size_t i = 1; i < import.traces.size(); ++i) {
    const std::uint32_t first = import.traces[0].world_size, world = import.traces[i].world_size;
    if (first == 0 || world == 0 || first == world) continue;
    throw InputError(
        {import.files[i], 0, 0},
        fmt::format("is of a run of {} ranks, and {} of one of {}", world, import.files[0], first),
        "give the files of one run");
  }
}

void refuse_one_rank_twice(const Import& import) {
  for (std::size_t i = 1; i < import.traces.size(); ++i) {
    if (!import.traces[i].rank || import.traces[i].rank != import.traces[i - 1].rank) continue;
    throw InputError(
        {import.files[i], 0, 0},
        fmt::format("is of rank {}, as {} is", import.traces[i].rank->value(), import.files[i - 1]),
        "give the files of one run");
  }
}

}  // namespace

Import import_traces(const std::vector<std::string>& paths) {
  Import import;
  LogFiles logs;
  for (const std::string& path : paths) {
    traces::for_each_file(
        path, may_be_known,
        [&](traces::UnpackedFile file) {
          files::note_input(file.file);
          take(std::move(file), logs, import);
        },
        [&](std::string file, const std::string& why) {
          import.refused.push_back({std::move(file), "cannot be read: " + why});
        });
  }
  add_joined(logs, import);
  if (import.traces.empty() && import.runs.empty() && import.logs.empty() &&
      import.records.empty()) {
    if (import.refused.empty()) throw InputError({paths.front(), 0, 0}, "has no files", "");
    throw InputError({import.refused.front().file, 0, 0}, import.refused.front().why, "");
  }
  sort_by_rank(import);
  refuse_several_jobs(import);
  refuse_one_rank_twice(import);
  for (const DeviceTrace& trace : import.traces) import.steps.push_back(profile_steps(trace));
  import.matched = match_calls(import.traces);
  return import;
}

}  // namespace paceline
