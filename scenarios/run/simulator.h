#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "traces/json/protocol.h"

namespace paceline {

struct Simulation {
  ResolvedPoint point;
  std::optional<Seconds> limit;  // of the time until its answer; empty: none
};

// What is to be simulated. A point is made when its turn comes, in order, so that no more than are
// under way have to be kept; replies come in any order. Both functions are called from any thread,
// never two of these calls at once.
struct SimulationQueue {
  std::size_t count = 0;
  std::function<Simulation(std::size_t index)> make;
  std::function<void(std::size_t index, traces::Reply reply)> take;
};

// Runs a queue on `jobs` paceline-sim processes. A process that dies, or is killed when the limit
// of its point is over, costs that point; the next one gets a new process. Throws BackendError when
// paceline-sim cannot be started at all, and what the functions throw.
void simulate(const SimulationQueue& queue, std::size_t jobs);

}  // namespace paceline
