#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/training/call_plan.h"
#include "models/training/scheduler.h"
#include "real/backend.h"
#include "real/engine_runner.h"
#include "real/plan_runner.h"

namespace paceline::real {

// One rank's part of a point's step: compute as the communicator does it, every collective on a
// buffer of its own, lanes as the program has them. Behind the ranks come the point's servers
// (cluster.servers), which compute nothing and take part in the calls that have them.
//
// Each slot of a lane is a thread, as in PyTorch's process groups; training::Scheduler decides what
// may start, an engine's rule on its lane. Compute is timed from its release: late wake-ups do not
// add up.
class StepRunner {
 public:
  // The point must outlive the runner. Throws UsageError when the backend cannot do it: another
  // number of ranks and servers, servers on devices or in native mode, a type it does not add, no
  // collective of its own, plans through switches.
  StepRunner(const ResolvedPoint& point, Communicator& communicator);
  ~StepRunner();

  // Inputs whose sums are exact in all buffers; before a step that find_fault() is to look at.
  void fill(std::uint64_t seed);
  // From `start` of steady_now() on. Returns when each operation ran, in the program's order, from
  // `start`. Throws BackendError.
  [[nodiscard]] std::vector<training::Interval> run(Seconds start);
  // What is wrong with the step after fill(), if anything.
  [[nodiscard]] std::optional<std::string> find_fault() const;

 private:
  struct Call;
  class Pass;

  [[nodiscard]] EventPtr begin(const Call& call);
  [[nodiscard]] std::unique_ptr<Call> make_call(const training::CollectiveCall& call,
                                                const training::Planner& planner,
                                                std::size_t number) const;
  // Both throw UsageError: for servers that the communicator cannot run, and for plans, the
  // engine's
  // too, that no messages carry out.
  void check_servers() const;
  void check_switches() const;

  const ResolvedPoint& point_;
  Communicator& communicator_;
  RankCount ranks_;  // without servers
  bool is_native_;
  bool is_server_;
  PlanRunner plans_;
  training::LaneQueues queues_;
  // By operation; null for compute, an engine's, and calls that a server takes no part in.
  std::vector<std::unique_ptr<Call>> calls_;
  std::unique_ptr<EngineRunner> engine_;  // of programs that have one
};

}  // namespace paceline::real
