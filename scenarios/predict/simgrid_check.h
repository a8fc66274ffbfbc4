#pragma once

#include <cstddef>
#include <future>
#include <limits>
#include <optional>

#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// Finds the point of a run that SimGrid simulates, too: of those that are folded, on several GPUs,
// with calls to simulate, the one with the fewest transfers; without any such, the first on several
// GPUs.
class CheapestPoint {
 public:
  void look_at(std::size_t number, const ResolvedPoint& point);
  [[nodiscard]] std::optional<std::size_t> point() const { return point_; }

 private:
  std::optional<std::size_t> point_;
  double transfers_ = std::numeric_limits<double>::infinity();
};

// Simulates the step of a folded point once more by SimGrid, in a thread of its own, where that has
// at most 50,000 transfers. Precondition: predicted, with its trace.
[[nodiscard]] std::future<SimGridCheck> checked_by_simgrid(const PointOutcome& outcome);

}  // namespace paceline
