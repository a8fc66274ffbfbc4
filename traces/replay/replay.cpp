#include "traces/replay/replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/contract.h"
#include "models/run/as_it_ran.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using training::CollectiveCall;
using training::Operation;
using training::OperationId;
using training::OperationKind;

struct RankStep {
  const training::StepProgram& program;
  const std::vector<training::Interval>& intervals;

  [[nodiscard]] Seconds duration(OperationId id) const {
    return intervals[id].end - intervals[id].start;
  }
};

bool is_input(const Operation& operation) { return operation.kind == OperationKind::input; }

bool is_compute(const Operation& operation) {
  using enum OperationKind;
  return operation.kind != collective && operation.kind != input && operation.kind != launch;
}

Seconds time_of(const RankStep& step, bool (*counts)(const Operation&)) {
  Seconds sum;
  for (OperationId id = 0; id < step.intervals.size(); ++id) {
    if (counts(step.program.operations[id])) sum += step.duration(id);
  }
  return sum;
}

bool is_told(const CollectiveCall& call, Collective collective) {
  return !call.is_untold && call.collective == collective;
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
workload::DataType gradient_type(const training::StepProgram& program) {
  for (const Operation& operation : program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr || !is_told(*call, Collective::all_reduce)) continue;
    const auto type = type_of(call->element_size);
    if (type && *type != workload::DataType::int64) return *type;
  }
  return workload::DataType::float32;
}

void take_apart(const RankStep& step, TracedCompute& made) {
  workload::Workload& workload = made.workload;
  const auto gradients_are = gradient_type(step.program);
  workload::TimedLayer before{"forward", {}, {}, {}, {}};
  std::vector<workload::TimedLayer> backward;  // in the order of gradients
  Seconds since;                               // compute that made no gradient ready yet
  bool all_known = true;
  for (OperationId id = 0; id < step.intervals.size(); ++id) {
    const Operation& operation = step.program.operations[id];
    if (const CollectiveCall* call = call_of(operation)) {
      const auto type = type_of(call->element_size);
      if (is_told(*call, Collective::broadcast) && backward.empty() && type) {
        before.buffers.push_back({call->count, *type});
      } else if (!is_told(*call, Collective::all_reduce)) {
        ++made.other_calls;
      }
    }
    if (!is_compute(operation)) continue;
    since += step.duration(id);
    if (operation.gradients.empty()) continue;
    workload::TimedLayer layer{operation.name, {}, std::exchange(since, Seconds(0)), {}, {}};
    if (backward.empty()) before.forward = std::exchange(layer.backward, Seconds(0));
    for (const ElementCount count : operation.gradients) {
      layer.parameters.push_back({operation.name, count, gradients_are});
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

TracedCompute traced_compute(const StepTrace& trace) {
  PACELINE_EXPECTS(!trace.classes.empty());
  TracedCompute made;
  made.workload.device = timeless_device();
  const StepTrace apart = laid_apart(trace);
  const auto ranks = by_rank(apart);
  std::vector<Seconds> late;
  for (const auto* rank : ranks) late.push_back(time_of({apart.program, *rank}, is_input));
  const Seconds first = std::ranges::min(late);
  std::vector<std::pair<Seconds, std::size_t>> done;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    done.emplace_back(late[r] - first + time_of({apart.program, *ranks[r]}, is_compute), r);
  }
  auto sorted = done;
  std::ranges::sort(sorted);
  const std::size_t rank = sorted[(sorted.size() - 1) / 2].second;
  const Seconds median = time_of({apart.program, *ranks[rank]}, is_compute);
  for (const auto& [at, r] : done) {
    made.slowdown.push_back(median > Seconds(0) ? at / median : 1.0);
  }
  take_apart({apart.program, *ranks[rank]}, made);
  return made;
}

}  // namespace paceline::traces
