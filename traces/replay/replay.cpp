#include "traces/replay/replay.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/cost/closed_step.h"

namespace paceline::traces {
namespace {

using training::CollectiveCall;
using training::LaneId;
using training::LaneKind;
using training::OperationId;
using training::OperationKind;
using training::StepProgram;

CollectiveCall call_of(const TracedCollective& traced) {
  CollectiveCall call{*traced.collective, *traced.count, *traced.element_size, Rank(0), "traced"};
  call.known_time = seconds_of(traced.device->end - traced.device->start);
  return call;
}

bool is_told(const TracedCollective& traced) {
  return traced.collective && traced.count && traced.element_size;
}

// When the device began what was asked for after a time on the host, within the step.
std::optional<TraceTime> first_after(const DeviceTrace& trace, TraceTime asked, TraceTime end) {
  std::optional<TraceTime> first;
  for (const DeviceTrace::Task& task : trace.tasks) {
    if (!task.launched || *task.launched < asked || task.end > end) continue;
    first = std::min(first.value_or(task.start), task.start);
  }
  return first;
}

class Builder {
 public:
  Builder(const DeviceTrace& trace, const StepProfile& step)
      : trace_(trace),
        step_(step),
        begin_(step.end - static_cast<TraceTime>(step.length->value() * 1e9 + 0.5)),
        cursor_(begin_),
        compute_(replay_.program.add_lane({"compute", LaneKind::compute})),
        network_(replay_.program.add_lane({"communication", LaneKind::communication})) {}

  Replay build() {
    for (const ProfiledCall& call : step_.calls) add(call);
    add_rest();
    return std::move(replay_);
  }

 private:
  void add_compute(TraceTime until, OperationKind kind, std::vector<OperationId> after) {
    const Seconds time = seconds_of(std::max<TraceTime>(0, until - cursor_));
    computed_ = replay_.program.add({"compute", kind, compute_, std::move(after), time});
    cursor_ = std::max(cursor_, until);
  }

  void add(const ProfiledCall& call) {
    const TracedCollective& traced = trace_.collectives[call.collective];
    if (!traced.device || traced.device->end > step_.end) return;
    if (!is_told(traced)) {
      ++replay_.left_out;
      return;
    }
    add_compute(ready_at(call, traced.device->start), OperationKind::backward, {});
    calls_.push_back(replay_.program.add(
        {traced.kind, OperationKind::collective, network_, {*computed_}, call_of(traced)}));
    last_end_ = std::max(last_end_, traced.device->end);
    last_asked_ = std::max(last_asked_, traced.returned);
  }

  // A call that began right behind another may have been ready before. One that did not waited for
  // its gradients, or for the host, which counts as compute.
  [[nodiscard]] TraceTime ready_at(const ProfiledCall& call, TraceTime start) const {
    constexpr TraceTime right_behind =
        20'000;  // ns: more than a stream takes from kernel to kernel
    if (calls_.empty() || start > last_end_ + right_behind || !call.ready) return start;
    const auto done = step_.host_start + static_cast<TraceTime>(call.ready->value() * 1e9 + 0.5);
    return std::clamp(done, std::min(cursor_, start), start);
  }

  void add_rest() {
    if (calls_.empty()) return add_compute(step_.end, OperationKind::backward, {});
    const auto first = first_after(trace_, last_asked_, step_.end);
    const bool waits = !first || *first >= last_end_;
    if (waits) cursor_ = std::max(cursor_, last_end_);
    add_compute(step_.end, OperationKind::optimizer, waits ? calls_ : std::vector<OperationId>{});
  }

  const DeviceTrace& trace_;
  const StepProfile& step_;
  Replay replay_;
  TraceTime begin_, cursor_;  // up to where compute has been told
  LaneId compute_, network_;
  std::optional<OperationId> computed_;
  std::vector<OperationId> calls_;
  TraceTime last_end_ = std::numeric_limits<TraceTime>::min(), last_asked_ = last_end_;
};

}  // namespace

Replay replay_of(const DeviceTrace& trace, const StepProfile& step) {
  PACELINE_EXPECTS(step.length.has_value());
  return Builder(trace, step).build();
}

Seconds replayed(const StepProgram& program) {
  ResolvedPoint point;
  point.fidelity = Fidelity::closed;
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);  // of links that nothing crosses
  point.program = program;
  return cost::predict_closed(std::move(point)).totals.step;
}

}  // namespace paceline::traces
