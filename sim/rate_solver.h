#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <span>
#include <utility>
#include <vector>

#include "models/units/units.h"

namespace paceline::sim {

// Links that flows of some paths share, directly or through one another.
struct Island {
  // A path stands for `flows` equal flows, which cross each of its links together.
  struct Path {
    std::vector<std::uint32_t> links;  // indices into `links`, each once
    std::uint64_t flows;               // at least 1

    friend auto operator<=>(const Path&, const Path&) = default;
  };
  std::vector<BytesPerSecond> links;
  std::vector<Path> paths;

  friend auto operator<=>(const Island&, const Island&) = default;
};

using IslandId = std::uint32_t;

// How SimGrid shares bandwidth: the rates of flows that are in flight together. Each set of them is
// solved once, on the island's links and nothing else.
//
// There may be one in a process, because there may be one engine.
class RateSolver {
 public:
  // Islands that are equal get one number. Precondition: nothing is solved yet.
  [[nodiscard]] IslandId add(const Island& island);

  // The rate of each flow of path i when it is in flight `times[i]` times over; 0 where that is 0.
  // The span is good as long as the solver.
  [[nodiscard]] std::span<const double> rates(IslandId island,
                                              const std::vector<std::uint32_t>& times);

  [[nodiscard]] std::uint64_t solves() const { return solves_; }

 private:
  std::vector<double> solve(IslandId island, const std::vector<std::uint32_t>& times);
  void build_engine();

  std::map<Island, IslandId> numbers_;
  std::vector<Island> islands_;
  std::vector<std::map<std::vector<std::uint32_t>, std::vector<double>>> known_;  // by island
  std::unique_ptr<simgrid::s4u::Engine> engine_;           // made for the first solve
  std::vector<std::vector<simgrid::s4u::Host*>> sources_;  // by island and path
  simgrid::s4u::Host* sink_ = nullptr;
  std::uint64_t solves_ = 0;
};

}  // namespace paceline::sim
