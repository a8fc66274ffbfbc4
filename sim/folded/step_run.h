#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "models/run/step_trace.h"
#include "models/training/scheduler.h"
#include "models/training/step_program.h"
#include "sim/folded/call_table.h"
#include "sim/folded/collective_run.h"
#include "sim/folded/network.h"

namespace paceline::sim {

// Ranks that run the same program at the same times. A server runs it too but computes nothing: it
// joins its calls in the order of the lanes, each as soon as the calls before it are done there.
struct StepActor {
  std::vector<Rank> ranks;  // ascending; none: a server
  double slowdown;          // of compute

  [[nodiscard]] bool is_server() const { return ranks.empty(); }
};

// Runs a step of all actors on a network's clock: compute as timers, collective calls as their
// transfers. training::Scheduler decides what may start when.
class StepRun {
 public:
  // The table of an operation's call, with the step's actors; it must outlive the step.
  using TableOf = std::function<const CallTable&(training::OperationId)>;

  // With `wires`, which need an actor per rank, notifications queue behind data.
  StepRun(const training::StepProgram& program, std::vector<StepActor> actors, Network& network,
          TableOf table_of, std::optional<Wires> wires = std::nullopt);

  // Starts all operations without dependencies; the rest follows on the network's clock.
  void start();
  // The ranks' times once the network has run. std::logic_error: operations wait for one another.
  [[nodiscard]] StepTrace trace() const;

  // Returns the calls that some actor has joined and not all have left, in the program's order.
  [[nodiscard]] std::vector<CollectiveRun*> live_calls() const;
  // How many calls some actor has joined so far.
  [[nodiscard]] std::size_t calls_begun() const { return runs_.size(); }

 private:
  void start_ready(Actor actor);
  void start(Actor actor, training::OperationId id);
  void finish(Actor actor, training::OperationId id);

  const training::StepProgram& program_;
  std::vector<StepActor> actors_;
  Network& network_;
  TableOf table_of_;
  std::optional<Wires> wires_;
  training::LaneQueues queues_;
  struct LiveCall {
    CollectiveRun* run;
    Actor actors_left;
  };
  // Of all calls that were joined: a run reports its last actor from its own code.
  std::vector<std::unique_ptr<CollectiveRun>> runs_;
  std::map<training::OperationId, LiveCall> live_;
  std::vector<training::Scheduler> schedulers_;  // by actor, once the step has started
};

}  // namespace paceline::sim
