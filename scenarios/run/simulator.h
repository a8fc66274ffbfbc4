#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "traces/json/protocol.h"

namespace paceline {

// Trouble in the world rather than in the input: exit code 3.
class BackendError : public std::runtime_error {
 public:
  BackendError(const std::string& backend, const std::string& what)
      : std::runtime_error(backend + ": " + what) {}
};

// Runs points on `jobs` paceline-sim processes and returns their replies in the points' order. A
// process that dies costs the point it had; the next point gets a new process. `on_done` is called
// after each point, from any thread, never from two at once.
// Throws BackendError when paceline-sim cannot be started at all.
[[nodiscard]] std::vector<traces::Reply> simulate(const std::vector<const ResolvedPoint*>& points,
                                                  std::size_t jobs,
                                                  const std::function<void()>& on_done);

}  // namespace paceline
