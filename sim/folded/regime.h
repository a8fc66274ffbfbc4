#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "sim/folded/collective_run.h"
#include "sim/folded/folded_network.h"
#include "sim/folded/step_run.h"

namespace paceline::sim {

// Skips rounds that repeat exactly.
//
// Rounds of the same shape and size settle into a steady state: after a period of a few rounds
// every flow and every actor is in the same state again. All periods are the same until the next
// timer, shape or size, so the clock is set forward by whole periods.
//
// Where many calls wait while few move, comparing states takes longer than simulating a round. Some
// rounds are not compared then, so that comparing takes at most as long as simulating.
class Regime {
 public:
  // `steps` are all that run on the network; they must outlive this.
  Regime(std::span<const std::unique_ptr<StepRun>> steps, FoldedNetwork& network)
      : steps_(steps), network_(network) {}

  // Compares this state with earlier ones and skips what repeats. Call it when a round has begun
  // and all events of that time have happened.
  void look();

 private:
  struct Snapshot {
    Seconds time;
    std::vector<const CollectiveRun*> calls;  // that are in flight
    std::vector<std::uint64_t> rounds;        // posted: by call, channel and part
    std::vector<std::uint64_t> state;         // what must be the same
    std::vector<std::uint64_t> flow_rounds;   // of each flow in flight
    std::vector<std::size_t> flow_channels;   // likewise, counted over all calls
    std::vector<Seconds> left;                // ages of posted rounds, then of each flow

    [[nodiscard]] std::size_t size() const {
      return calls.size() + rounds.size() + state.size() + flow_rounds.size() + left.size();
    }
  };

  // Returns by how many rounds each part of each channel has moved on; empty where the states
  // differ otherwise.
  [[nodiscard]] static std::vector<std::uint64_t> moved(std::span<CollectiveRun* const> calls,
                                                        const Snapshot& before,
                                                        const Snapshot& now);
  [[nodiscard]] bool has_looked_enough() const;
  [[nodiscard]] Snapshot take(std::span<CollectiveRun* const> calls) const;
  void append_flows(std::span<CollectiveRun* const> calls, Snapshot& snapshot) const;
  bool leap(std::span<CollectiveRun* const> calls, const Snapshot& before, const Snapshot& now);

  std::span<const std::unique_ptr<StepRun>> steps_;
  FoldedNetwork& network_;
  std::deque<Snapshot> recent_;  // the latest ones, newest last
  Snapshot anchor_;              // for longer periods: renewed after 1, 2, 4, ... looks
  std::uint64_t looks_ = 0;
  std::uint64_t looked_at_ = 0;  // sizes of all snapshots
};

}  // namespace paceline::sim
