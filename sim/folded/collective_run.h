#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/folded/call_table.h"
#include "sim/folded/network.h"

namespace paceline::sim {

// The connections between the ranks of a step: one from each rank to each other, which all calls
// share. A ready notification queues behind the data that its rank wrote to the same rank before.
class Wires {
 public:
  // Whether messages of several calls on a connection share its bandwidth, or take all of it one
  // after the other, in the order in which they were written.
  enum class Messages { share, in_order };

  explicit Wires(Messages messages) : messages_(messages) {}

  using Left = std::function<void()>;

  // Data that `from` writes to `to` from `time` on. `data` identifies it until it has left.
  void write(Actor from, Actor to, Seconds time, const void* data);
  void has_left(Actor from, Actor to, const void* data);
  // Sends a ready notification. Returns whether it leaves at once; else `left` is called then.
  bool notify(Actor from, Actor to, Seconds now, Left left);
  // Returns what keeps messages in order; nullptr where they share.
  [[nodiscard]] Network::Connection* connection(Actor from, Actor to) {
    return messages_ == Messages::in_order ? &wires_[{from, to}].connection : nullptr;
  }

 private:
  struct Data {
    const void* data;
    Seconds written;
  };
  struct Notification {
    std::vector<const void*> behind;  // data written before it that has not left
    Left left;
  };
  struct Wire {
    std::vector<Data> data;
    std::vector<Notification> notifications;
    Network::Connection connection;
  };

  Messages messages_;
  std::map<std::pair<Actor, Actor>, Wire> wires_;
};

// Simulates one collective call: takes every actor's parts through the rounds of their channels. A
// part posts round i when its rounds up to i - window are done. A transfer starts when both ends
// have posted its round, or, over sockets, when its sender has; if it arrives before its receiver
// has posted the round, it counts from then on.
class CollectiveRun {
 public:
  // `on_actor_done` is called once for each actor when all its parts are done, possibly within
  // join(). Table and wires must outlive the run. Without wires notifications never queue.
  CollectiveRun(const CallTable& table, Network& network, Wires* wires,
                std::function<void(Actor)> on_actor_done);

  // Precondition: not joined before.
  void join(Actor actor);

  // Takes the tag that a network hands back when a transfer of any run has arrived.
  static void arrived(void* tag);

  // A transfer in flight: the tag of its flow.
  struct Transfer {
    CollectiveRun* run;
    std::uint32_t channel;
    std::uint32_t shape;
    std::uint32_t number;  // in the shape
    std::uint64_t round;
    double bytes;
    enum class Stage : std::uint8_t {
      leaving,   // its sender is not done with it
      arriving,  // its sender is
      reducing,  // at its receiver
    } stage;
  };

  // What Regime compares to skip rounds. The rounds posted by each part, channel by channel:
  void append_rounds(std::vector<std::uint64_t>& rounds) const;
  // All else that decides what happens next, apart from the transfers in flight:
  void append_state(std::vector<std::uint64_t>& state) const;
  // How long ago rounds were posted, at most the time that a ready notification takes:
  void append_ages(std::vector<Seconds>& ages) const;
  // Returns how many times each part can move on by `moved` rounds (ordered as by append_rounds;
  // within a channel all the same or none) while nothing else happens.
  [[nodiscard]] std::uint64_t leaps(std::span<const std::uint64_t> moved) const;
  // The network's clock has been set forward by `time`.
  void leap(std::span<const std::uint64_t> moved, std::uint64_t times, Seconds time);
  [[nodiscard]] std::size_t channels() const { return channels_.size(); }
  [[nodiscard]] std::size_t parts(std::size_t channel) const {
    return channels_[channel].progress.size();
  }
  [[nodiscard]] std::size_t round_counters() const { return round_counters_; }

 private:
  // Where a part stands in its channel.
  struct Progress {
    std::uint64_t posted = 0;            // rounds posted
    std::uint64_t done = 0;              // rounds done without a gap
    std::uint32_t shape = 0;             // of the next round to post
    std::uint64_t repeat = 0;            // likewise
    std::vector<std::uint32_t> pending;  // transfers of round i left, at i % window
    std::vector<Seconds> posted_at;      // when round i was posted, at i % size
    Seconds first_posted_at;
    std::uint64_t notified = 0;  // rounds notified of, where that may be ahead
  };

  // A transfer of a round, before it starts.
  struct Sending {
    std::uint32_t shape, number;
    std::uint64_t round;
    double bytes;
    bool were_peers;  // as MessageTiming has it
  };

  // A ready notification that queues behind data.
  struct QueuedNotification {
    std::optional<Seconds> left;
    std::optional<Sending> awaits;  // starts when the notification has arrived
  };
  using NotificationKey =
      std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // shape, number, round

  struct ChannelState {
    std::vector<Progress> progress;  // by part
    // With a window above 1 transfers between two parts go in order, as over a TCP connection.
    std::map<std::pair<Part, Part>, Network::Connection> connections;
    // By shape and number: the rounds up to which a transfer that came early is at its receiver.
    std::vector<std::vector<std::uint64_t>> arrived;
    std::map<Part, std::vector<Sending>> held;  // by receivers that have not notified yet
    std::map<NotificationKey, QueuedNotification> queued_notifications;
  };

  void begin(Actor actor);
  [[nodiscard]] Actor actor_of(std::uint32_t channel, Part part) const {
    return table_.channels[channel].actor_of[part];
  }
  void end_together();
  [[nodiscard]] std::uint64_t rounds_early(std::size_t channel, std::size_t shape,
                                           std::size_t number) const;
  static void leap(Progress& progress, std::uint64_t rounds, Seconds time);
  void advance(std::uint32_t channel, Part part);
  [[nodiscard]] bool skip_idle(std::uint32_t channel, Part part);
  void post(std::uint32_t channel, Part part);
  [[nodiscard]] Sending sending_of(std::uint32_t channel, std::uint32_t shape, std::uint64_t repeat,
                                   std::uint32_t number, std::uint64_t round) const;
  [[nodiscard]] bool notifications_queue() const {
    return wires_ != nullptr && longest_notification_ > Seconds(0);
  }
  void notify_senders(std::uint32_t channel, Part part);
  void notify(std::uint32_t channel, const Sending& sending);
  [[nodiscard]] static bool is_notified(std::uint64_t posted, std::uint64_t round);
  void start_held(std::uint32_t channel, Part part);
  void notification_left(std::uint32_t channel, const NotificationKey& key);
  void post_send(std::uint32_t channel, const Sending& sending);
  void post_receive(std::uint32_t channel, const Sending& sending);
  [[nodiscard]] const PlannedTransfer& planned(std::uint32_t channel, std::uint32_t shape,
                                               std::uint32_t number) const {
    return table_.channels[channel].shapes[shape].transfers()[number];
  }
  [[nodiscard]] Seconds notification_under_way(std::uint32_t channel, const Sending& sending) const;
  Transfer* new_transfer(std::uint32_t channel, const Sending& sending, Transfer::Stage stage);
  void start(std::uint32_t channel, const Sending& sending);
  void write_in_order(PathId path, double bytes, Seconds notification, Transfer* tag,
                      Network::Connection* connection);
  void take(Transfer& transfer);
  void receive(Transfer& transfer);
  void reduce(Transfer& transfer, BytesPerSecond rate);
  void finish(std::uint32_t channel, Part part, std::uint64_t round);

  const CallTable& table_;
  Network& network_;
  Wires* wires_;
  std::function<void(Actor)> on_actor_done_;
  std::vector<ChannelState> channels_;
  std::size_t round_counters_ = 0;
  std::vector<std::uint32_t> parts_left_;  // by actor
  Actor to_join_;
  std::vector<bool> joined_;      // by actor
  Seconds longest_notification_;  // latency to any sender; 0 where none is waited for
  bool came_early_ = false;       // any transfer, to any receiver
  std::deque<Transfer> pool_;     // addresses stay; run is null when free
  std::vector<Transfer*> free_;
};

}  // namespace paceline::sim
