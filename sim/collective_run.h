#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/call_table.h"
#include "sim/network.h"

namespace paceline::sim {

// One collective call under way: follows every actor through the rounds of every channel. An actor
// posts round i when its rounds up to i - window are done; a transfer starts when both its ends
// have posted its round.
class CollectiveRun {
 public:
  // `on_actor_done` is called once for each actor when its part is done, possibly within join().
  // The table must outlive the run.
  CollectiveRun(const CallTable& table, Network& network, std::function<void(Actor)> on_actor_done);

  // Precondition: not joined before; no server.
  void join(Actor actor);

  // What a network hands back when a transfer of any run has arrived.
  static void arrived(void* tag);

  // A transfer under way: the tag of its flow.
  struct Transfer {
    CollectiveRun* run;
    std::uint32_t channel;
    std::uint32_t shape;
    std::uint32_t number;  // in the shape
    std::uint64_t round;
    double bytes;
    bool is_sent;  // its sender is done with it, its receiver not yet
  };

  // For leaping over rounds that are all alike (see Regime).
  //
  // The rounds posted by each actor in each channel: channel by channel.
  void append_rounds(std::vector<std::uint64_t>& rounds) const;
  // Everything else that decides what happens next, apart from the transfers under way.
  void append_state(std::vector<std::uint64_t>& state) const;
  // How long ago rounds were posted, as far as words of it may still be under way.
  void append_ages(std::vector<Seconds>& ages) const;
  // How many times every actor can post as many rounds more as it just `moved` by (as
  // append_rounds orders them; within a channel all the same or none) with nothing but the same
  // happening.
  [[nodiscard]] std::uint64_t leaps(std::span<const std::uint64_t> moved) const;
  // The network's clock has been set forward by `time`.
  void leap(std::span<const std::uint64_t> moved, std::uint64_t times, Seconds time);
  [[nodiscard]] std::size_t channels() const { return channels_.size(); }
  [[nodiscard]] std::size_t round_counters() const { return channels_.size() * table_.actors; }

 private:
  // Where an actor stands in a channel.
  struct Progress {
    std::uint64_t posted = 0;            // rounds posted
    std::uint64_t done = 0;              // rounds done without a gap
    std::uint32_t shape = 0;             // of the next round to post
    std::uint64_t repeat = 0;            // likewise
    std::vector<std::uint32_t> pending;  // transfers of round i left, at i % window
    // When round i was posted, at i % (window + 1); the call's beginning for those before the
    // first.
    std::vector<Seconds> posted_at;
  };

  struct ChannelState {
    std::vector<Progress> progress;  // by actor
    // With a window above 1 the transfers from one actor to another go in order, as over one TCP
    // connection.
    std::map<std::pair<Actor, Actor>, Network::Connection> connections;
  };

  void end_together();
  void advance(std::uint32_t channel, Actor actor);
  void post(std::uint32_t channel, Actor actor);
  [[nodiscard]] Seconds word_under_way(std::uint32_t channel, const PlannedTransfer& planned,
                                       std::uint64_t round) const;
  void start(std::uint32_t channel, std::uint32_t shape, std::uint32_t number, std::uint64_t round,
             double bytes);
  void take(Transfer& transfer);
  void finish(std::uint32_t channel, Actor actor, std::uint64_t round);

  const CallTable& table_;
  Network& network_;
  std::function<void(Actor)> on_actor_done_;
  std::vector<ChannelState> channels_;
  std::vector<std::uint32_t> channels_left_;  // by actor
  Actor to_join_;
  std::vector<bool> joined_;   // by actor
  Seconds longest_word_;       // of any receiver to its sender; 0 where none is waited for
  std::deque<Transfer> pool_;  // addresses stay; run is null when free
  std::vector<Transfer*> free_;
};

}  // namespace paceline::sim
