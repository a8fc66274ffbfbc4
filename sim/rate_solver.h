#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <simgrid/s4u.hpp>
#include <span>
#include <vector>

#include "sim/fair_rates.h"

namespace paceline::sim {

using IslandId = std::uint32_t;

// How flows that are in flight together share bandwidth, as SimGrid has it.
//
// A solve by SimGrid takes about 100 us, and trees over some tens of nodes have ten thousands of
// sets of flows. So the rates are FairRates', and SimGrid solves the first sets of a process, to
// find the same.
//
// There may be one in a process, because there may be one engine.
class RateSolver {
 public:
  // Sets that SimGrid solves: what a folded exchange has is fewer.
  static constexpr std::uint64_t simgrid_solves_max = 32;

  explicit RateSolver(std::uint64_t solves_max = simgrid_solves_max) : solves_max_(solves_max) {}

  // Islands that are equal get one number. Precondition: nothing is solved yet.
  [[nodiscard]] IslandId add(const Island& island);

  // As FairRates::find(). Throws std::logic_error where SimGrid finds other rates.
  void find(IslandId island, std::span<const std::uint64_t> flows,
            std::span<const std::uint32_t> changed, std::vector<double>& rates);

  // By SimGrid.
  [[nodiscard]] std::uint64_t solves() const { return solves_; }
  // Of all that was solved, in links and ways looked at: one takes some nanoseconds.
  [[nodiscard]] std::uint64_t effort() const { return effort_; }

 private:
  using Flows = std::vector<std::uint64_t>;  // by way

  struct KnownIsland {
    Island island;
    FairRates fair_rates;
    std::set<Flows> checked;
    std::vector<simgrid::s4u::Host*> sources;  // by way
  };

  void check(KnownIsland& known, std::span<const std::uint64_t> flows,
             const std::vector<double>& rates);
  std::vector<double> solve(const KnownIsland& known, const Flows& flows);
  void build_engine();

  std::uint64_t solves_max_;
  std::map<Island, IslandId> numbers_;
  std::deque<KnownIsland> islands_;
  std::unique_ptr<simgrid::s4u::Engine> engine_;  // made for the first solve
  simgrid::s4u::Host* sink_ = nullptr;
  std::uint64_t solves_ = 0;
  std::uint64_t effort_ = 0;
};

}  // namespace paceline::sim
