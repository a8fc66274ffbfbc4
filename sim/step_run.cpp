#include "sim/step_run.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace paceline::sim {

using training::CollectiveCall;
using training::Operation;
using training::OperationId;

StepRun::StepRun(const training::StepProgram& program, std::vector<StepActor> actors,
                 Network& network, TableOf table_of, bool wires)
    : program_(program),
      actors_(std::move(actors)),
      network_(network),
      table_of_(std::move(table_of)),
      successors_(program.operations.size()),
      lane_operations_(program.lanes.size()),
      runs_(program.operations.size()),
      actors_left_(program.operations.size(), static_cast<Actor>(actors_.size())) {
  if (wires) wires_.emplace();
  const auto& operations = program.operations;
  std::vector<std::uint32_t> waits(operations.size());
  for (OperationId id = 0; id < operations.size(); ++id) {
    lane_operations_[operations[id].lane].push_back(id);
    waits[id] = static_cast<std::uint32_t>(operations[id].after.size());
    for (const OperationId before : operations[id].after) successors_[before].push_back(id);
  }
  ActorState fresh{
      waits, std::vector<bool>(operations.size()), std::vector<LaneState>(program.lanes.size()),
      std::vector<Seconds>(operations.size()), std::vector<Seconds>(operations.size())};
  states_.assign(actors_.size(), fresh);
}

void StepRun::start() {
  for (Actor a = 0; a < actors_.size(); ++a) start_ready(a);
}

void StepRun::start_ready(Actor actor) {
  ActorState& state = states_[actor];
  for (std::size_t lane = 0; lane < lane_operations_.size(); ++lane) {
    const auto& queue = lane_operations_[lane];
    const std::size_t in_flight = program_.lanes[lane].in_flight;
    // Looked up anew each time: what starts may finish at once and start more.
    while (state.lanes[lane].started < queue.size() &&
           state.lanes[lane].started < state.lanes[lane].done + in_flight &&
           state.waits[queue[state.lanes[lane].started]] == 0) {
      start(actor, queue[state.lanes[lane].started++]);
    }
  }
}

void StepRun::start(Actor actor, OperationId id) {
  states_[actor].start[id] = network_.now();
  const Operation& operation = program_.operations[id];
  if (const auto* time = std::get_if<Seconds>(&operation.work)) {
    const StepActor& who = actors_[actor];
    network_.at(network_.now() + *time * who.slowdown * operation.part_of(who.ranks.front()),
                [this, actor, id] { finish(actor, id); });
    return;
  }
  const CallTable& table = table_of_(id);
  if (!runs_[id]) {
    runs_[id] = std::make_unique<CollectiveRun>(table, network_, wires_ ? &*wires_ : nullptr,
                                                [this, id](Actor done) { finish(done, id); });
  }
  if (table.start > Seconds(0)) {
    network_.at(network_.now() + table.start, [this, actor, id] { runs_[id]->join(actor); });
  } else {
    runs_[id]->join(actor);
  }
}

void StepRun::finish(Actor actor, OperationId id) {
  ActorState& state = states_[actor];
  state.end[id] = network_.now();
  state.done[id] = true;
  --actors_left_[id];
  for (const OperationId next : successors_[id]) --state.waits[next];
  const training::LaneId lane = program_.operations[id].lane;
  const auto& queue = lane_operations_[lane];
  LaneState& progress = state.lanes[lane];
  while (progress.done < progress.started && state.done[queue[progress.done]]) ++progress.done;
  start_ready(actor);
}

StepTrace StepRun::trace() const {
  for (const Actor left : actors_left_) {
    if (left > 0) throw std::logic_error("operations are left that wait for one another");
  }
  std::vector<RankClass> classes;
  for (Actor a = 0; a < actors_.size(); ++a) {
    RankClass& members = classes.emplace_back(RankClass{actors_[a].ranks, {}});
    for (OperationId id = 0; id < program_.operations.size(); ++id) {
      members.spans.push_back(
          span_of(program_.operations[id], states_[a].start[id], states_[a].end[id]));
    }
  }
  return {program_.lanes, joined(std::move(classes))};
}

std::vector<CollectiveRun*> StepRun::live_calls() const {
  std::vector<CollectiveRun*> live;
  for (OperationId id = 0; id < runs_.size(); ++id) {
    if (runs_[id] && actors_left_[id] > 0) live.push_back(runs_[id].get());
  }
  return live;
}

}  // namespace paceline::sim
