#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <simgrid/s4u.hpp>
#include <span>
#include <vector>

#include "sim/folded/fair_rates.h"
#include "sim/folded/folded_step.h"

namespace paceline::sim {

// How flows that are in flight together share bandwidth, as SimGrid has it.
//
// A solve by SimGrid takes about 100 us, and trees over some tens of nodes have ten thousands of
// sets of flows. So the rates are ours, and SimGrid solves the first sets of a process, to
// find the same.
//
// There may be one in a process, because there may be one engine.
class RateSolver final : public sim::Rates {
 public:
  // Sets that SimGrid solves: what a folded exchange has is fewer.
  static constexpr std::uint64_t simgrid_solves_max = 32;

  explicit RateSolver(std::uint64_t solves_max = simgrid_solves_max) : solves_max_(solves_max) {}

  // By SimGrid.
  [[nodiscard]] std::uint64_t solves() const { return solves_; }

 private:
  using Flows = std::vector<std::uint64_t>;  // by way

  struct KnownIsland {
    sim::Island island;
    std::set<Flows> checked;
    std::vector<simgrid::s4u::Host*> sources;  // by way
  };

  // Precondition: nothing is solved yet.
  void added(const sim::Island& island) override;
  // Throws std::logic_error where SimGrid finds other rates.
  void check(sim::IslandId island, std::span<const std::uint64_t> flows,
             const std::vector<std::uint32_t>& looked_at,
             const std::vector<double>& rates) override;
  std::vector<double> solve(const KnownIsland& known, const Flows& flows);
  void build_engine();

  std::uint64_t solves_max_;
  std::deque<KnownIsland> islands_;
  std::unique_ptr<simgrid::s4u::Engine> engine_;  // made for the first solve
  simgrid::s4u::Host* sink_ = nullptr;
  std::uint64_t solves_ = 0;
};

// sim::simulate_folded, whose first rates SimGrid checks. May be called once in a process.
[[nodiscard]] Result simulate_folded(const ResolvedPoint& point, sim::Chunks chunks);

}  // namespace paceline::sim
