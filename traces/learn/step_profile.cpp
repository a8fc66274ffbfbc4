#include "traces/learn/step_profile.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "models/stats/interval_set.h"

namespace paceline::traces {
namespace {

using Task = DeviceTrace::Task;

std::vector<StepProfile> named_steps(const DeviceTrace& trace) {
  std::vector<StepProfile> steps;
  for (const DeviceTrace::Range& range : trace.ranges) {
    const std::string& name = trace.names[range.name];
    if (!name.starts_with(step_prefix)) continue;
    StepProfile& step = steps.emplace_back();
    step.name = name;
    step.host_start = range.start;
    step.host_end = range.end;
  }
  std::ranges::sort(steps, {}, &StepProfile::host_start);
  // Some profilers repeat the annotation on the device, or on each thread.
  const auto same = [](const StepProfile& a, const StepProfile& b) { return a.name == b.name; };
  steps.erase(std::unique(steps.begin(), steps.end(), same), steps.end());
  return steps;
}

std::vector<StepProfile> between(const std::vector<TraceTime>& boundaries) {
  std::vector<StepProfile> steps;
  for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) {
    StepProfile& step = steps.emplace_back();
    step.name = "step " + std::to_string(i + 1);
    step.host_start = boundaries[i];
    step.host_end = boundaries[i + 1];
  }
  return steps;
}

std::vector<TraceTime> optimizer_ends(const DeviceTrace& trace) {
  std::vector<TraceTime> ends;
  for (const DeviceTrace::Range& range : trace.ranges) {
    if (trace.names[range.name].starts_with(optimizer_prefix)) ends.push_back(range.end);
  }
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

bool are_alike(const TracedCollective& a, const TracedCollective& b) {
  return std::tie(a.kind, a.count, a.element_size, a.group, a.group_size) ==
         std::tie(b.kind, b.count, b.element_size, b.group, b.group_size);
}

// Of the collectives; 0 where there is none, or all are alike, as buckets of one step often are.
// What repeats is longer by a period than its longest beginning that is an end, too (Knuth, Morris,
// Pratt).
std::size_t period(const std::vector<TracedCollective>& calls) {
  std::vector<std::size_t> longest(calls.size() + 1);  // such a beginning of the first i calls
  for (std::size_t i = 1; i < calls.size(); ++i) {
    std::size_t length = longest[i];
    while (length > 0 && !are_alike(calls[length], calls[i])) length = longest[length];
    longest[i + 1] = are_alike(calls[length], calls[i]) ? length + 1 : 0;
  }
  const std::size_t shortest = calls.size() - longest.back();
  return shortest == 1 || shortest * 2 > calls.size() ? 0 : shortest;
}

TraceTime end_of(const DeviceTrace& trace) {
  TraceTime end = 0;
  for (const auto& range : trace.ranges) end = std::max(end, range.end);
  for (const auto& task : trace.tasks) end = std::max(end, task.launched.value_or(task.start) + 1);
  for (const auto& call : trace.collectives) end = std::max(end, call.returned + 1);
  return end;
}

std::vector<TraceTime> first_calls(const DeviceTrace& trace) {
  std::vector<TracedCollective> calls = trace.collectives;
  std::ranges::stable_sort(calls, {}, &TracedCollective::called);
  const std::size_t every = period(calls);
  std::vector<TraceTime> boundaries;
  if (every == 0) return boundaries;
  for (std::size_t i = 0; i < calls.size(); i += every) boundaries.push_back(calls[i].called);
  boundaries.push_back(end_of(trace));
  return boundaries;
}

// The last that had begun.
std::optional<std::size_t> step_at(const std::vector<StepProfile>& steps, TraceTime time) {
  const auto after = std::ranges::upper_bound(steps, time, {}, &StepProfile::host_start);
  if (after == steps.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - steps.begin()) - 1;
}

using Busy = stats::IntervalSet<TraceTime>;

struct DeviceWork {
  std::vector<Busy::Interval> tasks, calls;
  std::vector<const Task*> launched;  // in order of their launches, where known
};

std::vector<DeviceWork> work_of(const DeviceTrace& trace, std::vector<StepProfile>& steps) {
  std::vector<DeviceWork> work(steps.size());
  for (const Task& task : trace.tasks) {
    const auto step = step_at(steps, task.launched.value_or(task.start));
    if (!step) continue;
    work[*step].tasks.push_back({task.start, task.end});
    if (task.launched) work[*step].launched.push_back(&task);
  }
  for (std::size_t i = 0; i < trace.collectives.size(); ++i) {
    const TracedCollective& call = trace.collectives[i];
    const auto step = step_at(steps, call.called);
    if (!step) continue;
    ProfiledCall profiled;
    profiled.collective = i;
    profiled.called = seconds_of(call.called - steps[*step].host_start);
    steps[*step].calls.push_back(profiled);
    if (call.device) work[*step].calls.push_back({call.device->start, call.device->end});
  }
  return work;
}

using Launches = std::vector<const Task*>::const_iterator;

// By what the tasks of one launch are in the order of their ends.
std::pair<TraceTime, TraceTime> launch_and_end(const Task* task) {
  return {*task->launched, task->end};
}

// A graph's tasks are asked for at once, with its collectives: those done when the collective began
// count, too. `done` is when the tasks asked for before were.
std::optional<TraceTime> ready_in_graph(const TracedCollective& traced, Launches next, Launches end,
                                        std::optional<TraceTime> done) {
  if (!traced.device) return done;
  const auto behind = std::ranges::upper_bound(
      next, end, std::pair(traced.called, traced.device->start), {}, launch_and_end);
  if (behind == next) return done;
  const TraceTime last = (*std::prev(behind))->end;
  return std::max(done.value_or(last), last);
}

// When what was launched before each call is done, of all streams: which computes is not told.
void find_ready_times(const DeviceTrace& trace, DeviceWork& work, StepProfile& step) {
  std::ranges::sort(work.launched, {}, launch_and_end);
  std::ranges::sort(step.calls, {}, &ProfiledCall::called);
  std::optional<TraceTime> done;
  auto next = work.launched.begin();
  for (ProfiledCall& call : step.calls) {
    const TracedCollective& traced = trace.collectives[call.collective];
    for (; next != work.launched.end() && *(*next)->launched < traced.called; ++next) {
      done = std::max(done.value_or((*next)->end), (*next)->end);
    }
    const auto ready = ready_in_graph(traced, next, work.launched.end(), done);
    if (ready) call.ready = seconds_of(*ready - step.host_start);
    if (!traced.device) continue;
    call.start = seconds_of(traced.device->start - step.host_start);
    call.end = seconds_of(traced.device->end - step.host_start);
  }
}

// Of a step and those beside it: hosts run ahead of their devices, which go on meanwhile.
std::vector<Busy::Interval> tasks_near(const std::vector<DeviceWork>& work, std::size_t step) {
  std::vector<Busy::Interval> near;
  const std::size_t last = std::min(step + 1, work.size() - 1);
  for (std::size_t i = step > 0 ? step - 1 : 0; i <= last; ++i) {
    near.insert(near.end(), work[i].tasks.begin(), work[i].tasks.end());
  }
  return near;
}

void count_gradients(const DeviceTrace& trace, std::vector<StepProfile>& steps) {
  for (const DeviceTrace::Gradient& gradient : trace.gradients) {
    const auto at = step_at(steps, gradient.ready);
    if (!at) continue;
    StepProfile& step = steps[*at];
    const Seconds since = seconds_of(gradient.ready - step.host_start);
    ++step.gradients;
    step.first_gradient = std::min(step.first_gradient.value_or(since), since);
    step.last_gradient = std::max(step.last_gradient.value_or(since), since);
  }
}

// The last step on the device of a file that is cut off may lack work: where others have a length,
// it and those after it have none.
void drop_cut_lengths(std::vector<StepProfile>& steps) {
  const auto works = [](const StepProfile& step) {
    return step.compute > Seconds(0) || step.communication > Seconds(0);
  };
  const auto last = std::find_if(steps.rbegin(), steps.rend(), works);
  if (last == steps.rend()) return;
  const auto cut = std::prev(last.base());
  if (std::none_of(steps.begin(), cut, [](const auto& step) { return step.length.has_value(); })) {
    return;
  }
  for (auto step = cut; step != steps.end(); ++step) step->length.reset();
}

}  // namespace

std::vector<StepProfile> repeated_steps(const DeviceTrace& trace) {
  if (!trace.has_times) return {};
  auto steps = between(optimizer_ends(trace));
  return steps.empty() ? between(first_calls(trace)) : steps;
}

std::vector<StepProfile> profile_steps(const DeviceTrace& trace) {
  std::vector<StepProfile> steps = named_steps(trace);
  if (steps.empty()) steps = repeated_steps(trace);
  std::vector<DeviceWork> work = work_of(trace, steps);
  std::optional<TraceTime> before;
  if (steps.size() == 1) before = steps.front().host_start;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    find_ready_times(trace, work[i], steps[i]);
    std::optional<TraceTime> end;
    for (const auto* list : {&work[i].tasks, &work[i].calls}) {
      for (const Busy::Interval& one : *list) end = std::max(end.value_or(one.end), one.end);
    }
    const Busy tasks(work[i].tasks), beside(tasks_near(work, i)), calls(std::move(work[i].calls));
    steps[i].compute = seconds_of(tasks.length());
    steps[i].beside = seconds_of(tasks.covered(calls));
    steps[i].communication = seconds_of(calls.length());
    steps[i].exposed = steps[i].communication - seconds_of(beside.covered(calls));
    TraceTime done = end.value_or(steps[i].host_end);
    if (steps.size() == 1) done = std::max(done, steps[i].host_end);
    if (before) steps[i].length = seconds_of(done - *before);
    steps[i].end = done;
    before = done;
  }
  count_gradients(trace, steps);
  if (trace.is_cut) drop_cut_lengths(steps);
  return steps;
}

}  // namespace paceline::traces
