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
// Rounds of one shape and one size settle into a steady state: after a period of some rounds every
// flow and every actor is in the same state again. Until the next timer, shape or other size all
// periods are the same, so the clock can be set forward by whole periods.
//
// Where many calls wait while few move, to look takes longer than to follow a round: then not every
// round is looked at, so that looking takes no more of the time than following.
class Regime {
 public:
  // All steps that run on the network; they must outlive this.
  Regime(std::span<const std::unique_ptr<StepRun>> steps, FoldedNetwork& network)
      : steps_(steps), network_(network) {}

  // To be called when a round has begun and all of its time has happened.
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

  // By how many rounds each part of each channel moved on; empty when the two differ in more than
  // that.
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
