#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "scenarios/process/line_process.h"
#include "traces/json/protocol.h"

namespace paceline {

// A point of fidelity closed, in this process.
[[nodiscard]] traces::Reply closed_reply_to(const ResolvedPoint& point);

// Predicts points one after the other: on a paceline-sim process, or in this one where closed
// formulas do. A process that dies, answers nonsense, or is killed when the limit of its point is
// over, costs that point; the next one gets a new process.
class Simulator {
 public:
  // One of so many that share the machine's memory.
  explicit Simulator(std::size_t among) : among_(among) {}

  // Without a limit it may take any time. Throws BackendError when paceline-sim cannot be started
  // at all, and Stopped (scenarios/process/stop_request.h).
  [[nodiscard]] traces::Reply reply_to(const ResolvedPoint& point, std::optional<Seconds> limit);

 private:
  [[nodiscard]] traces::Reply asked(const ResolvedPoint& point, std::optional<Seconds> limit);

  std::size_t among_;
  std::optional<LineProcess> process_;
  std::uint64_t asked_ = 0;  // so that no answer is taken for another's
};

// Does what is to be done for each of so many, in order, on up to `jobs` threads with a simulator
// each, whose process ends with its thread. What one of them throws ends all, once what is under
// way is done, and is thrown.
void for_each(std::size_t count, std::size_t jobs,
              const std::function<void(std::size_t index, Simulator& simulator)>& work);

}  // namespace paceline
