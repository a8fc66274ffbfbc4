#include "traces/learn/step_profile.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/stats/interval_set.h"
#include "traces/learn/repeated_steps.h"

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

// The step that the host was in at a time; the last that had begun.
std::optional<std::size_t> step_at(const std::vector<StepProfile>& steps, TraceTime time) {
  const auto after = std::ranges::upper_bound(steps, time, {}, &StepProfile::host_start);
  if (after == steps.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - steps.begin()) - 1;
}

using Busy = stats::IntervalSet<TraceTime>;

// Of one step, on the device.
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

// What a graph holds is asked for at once, with its collectives: of those tasks the ones that were
// done when the collective began count, too. `done` is when the tasks asked for before were.
std::optional<TraceTime> ready_in_graph(const TracedCollective& traced, Launches next, Launches end,
                                        std::optional<TraceTime> done) {
  if (!traced.device) return done;
  const auto behind = std::ranges::upper_bound(
      next, end, std::pair(traced.called, traced.device->start), {}, launch_and_end);
  if (behind == next) return done;
  const TraceTime last = (*std::prev(behind))->end;
  return std::max(done.value_or(last), last);
}

// When the tasks launched before each call of the step are done; of the streams together, as which
// of them computes is not told.
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

// Of a file that is cut off the last step that the device was in may lack work: where others have a
// length, it has none, nor have those after it.
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

std::optional<Seconds> median_length(const std::vector<StepProfile>& steps) {
  std::vector<Seconds> lengths;
  for (const StepProfile& step : steps) {
    if (step.length) lengths.push_back(*step.length);
  }
  if (lengths.empty()) return std::nullopt;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::ranges::nth_element(lengths, middle);
  return *middle;
}

}  // namespace paceline::traces
