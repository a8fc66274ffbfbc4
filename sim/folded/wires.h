#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "models/units/units.h"
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
  // Sends a ready notification. Returns whether it leaves at once; otherwise `left` is called when
  // it leaves.
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

}  // namespace paceline::sim
