#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "models/collectives/registry.h"
#include "models/collectives/round_table.h"
#include "models/training/step_program.h"
#include "sim/flow_network.h"

namespace paceline::sim {

// One collective call under way: follows every rank through the rounds of every channel of its
// plan. A rank posts round i when its rounds up to i - window are done; a transfer starts when both
// its ends have posted its round.
class CollectiveRun {
 public:
  // `on_rank_done` is called once for each rank when its part is done, possibly within join().
  CollectiveRun(const training::CollectiveCall& call, const collectives::Plan& plan,
                FlowNetwork& network, std::function<void(Rank)> on_rank_done);

  // Precondition: not joined before.
  void join(Rank rank);

  // What FlowNetwork hands back when a transfer of any run has arrived.
  static void arrived(void* tag);

 private:
  struct Transfer {
    CollectiveRun* run;
    std::uint32_t channel;
    std::uint64_t round;
    Rank from, to;
  };

  // Where a rank stands in a channel.
  struct Progress {
    std::uint64_t posted = 0;            // rounds posted
    std::uint64_t done = 0;              // rounds done without a gap
    std::uint32_t shape = 0;             // of the next round to post
    std::uint64_t repeat = 0;            // likewise
    std::vector<std::uint32_t> pending;  // transfers of round i left, at i % window
  };

  struct ChannelState {
    std::vector<collectives::RoundTable> shapes;
    std::uint64_t rounds = 0;
    std::uint32_t window = 1;
    std::vector<Progress> progress;  // by rank
    // With a window above 1 the transfers from one rank to another go in order, as over one TCP
    // connection.
    std::map<std::pair<Rank, Rank>, FlowNetwork::Connection> connections;
  };

  void advance(std::uint32_t channel, Rank rank);
  void post(std::uint32_t channel, Rank rank);
  void finish(std::uint32_t channel, Rank rank, std::uint64_t round);

  ElementSize element_size_;
  FlowNetwork& network_;
  std::function<void(Rank)> on_rank_done_;
  std::vector<ChannelState> channels_;
  std::vector<std::uint32_t> channels_left_;  // by rank
  std::deque<Transfer> pool_;                 // addresses stay
  std::vector<Transfer*> free_;
};

}  // namespace paceline::sim
