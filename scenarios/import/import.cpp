#include "scenarios/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "scenarios/loader/input_error.h"
#include "traces/archive/archive.h"
#include "traces/collective_log/collective_log.h"
#include "traces/device_trace/formats.h"

namespace paceline {
namespace {

using traces::DeviceTrace;

std::string reason(const traces::FormatError& error) {
  std::string text = error.line() > 0 ? fmt::format("line {}: {}", error.line(), error.what())
                                      : std::string(error.what());
  return error.hint().empty() ? text : text + "; " + error.hint();
}

void take(traces::UnpackedFile file, Import& import) {
  try {
    DeviceTrace trace = traces::read_device_trace(file.text);
    if (trace.tasks.empty() && trace.collectives.empty()) {
      import.refused.push_back(
          {std::move(file.name), "has no collectives, and nothing that ran on a device"});
      return;
    }
    import.traces.push_back(std::move(trace));
    import.files.push_back(std::move(file.name));
  } catch (const traces::FormatError& error) {
    import.refused.push_back({std::move(file.name), reason(error)});
  }
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
  for (const std::string& path : paths) {
    traces::for_each_file(
        path, [&](traces::UnpackedFile file) { take(std::move(file), import); },
        [&](std::string file, const std::string& why) {
          import.refused.push_back({std::move(file), "cannot be read: " + why});
        });
  }
  if (import.traces.empty()) {
    if (import.refused.empty()) throw InputError({paths.front(), 0, 0}, "has no files", "");
    throw InputError({import.refused.front().file, 0, 0}, import.refused.front().why, "");
  }
  sort_by_rank(import);
  refuse_one_rank_twice(import);
  for (const DeviceTrace& trace : import.traces) import.steps.push_back(profile_steps(trace));
  import.matched = match_calls(import.traces);
  return import;
}

}  // namespace paceline
