#include "traces/replay/replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/contract.h"
#include "models/run/call_times.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using training::CollectiveCall;
using training::LaneKind;
using training::OperationId;
using training::OperationKind;

// The spans of each rank, in the order of ranks.
std::vector<const std::vector<Span>*> by_rank(const StepTrace& trace) {
  std::vector<std::pair<Rank, const std::vector<Span>*>> ranks;
  for (const RankClass& members : trace.classes) {
    for (const Rank rank : members.ranks) ranks.emplace_back(rank, &members.spans);
  }
  std::ranges::sort(ranks, {}, [](const auto& one) { return one.first; });
  std::vector<const std::vector<Span>*> spans;
  for (const auto& [rank, list] : ranks) spans.push_back(list);
  return spans;
}

// With compute that begins when the compute before it on its lane is done. Measured spans begin
// when they were due, though their rank may have woken late from those before.
StepTrace laid_apart(StepTrace trace) {
  for (RankClass& members : trace.classes) {
    std::vector<Seconds> done(trace.lanes.size());
    for (Span& span : members.spans) {
      if (span.kind == OperationKind::collective || trace.lanes[span.lane].in_flight > 1) continue;
      span.start = std::min(std::max(span.start, done[span.lane]), span.end);
      done[span.lane] = std::max(done[span.lane], span.end);
    }
  }
  return trace;
}

class Program {
 public:
  explicit Program(const StepTrace& trace)
      : trace_(trace),
        ranks_(by_rank(trace)),
        first_(trace.classes.front().spans),
        calls_(calls_of(trace)) {
    made_.program.lanes = trace.lanes;
    for (OperationId id = 0; id < first_.size(); ++id) {
      if (first_[id].kind == OperationKind::collective) last_call_ = id;
    }
  }

  TracedProgram build() && {
    for (OperationId id = 0; id < first_.size(); ++id) {
      if (first_[id].kind == OperationKind::collective) {
        add_call(id);
      } else {
        add_compute(id);
      }
    }
    return std::move(made_);
  }

 private:
  [[nodiscard]] const Span& span(std::size_t rank, OperationId id) const {
    return (*ranks_[rank])[id];
  }

  void add_compute(OperationId id) {
    const Span& span = first_[id];
    Seconds most;
    std::vector<Seconds> times;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      times.push_back(this->span(r, id).end - this->span(r, id).start);
      most = std::max(most, times.back());
    }
    training::Operation operation{span.name, span.kind, span.lane, waits_of(id), most};
    if (most > Seconds(0) && std::ranges::any_of(times, [&](Seconds t) { return t != most; })) {
      for (const Seconds time : times) operation.rank_parts.push_back(time / most);
    }
    made_.program.add(std::move(operation));
    last_compute_ = id;
  }

  void add_call(OperationId id) {
    const Span& span = first_[id];
    CollectiveCall call{span.collective.value_or(Collective::all_reduce), ElementCount(0),
                        ElementSize(1), Rank(0), "traced"};
    if (span.collective && span.element_size > ElementSize(0) && span.size > Bytes(0)) {
      call.element_size = span.element_size;
      call.count = ElementCount(span.size.value() / span.element_size.value());
    } else {
      ++made_.untold_calls;
    }
    call.known_time = std::max(Seconds(0), calls_[next_call_++].together());
    std::vector<OperationId> after;
    if (last_compute_) after = {*last_compute_};
    made_.program.add({span.name, span.kind, span.lane, std::move(after), std::move(call)});
  }

  // Whether a call had ended when an operation began, on every rank.
  [[nodiscard]] bool ended_before(OperationId call, OperationId id) const {
    return std::ranges::all_of(trace_.classes, [&](const RankClass& members) {
      return members.spans[call].end <= members.spans[id].start;
    });
  }

  // Whether some rank idled until the end of a call.
  [[nodiscard]] bool was_waited_for(OperationId call, OperationId id) const {
    return std::ranges::any_of(trace_.classes, [&](const RankClass& members) {
      const Seconds idle_from = last_compute_ ? members.spans[*last_compute_].end : Seconds(0);
      const Seconds end = members.spans[call].end;
      return end > idle_from && end <= members.spans[id].start;
    });
  }

  [[nodiscard]] std::vector<OperationId> waits_of(OperationId id) const {
    std::vector<OperationId> waits;
    bool waited = false;
    for (OperationId call = id; call-- > 0;) {
      if (first_[call].kind != OperationKind::collective || !ended_before(call, id)) continue;
      if (first_[call].collective == Collective::all_reduce) {
        if (!first_[id].gradients.empty()) continue;
        waited = waited || id > last_call_ || was_waited_for(call, id);
        if (!waited) continue;
      }
      waits.push_back(call);
    }
    std::ranges::reverse(waits);
    return waits;
  }

  const StepTrace& trace_;
  std::vector<const std::vector<Span>*> ranks_;
  const std::vector<Span>& first_;
  std::vector<CallTimes> calls_;
  std::size_t next_call_ = 0;
  OperationId last_call_ = 0;
  std::optional<OperationId> last_compute_;
  TracedProgram made_;
};

bool is_compute(const Span& span) {
  return span.kind != OperationKind::collective && span.kind != OperationKind::input;
}

Seconds compute_of(const std::vector<Span>& spans) {
  Seconds sum;
  for (const Span& span : spans) {
    if (is_compute(span)) sum += span.end - span.start;
  }
  return sum;
}

// One that copies and casts in no time: what they took is in the traced times.
workload::Device timeless_device() {
  workload::Device device;
  device.name = "as traced";
  device.memory_bandwidth = BytesPerSecond(1e30);
  device.attained_memory = 1;
  return device;
}

std::optional<workload::DataType> type_of(ElementSize size) {
  if (size == ElementSize(2)) return workload::DataType::float16;
  if (size == ElementSize(4)) return workload::DataType::float32;
  if (size == ElementSize(8)) return workload::DataType::int64;
  return std::nullopt;
}

// What the gradients' own all-reduces are made of.
workload::DataType gradient_type(const std::vector<Span>& spans) {
  for (const Span& span : spans) {
    if (span.collective != Collective::all_reduce) continue;
    const auto type = type_of(span.element_size);
    if (type && *type != workload::DataType::int64) return *type;
  }
  return workload::DataType::float32;
}

void take_apart(const std::vector<Span>& spans, TracedCompute& made) {
  workload::Workload& workload = made.workload;
  const auto gradients_are = gradient_type(spans);
  workload::TimedLayer before{"forward", {}, {}, {}, {}};
  std::vector<workload::TimedLayer> backward;  // in the order of gradients
  Seconds since;                               // compute that made no gradient ready yet
  bool all_known = true;
  for (const Span& span : spans) {
    if (span.kind == OperationKind::collective) {
      const auto type = type_of(span.element_size);
      if (span.collective == Collective::broadcast && backward.empty() && type) {
        const ElementCount count(span.size.value() / span.element_size.value());
        before.buffers.push_back({count, *type});
      } else if (span.collective != Collective::all_reduce) {
        ++made.other_calls;
      }
    }
    if (!is_compute(span)) continue;
    since += span.end - span.start;
    if (span.gradients.empty()) continue;
    workload::TimedLayer layer{span.name, {}, std::exchange(since, Seconds(0)), {}, {}};
    if (backward.empty()) before.forward = std::exchange(layer.backward, Seconds(0));
    for (const ElementCount count : span.gradients) {
      layer.parameters.push_back({span.name, count, gradients_are});
      all_known = all_known && count > ElementCount(0);
      ++made.gradients;
    }
    backward.push_back(std::move(layer));
  }
  if (!all_known) made.gradients = 0;
  if (backward.empty()) {
    before.forward = since;
  } else {
    workload.optimizer = since;
  }
  workload.layers.push_back(std::move(before));
  std::move(backward.rbegin(), backward.rend(), std::back_inserter(workload.layers));
}

}  // namespace

TracedProgram traced_program(const StepTrace& trace) {
  PACELINE_EXPECTS(!trace.classes.empty());
  const StepTrace apart = laid_apart(trace);
  return Program(apart).build();
}

TracedCompute traced_compute(const StepTrace& trace) {
  PACELINE_EXPECTS(!trace.classes.empty());
  TracedCompute made;
  made.workload.device = timeless_device();
  const StepTrace apart = laid_apart(trace);
  const auto ranks = by_rank(apart);
  std::vector<std::pair<Seconds, std::size_t>> computes;
  for (std::size_t r = 0; r < ranks.size(); ++r) computes.emplace_back(compute_of(*ranks[r]), r);
  auto sorted = computes;
  std::ranges::sort(sorted);
  const auto [median, rank] = sorted[(sorted.size() - 1) / 2];
  for (const auto& [compute, r] : computes) {
    made.slowdown.push_back(median > Seconds(0) ? compute / median : 1.0);
  }
  take_apart(*ranks[rank], made);
  return made;
}

}  // namespace paceline::traces
