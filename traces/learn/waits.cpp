#include <algorithm>

#include "traces/learn/traced_step.h"

namespace paceline::traces {
namespace {

using LaunchedTask = DeviceTrace::Task;

class Work {
 public:
  explicit Work(const RankStep& rank)
      : by_launch_(rank.launched), by_start_(rank.launched), begin_(rank.begin) {
    first_from_.resize(by_launch_.size());
    const LaunchedTask* first = nullptr;
    for (std::size_t i = by_launch_.size(); i-- > 0;) {
      if (first == nullptr || by_launch_[i]->start < first->start) first = by_launch_[i];
      first_from_[i] = first;
    }
    std::ranges::stable_sort(by_start_, {}, &LaunchedTask::start);
    TraceTime done = rank.begin;
    for (const LaunchedTask* task : by_start_) done_.push_back(done = std::max(done, task->end));
  }

  // Of what the host launched after a call, what the device began on first; null without any.
  [[nodiscard]] const LaunchedTask* after(const TracedCollective& call) const {
    const auto later = std::ranges::upper_bound(by_launch_, call.returned, {},
                                                [](const auto* task) { return *task->launched; });
    if (later == by_launch_.end()) return nullptr;
    return first_from_[static_cast<std::size_t>(later - by_launch_.begin())];
  }

  [[nodiscard]] TraceTime done_before(const LaunchedTask& task) const {
    const auto at = std::ranges::lower_bound(by_start_, task.start, {}, &LaunchedTask::start);
    return at == by_start_.begin() ? begin_
                                   : done_[static_cast<std::size_t>(at - by_start_.begin()) - 1];
  }

 private:
  std::vector<const LaunchedTask*> by_launch_, by_start_;
  std::vector<const LaunchedTask*> first_from_;  // by launch, of this and all later
  std::vector<TraceTime> done_;                  // by start, up to each
  TraceTime begin_;
};

enum class Seen { passed, after, idle, waited };

// Whether the host let the work that it launched next wait for the call.
bool was_told_to_wait(const std::vector<DeviceTrace::Wait>& waits, const TracedCollective& call,
                      const LaunchedTask& next) {
  const auto& of = call.device->stream;
  if (of && *of == next.stream) return true;
  const auto at = [](const DeviceTrace::Wait& wait) { return wait.at; };
  const auto first = std::ranges::lower_bound(waits, call.called, {}, at);
  const auto last = std::ranges::upper_bound(waits, *next.launched, {}, at);
  return std::any_of(first, last, [&](const DeviceTrace::Wait& wait) {
    return wait.recorded >= call.called && (!wait.of || !of || *wait.of == *of) &&
           (!wait.stream || *wait.stream == next.stream);
  });
}

Seen seen(const DeviceTrace& trace, const Work& work, const TracedCollective& call) {
  const LaunchedTask* next = work.after(call);
  if (!call.device || next == nullptr || next->start < call.device->end) return Seen::passed;
  if (!trace.waits.empty()) {
    return was_told_to_wait(trace.waits, call, *next) ? Seen::waited : Seen::passed;
  }
  const TraceTime end = call.device->end;
  if (work.done_before(*next) >= end) return Seen::after;  // busy: a wait cost nothing
  if (next->start - end > right_behind) return Seen::after;
  return *next->launched <= end ? Seen::waited : Seen::idle;
}

bool is_all_reduce(const TracedCollective& call) {
  return call.collective == collectives::Collective::all_reduce;
}

}  // namespace

Waits waits_for_calls(const std::vector<RankStep>& ranks) {
  std::vector<Work> work(ranks.begin(), ranks.end());
  const std::size_t items = ranks.front().items.size();
  Waits waits{std::vector<bool>(items), 0};
  bool gradients_follow = false;
  for (std::size_t i = items; i-- > 0;) {
    if (ranks.front().items[i].call == nullptr) {
      gradients_follow = true;
      continue;
    }
    bool is_passed = false, is_waited = false, is_idle = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const Seen on_rank = seen(*ranks[r].trace, work[r], *ranks[r].items[i].call);
      is_passed = is_passed || on_rank == Seen::passed;
      is_waited = is_waited || on_rank == Seen::waited;
      is_idle = is_idle || on_rank == Seen::idle;
    }
    const bool may_be_bucket = gradients_follow && is_all_reduce(*ranks.front().items[i].call);
    waits.of_item[i] = !is_passed && (!may_be_bucket || is_waited);
    if (!is_passed && may_be_bucket && !is_waited && is_idle) ++waits.unclear;
  }
  return waits;
}

}  // namespace paceline::traces
