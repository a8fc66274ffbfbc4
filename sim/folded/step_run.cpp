#include "sim/folded/step_run.h"

#include <stdexcept>
#include <utility>

namespace paceline::sim {

using training::CollectiveCall;
using training::Operation;
using training::OperationId;

StepRun::StepRun(const training::StepProgram& program, std::vector<StepActor> actors,
                 Network& network, TableOf table_of, std::optional<Wires> wires)
    : program_(program),
      actors_(std::move(actors)),
      network_(network),
      table_of_(std::move(table_of)),
      wires_(std::move(wires)),
      queues_(program) {}

void StepRun::start() {
  schedulers_.assign(actors_.size(), training::Scheduler(queues_, network_.now()));
  for (Actor a = 0; a < actors_.size(); ++a) start_ready(a);
}

void StepRun::start_ready(Actor actor) {
  // Repeated until nothing may start: an operation may finish at once and let others start.
  while (const auto ready = schedulers_[actor].next()) start(actor, ready->operation);
}

void StepRun::start(Actor actor, OperationId id) {
  const Operation& operation = program_.operations[id];
  if (const auto* time = std::get_if<Seconds>(&operation.work)) {
    const StepActor& who = actors_[actor];
    if (who.is_server()) return schedulers_[actor].finish(id, network_.now());
    network_.at(network_.now() + *time * operation.times_on(who.ranks.front(), who.slowdown),
                [this, actor, id] { finish(actor, id); });
    return;
  }
  const CallTable& table = table_of_(id);
  const auto [entry, is_new] = live_.try_emplace(id);
  if (is_new) {
    runs_.push_back(std::make_unique<CollectiveRun>(table, network_, wires_ ? &*wires_ : nullptr,
                                                    [this, id](Actor done) { finish(done, id); }));
    entry->second = {runs_.back().get(), static_cast<Actor>(actors_.size())};
  }
  CollectiveRun* run = entry->second.run;
  const Seconds before = table.start + call_of(operation)->held;
  if (before > Seconds(0)) {
    network_.at(network_.now() + before, [run, actor] { run->join(actor); });
  } else {
    run->join(actor);
  }
}

void StepRun::finish(Actor actor, OperationId id) {
  const auto live = live_.find(id);
  if (live != live_.end() && --live->second.actors_left == 0) live_.erase(live);
  schedulers_[actor].finish(id, network_.now());
  start_ready(actor);
}

StepTrace StepRun::trace() const {
  std::vector<RankClass> classes;
  for (Actor a = 0; a < actors_.size(); ++a) {
    if (schedulers_.empty() || !schedulers_[a].is_finished()) {
      throw std::logic_error("operations are left that wait for one another");
    }
    if (actors_[a].is_server()) continue;
    classes.push_back({actors_[a].ranks, schedulers_[a].intervals()});
  }
  return {program_, joined(std::move(classes))};
}

std::vector<CollectiveRun*> StepRun::live_calls() const {
  std::vector<CollectiveRun*> live;
  for (const auto& [id, call] : live_) live.push_back(call.run);
  return live;
}

}  // namespace paceline::sim
