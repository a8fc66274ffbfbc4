#include "scenarios/import/traced_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "models/units/parse.h"
#include "scenarios/import/known_networks.h"
#include "scenarios/loader/input_error.h"
#include "traces/collective_log/collective_log.h"
#include "traces/learn/traced_step.h"

namespace paceline {
namespace {

std::string name_of(const Import& import, const traces::TracedStep& step, const std::string& path) {
  const std::string& device = import.traces.front().device;
  return fmt::format("{}, {}{}", std::filesystem::path(path).filename().string(), step.name,
                     device.empty() ? "" : " on " + device);
}

TracedRun from_profilers(const Import& import, const std::string& path) {
  try {
    traces::TracedStep step = traced_step(import.traces, import.steps, import.matched);
    if (const auto network = fill_gradients(step.trace)) {
      step.assumptions.push_back(fmt::format(
          "gradients: those of {}, whose tensors fill the trace's buckets exactly", *network));
    }
    share_among_gradients(step);
    TracedRun made;
    made.run = {name_of(import, step, path), traces::Origin::imported, std::move(step.trace),
                std::nullopt};
    if (const auto batch = import.traces.front().batch; batch > 0) made.run.batch_per_gpu = batch;
    made.assumptions = std::move(step.assumptions);
    const std::uint32_t world = import.traces.front().world_size;
    if (world > import.traces.size()) {
      made.assumptions.push_back(
          fmt::format("ranks: traces of {} of {}; waiting for the others counts as transfer",
                      import.traces.size(), world));
    }
    return made;
  } catch (const traces::FormatError& error) {
    throw InputError({path, 0, 0}, error.what(), error.hint());
  }
}

}  // namespace

TracedRun traced_run(const Import& import, const std::string& path) {
  TracedRun made;
  if (import.runs.empty()) {
    made = from_profilers(import, path);
  } else if (import.runs.size() == 1 && import.traces.empty()) {
    made.run = import.runs.front();
  } else {
    throw InputError(
        {path, 0, 0},
        fmt::format("has {} runs", import.runs.size() + (import.traces.empty() ? 0 : 1)),
        "give one: import -o writes files of one run");
  }
  made.step = totals_of(made.run.trace).step;
  if (made.step <= Seconds(0)) throw InputError({path, 0, 0}, "has a step that takes no time", "");
  return made;
}

std::shared_ptr<const TracedRun> read_traced_run(const std::string& path) {
  // A sweep asks for the same file at every point.
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const TracedRun>> cache;
  const std::lock_guard lock(mutex);
  auto& run = cache[path];
  if (!run) run = std::make_shared<TracedRun>(traced_run(import_traces({path}), path));
  return run;
}

}  // namespace paceline
