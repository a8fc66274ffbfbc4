#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "models/units/units.h"
#include "sim/call_table.h"
#include "sim/network.h"

namespace paceline::sim {

// The connections between the ranks of a step: one from each rank to each other, shared by all
// calls, in order. A receiver's ready notification queues behind the data its rank wrote there
// before.
class Wires {
 public:
  using Left = std::function<void()>;

  // `from` writes data to `to`, beginning at `time`. `data` identifies it until it has left.
  void write(Actor from, Actor to, Seconds time, const void* data);
  void has_left(Actor from, Actor to, const void* data);
  // Sends a ready notification. Returns whether it leaves at once; if not, `left` is called when it
  // does.
  bool notify(Actor from, Actor to, Seconds now, Left left);
  // What keeps whole messages of all calls in order.
  [[nodiscard]] Network::Connection& connection(Actor from, Actor to) {
    return wires_[{from, to}].connection;
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

  std::map<std::pair<Actor, Actor>, Wire> wires_;
};

}  // namespace paceline::sim
