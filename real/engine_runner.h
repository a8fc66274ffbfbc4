#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/training/call_plan.h"
#include "real/backend.h"
#include "real/pattern.h"
#include "real/plan_runner.h"

namespace paceline::real {

// One rank's engine (models/training/engine.h) on a communicator. One thread at a time.
class EngineRunner {
 public:
  // Calls have the streams from two multiples of streams_a_call on. The point must outlive it, and
  // have an engine. Throws UsageError when the backend cannot do it.
  EngineRunner(const ResolvedPoint& point, Communicator& communicator, PlanRunner& plans,
               std::pair<Stream, Stream> streams);
  ~EngineRunner();

  [[nodiscard]] const training::EngineLane& lane() const { return *point_.program.engine; }

  // The results of the next step are looked at: its sums are exact.
  void fill(std::uint64_t seed) { next_seed_ = seed; }
  // Before a step. Returns which one of the point's it is, from 0.
  [[nodiscard]] std::uint64_t begin_step();
  // What was wrong in the step after fill(), if anything.
  [[nodiscard]] const std::optional<std::string>& fault() const { return fault_; }

  // Which tensors all ranks have. Precondition: the lane's. Throws BackendError.
  [[nodiscard]] std::vector<bool> agree(const std::vector<bool>& has);
  void reduce(const training::Fused& together);

 private:
  struct Exchange;
  using Kind = std::pair<ElementCount, ElementSize>;

  void finish(const std::vector<EventPtr>& events, Stream stream);
  const collectives::Plan& plan_of(const training::Fused& together, const Kind& kind);
  void wait(Seconds time);

  const ResolvedPoint& point_;
  Communicator& communicator_;
  PlanRunner& plans_;
  training::Planner planner_;
  bool is_native_;
  Stream exchange_stream_, call_stream_;
  std::vector<training::OperationId> operations_;  // of the lane
  std::unique_ptr<Exchange> exchange_;
  std::map<ElementSize, std::unique_ptr<Buffer>> buffers_;  // for all tensors of a size at once
  std::map<Kind, collectives::Plan> made_;                  // plans that calls have had
  std::optional<std::uint64_t> next_seed_, seed_;           // of steps that are looked at
  std::optional<std::string> fault_;
  std::uint64_t steps_ = 0;
};

}  // namespace paceline::real
