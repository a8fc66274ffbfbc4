#include "sim/folded/wires.h"

#include <algorithm>
#include <iterator>

namespace paceline::sim {
namespace {

// When data arrive at a rank followed by the ready notification for data of its own, the rank
// writes those before it sends its next notification: a running thread writes, a sleeping one has
// to be woken to notify. The margin is for rounding: sums of the same times differ by it.
constexpr Seconds at_once(1e-9);

}  // namespace

void Wires::write(Actor from, Actor to, Seconds time, const void* data) {
  wires_[{from, to}].data.push_back({data, time});
}

void Wires::has_left(Actor from, Actor to, const void* data) {
  Wire& wire = wires_.at({from, to});
  wire.data.erase(std::ranges::find(wire.data, data, &Data::data));
  for (Notification& notification : wire.notifications) std::erase(notification.behind, data);
  auto& queued = wire.notifications;
  const auto still_waiting = std::stable_partition(
      queued.begin(), queued.end(),
      [](const Notification& notification) { return notification.behind.empty(); });
  std::vector<Notification> left(std::make_move_iterator(queued.begin()),
                                 std::make_move_iterator(still_waiting));
  queued.erase(queued.begin(), still_waiting);
  // These callbacks may write and notify again.
  for (const Notification& notification : left) notification.left();
}

bool Wires::notify(Actor from, Actor to, Seconds now, Left left) {
  const auto wire = wires_.find({from, to});
  if (wire == wires_.end()) return true;
  std::vector<const void*> behind;
  for (const Data& data : wire->second.data) {
    if (data.written <= now + at_once) behind.push_back(data.data);
  }
  if (behind.empty()) return true;
  wire->second.notifications.push_back({std::move(behind), std::move(left)});
  return false;
}

}  // namespace paceline::sim
