#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/training/step_program.h"
#include "models/units/units.h"

namespace paceline::training {

// When a rank ran an operation, and why not earlier: the operation whose end released it, nullopt
// where nothing but the start of the step held it back.
struct Interval {
  Seconds start, end;
  std::optional<OperationId> released_by = std::nullopt;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// The queues of a program's lanes, the same for every rank. The program must outlive it.
class LaneQueues {
 public:
  explicit LaneQueues(const StepProgram& program);

  [[nodiscard]] const StepProgram& program() const { return program_; }
  // The operations of a lane, in the order in which they start.
  [[nodiscard]] std::span<const OperationId> of(LaneId lane) const { return queues_[lane]; }

 private:
  const StepProgram& program_;
  std::vector<std::vector<OperationId>> queues_;
};

// Decides which operation may start when, for one rank's step; there is no other such rule. A lane
// is a queue with slots (Lane::in_flight): the operation at its head starts when all that it comes
// after has finished and a slot is free; an operation keeps its slot until it finishes.
//
// Drivers have the clock: they take what may start, carry it out, and report when it finished.
//   - A driver that follows the step (a simulation, a real rank) reports in the order of time.
//   - A driver that computes the end of an operation as soon as it starts may report it at once,
//     ahead of earlier ends, if it takes operations in the program's order.
// Both get the same times.
class Scheduler {
 public:
  struct Start {
    OperationId operation;
    Seconds at;  // when it was released: when the last of what it waited for ended
  };

  // The queues must outlive it. The step starts at `begin`.
  explicit Scheduler(const LaneQueues& queues, Seconds begin = Seconds(0));

  // The next operation that may start, of one lane or of the first lane that has one; it counts as
  // started. nullopt: none may until something finishes, or none is left.
  [[nodiscard]] std::optional<Start> next(LaneId lane);
  [[nodiscard]] std::optional<Start> next();

  // Of a lane whose operations start when an engine says so (EngineLane), whatever is listed before
  // them: whether what one comes after has finished, and that it starts at that time.
  [[nodiscard]] bool may_start(OperationId operation) const;
  void start(OperationId operation, Seconds at);

  // Precondition: it has started and not finished, and does not end before it was released.
  void finish(OperationId operation, Seconds end);

  // Whether all operations of a lane have started; whether all of all lanes have finished.
  [[nodiscard]] bool has_started_all(LaneId lane) const;
  [[nodiscard]] bool is_finished() const { return left_ == 0; }

  // By operation, in the program's order. Those that have not finished have no times yet.
  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  // The last of what an operation waited for.
  struct Release {
    Seconds at;
    std::optional<OperationId> by;
  };
  struct LaneState {
    std::size_t started = 0;  // of its queue
    std::size_t checked = 0;  // of what the head comes after: those known to have finished
    std::uint32_t unused_slots = 0;
    std::vector<Release> freed_slots;  // a heap, the earliest first
    Release last_start;                // the operation before the head was released then
  };

  [[nodiscard]] bool may_start_head(LaneId lane);
  Release take_slot(LaneState& lane);

  const LaneQueues* queues_;
  Seconds begin_;
  std::vector<LaneState> lanes_;
  std::vector<Interval> intervals_;
  std::vector<bool> finished_;
  std::size_t left_;
};

// When the operations of a program end on one rank whose calls take no time, in its order.
[[nodiscard]] std::vector<Seconds> ends_without_calls(const StepProgram& program);

}  // namespace paceline::training
