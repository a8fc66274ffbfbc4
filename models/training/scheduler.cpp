#include "models/training/scheduler.h"

#include <algorithm>
#include <utility>

#include "models/contract.h"

namespace paceline::training {

LaneQueues::LaneQueues(const StepProgram& program)
    : program_(program), queues_(program.lanes.size()) {
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    queues_[program.operations[id].lane].push_back(id);
  }
}

Scheduler::Scheduler(const LaneQueues& queues, Seconds begin)
    : queues_(&queues),
      begin_(begin),
      intervals_(queues.program().operations.size()),
      finished_(intervals_.size()),
      left_(intervals_.size()) {
  for (const Lane& lane : queues.program().lanes) {
    LaneState& state = lanes_.emplace_back();
    state.unused_slots = lane.in_flight;
    state.last_start = {begin, std::nullopt};
  }
}

bool Scheduler::has_started_all(LaneId lane) const {
  return lanes_[lane].started == queues_->of(lane).size();
}

bool Scheduler::may_start_head(LaneId lane) {
  LaneState& state = lanes_[lane];
  const auto queue = queues_->of(lane);
  if (state.started == queue.size()) return false;
  if (state.unused_slots == 0 && state.freed_slots.empty()) return false;
  const auto& after = queues_->program().operations[queue[state.started]].after;
  // What was found finished stays so: a head is looked at often.
  while (state.checked < after.size() && finished_[after[state.checked]]) ++state.checked;
  return state.checked == after.size();
}

namespace {

constexpr auto is_later = [](const auto& a, const auto& b) {
  return std::pair(a.at, a.by) > std::pair(b.at, b.by);
};

}  // namespace

Scheduler::Release Scheduler::take_slot(LaneState& lane) {
  if (lane.unused_slots > 0) {
    --lane.unused_slots;
    return {begin_, std::nullopt};
  }
  std::ranges::pop_heap(lane.freed_slots, is_later);
  const Release freed = lane.freed_slots.back();
  lane.freed_slots.pop_back();
  return freed;
}

std::optional<Scheduler::Start> Scheduler::next(LaneId lane) {
  if (!may_start_head(lane)) return std::nullopt;
  LaneState& state = lanes_[lane];
  const OperationId id = queues_->of(lane)[state.started++];
  state.checked = 0;
  // The latest of these released it; of several at once a dependency tells more than a slot.
  Release release = state.last_start;
  const auto wait_for = [&release](const Release& other) {
    if (other.at >= release.at && other.by) release = other;
  };
  wait_for(take_slot(state));
  for (const OperationId before : queues_->program().operations[id].after) {
    wait_for({intervals_[before].end, before});
  }
  state.last_start = release;
  intervals_[id].start = release.at;
  intervals_[id].released_by = release.by;
  return Start{id, release.at};
}

std::optional<Scheduler::Start> Scheduler::next() {
  for (LaneId lane = 0; lane < lanes_.size(); ++lane) {
    if (const auto start = next(lane)) return start;
  }
  return std::nullopt;
}

bool Scheduler::may_start(OperationId operation) const {
  return std::ranges::all_of(queues_->program().operations[operation].after,
                             [&](OperationId before) { return finished_[before]; });
}

void Scheduler::start(OperationId operation, Seconds at) {
  PACELINE_EXPECTS(may_start(operation));
  const Operation& started = queues_->program().operations[operation];
  ++lanes_[started.lane].started;
  intervals_[operation].start = at;
  const auto last = std::ranges::max_element(
      started.after, {}, [&](OperationId before) { return intervals_[before].end; });
  if (last != started.after.end()) intervals_[operation].released_by = *last;
}

void Scheduler::finish(OperationId operation, Seconds end) {
  PACELINE_EXPECTS(!finished_[operation] && end >= intervals_[operation].start);
  intervals_[operation].end = end;
  finished_[operation] = true;
  --left_;
  LaneState& lane = lanes_[queues_->program().operations[operation].lane];
  lane.freed_slots.push_back({end, operation});
  std::ranges::push_heap(lane.freed_slots, is_later);
}

std::vector<Seconds> ends_without_calls(const StepProgram& program) {
  const LaneQueues queues(program);
  Scheduler scheduler(queues);
  std::vector<Seconds> ends;
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    const Operation& operation = program.operations[id];
    const Seconds start = scheduler.next(operation.lane)->at;
    const auto* time = std::get_if<Seconds>(&operation.work);
    ends.push_back(time == nullptr ? start : start + *time);
    scheduler.finish(id, ends.back());
  }
  return ends;
}

}  // namespace paceline::training
