#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "models/topology/cluster.h"
#include "models/units/units.h"
#include "sim/folded/fair_rates.h"
#include "sim/folded/network.h"

namespace paceline::sim {

// A symmetry class of links: the same flows cross each of them.
struct LinkClass {
  BytesPerSecond bandwidth;  // of one
  std::uint64_t links;
};

// A path of flows that start and end together, spread evenly over the links of each class.
struct FoldedPath {
  topology::MessageTiming timing;
  std::vector<std::uint32_t> link_classes;  // each once
  std::uint64_t flows;

  friend auto operator<=>(const FoldedPath&, const FoldedPath&) = default;
};

// Simulates one flow for each class of flows, at the rates that Rates finds. Rates change only when
// a flow starts or ends, so the times are those of a simulation of all flows, but for rounding.
class FoldedNetwork final : public Network {
 public:
  // Thrown by run() when sharing links between flows takes too long.
  struct TooMuchSharing : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  // Adds islands to `rates`, which must outlive it. `effort_max` limits Rates::effort().
  FoldedNetwork(std::span<const LinkClass> links, std::vector<FoldedPath> paths,
                std::function<void(void* tag)> on_arrival, Rates& rates, std::uint64_t effort_max);

  [[nodiscard]] const topology::MessageTiming& timing(PathId path) const override {
    return paths_[path].timing;
  }
  void round_begins() override { round_began_ = true; }

  // Runs until no event is left. Calls `on_round` after all events of the time at which a round
  // began (round_begins).
  void run(const std::function<void()>& on_round);

  // What is left of a flow's present phase, in time: of its latency, of its bytes at the present
  // rate, or of its reduction; 0 while it waits in its connection.
  struct FlowState {
    void* tag;
    Phase phase;
    Seconds left;
  };
  void append_flows(std::vector<FlowState>& flows) const;
  // Sets the clock forward, flows staying as they are. Precondition: no timer goes off meanwhile.
  void leap(Seconds time);

 private:
  static constexpr auto no_event = std::numeric_limits<std::uint64_t>::max();

  struct Place {
    std::uint32_t island;
    std::uint32_t way;    // of the island
    std::uint64_t flows;  // that the path stands for, in the island's unit
  };

  // An island of the cluster; many have the same shape, whose rates are found as one's.
  struct IslandState {
    IslandId shape;
    std::vector<Flow*> flows;             // moving
    std::vector<std::uint64_t> load;      // what they stand for, by way
    std::vector<double> rates;            // by way
    double updated = 0;                   // when the flows' bytes were counted
    std::uint64_t completion = no_event;  // the one that counts: rates have changed since others
    std::vector<std::uint32_t> changed;   // ways, since the rates were found
  };

  void find_islands(std::span<const LinkClass> links);
  void add_island(const std::vector<PathId>& path_ids, std::span<const LinkClass> links);
  void move(Flow* flow) override;
  void complete(std::uint32_t island, std::uint64_t event) override;
  void count_bytes(IslandState& island);
  void settle();

  std::vector<FoldedPath> paths_;
  std::uint64_t effort_max_;
  std::vector<Place> places_;  // by path
  std::vector<IslandState> islands_;
  Rates& rates_;
  std::vector<std::uint32_t> changed_;  // islands
  bool round_began_ = false;
};

}  // namespace paceline::sim
