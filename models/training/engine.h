#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/units/units.h"

namespace paceline::training {

// An engine is a thread beside training that is given gradients as they come and decides when which
// of them are reduced together, as Horovod's does. The rules here are functions of time and of what
// is ready: real ranks call them as they run, predictions with times that they forecast.

// A tensor that an engine is given.
struct EngineTensor {
  ElementCount count;
  ElementSize element_size;   // on the wire; only tensors of one size are reduced together
  Seconds copy_in, copy_out;  // where several are reduced as one; with the division
  Seconds divide;             // where it is reduced alone, in place

  [[nodiscard]] Bytes size() const { return count * element_size; }
  friend bool operator==(const EngineTensor&, const EngineTensor&) = default;
};

struct EngineRule {
  Seconds cycle;           // from one wake to the next
  Bytes fusion_threshold;  // the most that is reduced as one, unless one tensor has more
  Seconds negotiation;     // from a wake until all ranks know what all have
  bool waits_for_calls =
      false;                    // as calls of MPI and Gloo return when they are done, NCCL's before
  Seconds launch = Seconds(0);  // of its thread, before each reduction
  bool is_hierarchical = false;  // within nodes, across them, and within again; predicted only

  friend bool operator==(const EngineRule&, const EngineRule&) = default;
};

// Tensors that are reduced as one, by their indices.
using Fused = std::vector<std::size_t>;

// What is reduced, in order, of the tensors that all ranks have: each takes with it those after it
// that are of its element size, while all of them fit below the threshold. It looks past others
// until it and they exceed the threshold together.
//
// Source: Controller::FuseResponses, horovod/common/controller.cc of v0.16 to v0.28. Precondition:
// `ready` has indices of `tensors`, each once.
[[nodiscard]] std::vector<Fused> fused(std::span<const EngineTensor> tensors,
                                       std::span<const std::size_t> ready, Bytes threshold);

// The time of copies before and behind the reduction.
[[nodiscard]] Seconds copy_in_time(std::span<const EngineTensor> tensors, const Fused& together);
[[nodiscard]] Seconds copy_out_time(std::span<const EngineTensor> tensors, const Fused& together);
[[nodiscard]] ElementCount count_of(std::span<const EngineTensor> tensors, const Fused& together);

// A cycle after the last wake, or when its work was done if later (RunLoopOnce, operations.cc).
[[nodiscard]] Seconds next_wake(const EngineRule& rule, Seconds last, Seconds done);

// A wake that finds something, and what it has reduced.
struct Wake {
  Seconds at;
  std::vector<Fused> calls;
};

// What is known of a step before it runs.
struct EngineForecast {
  std::vector<Seconds> ready;  // by tensor: when the last rank has it
  // What a launched reduction takes, with its copies. Asked for where the engine waits for calls.
  std::function<Seconds(const Fused&)> call_time;
};

// All wakes of a step that find something, in order, from a first one on that may find nothing.
// Precondition: times are finite, and not before 0.
[[nodiscard]] std::vector<Wake> wakes_of(const EngineRule& rule,
                                         std::span<const EngineTensor> tensors,
                                         const EngineForecast& forecast, Seconds first);

// An engine wakes whether or not there is something to do, so that its wakes may lie anywhere in a
// step's time. The first wake of a step, before a cycle of an engine without work is over: one from
// which the tensor that comes last waits half a cycle; and those of steps that are run one after
// the other, whose mean wait is that.
[[nodiscard]] Seconds mean_first_wake(const EngineRule& rule, Seconds last_ready);
[[nodiscard]] Seconds first_wake_of(const EngineRule& rule, std::uint64_t step);

}  // namespace paceline::training
