#include "sim/folded/collective_run.h"

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

CollectiveRun::CollectiveRun(const CallTable& table, Network& network, Wires* wires,
                             std::function<void(Actor)> on_actor_done)
    : table_(table),
      network_(network),
      wires_(wires),
      on_actor_done_(std::move(on_actor_done)),
      channels_(table.together ? 0 : table.channels.size()),
      parts_left_(table.actors),
      to_join_(table.actors),
      joined_(table.actors) {
  if (table.together) return;
  for (const ChannelTable& channel : table.channels) {
    for (const RoundShape& shape : channel.shapes) {
      for (const PlannedTransfer& planned : shape.transfers()) {
        longest_notification_ =
            std::max(longest_notification_, network.timing(planned.path).notification_latency());
      }
    }
  }
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    for (const Actor actor : table.channels[c].actor_of) ++parts_left_[actor];
    round_counters_ += table.channels[c].parts();
    channels_[c].progress.resize(table.channels[c].parts());
    for (Progress& progress : channels_[c].progress) {
      progress.pending.resize(table.channels[c].window);
      progress.posted_at.resize(table.channels[c].window + topology::rounds_announced_ahead);
    }
    for (const RoundShape& shape : table.channels[c].shapes) {
      channels_[c].arrived.emplace_back(shape.transfers().size());
    }
  }
}

void CollectiveRun::join(Actor actor) {
  joined_[actor] = true;
  --to_join_;
  if (table_.together) {
    if (to_join_ == 0) network_.at(network_.now() + *table_.together, [this] { end_together(); });
    return;
  }
  if (parts_left_[actor] == 0) {
    on_actor_done_(actor);
    return;
  }
  begin(actor);
}

// No channel's ready notifications queue behind another channel's data.
void CollectiveRun::begin(Actor actor) {
  const auto for_each_part = [&](auto visit) {
    for (std::uint32_t c = 0; c < channels_.size(); ++c) {
      const auto [first, end] = table_.channels[c].parts_of(actor);
      for (Part part = first; part < end; ++part) visit(c, part);
    }
  };
  if (notifications_queue()) {
    for_each_part([&](std::uint32_t channel, Part part) { notify_senders(channel, part); });
  }
  for_each_part([&](std::uint32_t channel, Part part) { advance(channel, part); });
}

void CollectiveRun::end_together() {
  for (Actor a = 0; a < table_.actors; ++a) {
    if (joined_[a]) on_actor_done_(a);
  }
}

// Posts all rounds that may be posted, and counts those off that are done.
void CollectiveRun::advance(std::uint32_t channel, Part part) {
  const ChannelTable& table = table_.channels[channel];
  Progress& progress = channels_[channel].progress[part];
  while (true) {
    while (progress.done < progress.posted && progress.pending[progress.done % table.window] == 0) {
      ++progress.done;
    }
    if (progress.posted == table.rounds || progress.posted == progress.done + table.window) break;
    // A shape begins when all before it is done.
    if (progress.repeat == 0 && progress.posted != progress.done) break;
    if (!skip_idle(channel, part)) post(channel, part);
  }
  if (progress.done != table.rounds) return;
  const Actor actor = actor_of(channel, part);
  if (--parts_left_[actor] == 0 && joined_[actor]) on_actor_done_(actor);
}

// Posts the rounds in which a part has no transfer, all at once: a pipeline over p ranks has p such
// rounds for each. They are done when they are posted, as all before them are. False where there
// are none, or posting times may matter: the regime counts the first part's.
bool CollectiveRun::skip_idle(std::uint32_t channel, Part part) {
  Progress& progress = channels_[channel].progress[part];
  if (notifications_queue() || progress.posted != progress.done) return false;
  if (part == 0 && channel == 0) return false;
  const RoundShape& shape = table_.channels[channel].shapes[progress.shape];
  std::uint64_t end = shape.repeats();
  for (const auto& numbers : {shape.sent_by(part), shape.received_by(part)}) {
    for (const std::uint32_t number : numbers) {
      end = std::min(end, shape.transfers()[number].size.absent_until(progress.repeat));
    }
  }
  if (end <= progress.repeat + 1) return false;
  if (progress.posted == 0) progress.first_posted_at = network_.now();
  const std::uint64_t skipped = end - progress.repeat;
  progress.posted += skipped;
  progress.done = progress.posted;
  const std::uint64_t kept = progress.posted_at.size();
  for (std::uint64_t back = 1; back <= std::min(skipped, kept); ++back) {
    progress.posted_at[(progress.posted - back) % kept] = network_.now();
  }
  progress.repeat = end;
  if (end == shape.repeats()) {
    ++progress.shape;
    progress.repeat = 0;
  }
  return true;
}

void CollectiveRun::post(std::uint32_t channel, Part part) {
  ChannelState& state = channels_[channel];
  Progress& progress = state.progress[part];
  const std::uint32_t shape_number = progress.shape;
  const RoundShape& shape = table_.channels[channel].shapes[shape_number];
  if (notifications_queue() && progress.posted > 0) notify_senders(channel, part);
  const std::uint64_t round = progress.posted++;
  progress.posted_at[round % progress.posted_at.size()] = network_.now();
  if (round == 0) progress.first_posted_at = network_.now();
  const std::uint64_t repeat = progress.repeat;
  if (++progress.repeat == shape.repeats()) {
    ++progress.shape;
    progress.repeat = 0;
  }
  // What queues behind data is no part of the state that is compared.
  if (part == 0 && channel == 0 && shape.may_leap() && !notifications_queue()) {
    network_.round_begins();
  }
  start_held(channel, part);
  const auto sending = [&](std::uint32_t number) {
    return sending_of(channel, shape_number, repeat, number, round);
  };
  for (const std::uint32_t number : shape.sent_by(part)) post_send(channel, sending(number));
  for (const std::uint32_t number : shape.received_by(part)) {
    if (shape.transfers()[number].from != part) post_receive(channel, sending(number));
  }
}

CollectiveRun::Sending CollectiveRun::sending_of(std::uint32_t channel, std::uint32_t shape,
                                                 std::uint64_t repeat, std::uint32_t number,
                                                 std::uint64_t round) const {
  const PlannedTransfer& transfer = planned(channel, shape, number);
  return {shape, number, round, transfer.size.bytes_at(repeat),
          round == 0 || repeat > 0 || transfer.were_peers};
}

// Sends the notifications due when a receiver posts its next round, and those sent ahead.
void CollectiveRun::notify_senders(std::uint32_t channel, Part part) {
  const ChannelTable& table = table_.channels[channel];
  Progress& progress = channels_[channel].progress[part];
  std::uint32_t shape = progress.shape;
  std::uint64_t repeat = progress.repeat;
  const std::uint64_t end =
      std::min(progress.posted + topology::rounds_announced_ahead + 1, table.rounds);
  for (std::uint64_t round = progress.posted; round < end; ++round) {
    for (const std::uint32_t number : table.shapes[shape].received_by(part)) {
      const Sending sending = sending_of(channel, shape, repeat, number, round);
      const bool ahead = network_.timing(planned(channel, shape, number).path)
                             .is_notified_ahead(sending.were_peers);
      if (ahead ? round >= progress.notified : round == progress.posted) notify(channel, sending);
    }
    if (++repeat == table.shapes[shape].repeats()) {
      ++shape;
      repeat = 0;
    }
  }
  progress.notified = std::max(progress.notified, end);
}

void CollectiveRun::notify(std::uint32_t channel, const Sending& sending) {
  const PlannedTransfer& transfer = planned(channel, sending.shape, sending.number);
  const topology::MessageTiming& timing = network_.timing(transfer.path);
  if (sending.bytes <= 0 || !timing.needs_notification(sending.were_peers)) return;
  const NotificationKey key(sending.shape, sending.number, sending.round);
  const auto left = [this, channel, key] { notification_left(channel, key); };
  if (!wires_->notify(actor_of(channel, transfer.to), actor_of(channel, transfer.from),
                      network_.now(), left)) {
    channels_[channel].queued_notifications[key] = {};
  }
}

void CollectiveRun::notification_left(std::uint32_t channel, const NotificationKey& key) {
  QueuedNotification& notification = channels_[channel].queued_notifications.at(key);
  notification.left = network_.now();
  if (notification.awaits) start(channel, Sending(*notification.awaits));
}

void CollectiveRun::post_send(std::uint32_t channel, const Sending& sending) {
  if (sending.bytes <= 0) return;
  const PlannedTransfer& transfer = planned(channel, sending.shape, sending.number);
  const topology::MessageTiming& timing = network_.timing(transfer.path);
  ChannelState& state = channels_[channel];
  ++state.progress[transfer.from].pending[sending.round % table_.channels[channel].window];
  const std::uint64_t receiver_posted = state.progress[transfer.to].posted;
  if (receiver_posted > sending.round) return start(channel, sending);
  // Otherwise when its receiver posts.
  if (!timing.starts_early(sending.bytes, sending.were_peers)) return;
  if (!timing.needs_notification(sending.were_peers) ||
      is_notified(receiver_posted, sending.round)) {
    return start(channel, sending);
  }
  state.held[transfer.to].push_back(sending);
}

void CollectiveRun::post_receive(std::uint32_t channel, const Sending& sending) {
  if (sending.bytes <= 0) return;
  const PlannedTransfer& transfer = planned(channel, sending.shape, sending.number);
  ChannelState& state = channels_[channel];
  std::uint32_t& pending =
      state.progress[transfer.to].pending[sending.round % table_.channels[channel].window];
  if (state.arrived[sending.shape][sending.number] > sending.round) {
    if (!transfer.reduction) return;
    ++pending;
    return reduce(*new_transfer(channel, sending, Transfer::Stage::arriving), *transfer.reduction);
  }
  ++pending;
  const topology::MessageTiming& timing = network_.timing(transfer.path);
  if (timing.starts_early(sending.bytes, sending.were_peers)) return;
  if (state.progress[transfer.from].posted > sending.round) start(channel, sending);
}

// How long the ready notification still takes to the sender.
Seconds CollectiveRun::notification_under_way(std::uint32_t channel, const Sending& sending) const {
  const PlannedTransfer& transfer = planned(channel, sending.shape, sending.number);
  const topology::MessageTiming& timing = network_.timing(transfer.path);
  if (!timing.needs_notification(sending.were_peers)) return Seconds(0);
  const auto& queued_notifications = channels_[channel].queued_notifications;
  const auto queued = queued_notifications.find({sending.shape, sending.number, sending.round});
  if (queued != queued_notifications.end()) {
    return std::max(Seconds(0),
                    *queued->second.left + timing.notification_latency() - network_.now());
  }
  const Progress& receiver = channels_[channel].progress[transfer.to];
  const auto posted_at = [&](std::uint64_t round) {
    return receiver.posted_at[round % receiver.posted_at.size()];
  };
  constexpr std::uint64_t ahead = topology::rounds_announced_ahead;
  const Seconds notified = !timing.is_notified_ahead(sending.were_peers) ? posted_at(sending.round)
                           : sending.round <= ahead                      ? receiver.first_posted_at
                                                    : posted_at(sending.round - ahead);
  return std::max(Seconds(0), notified + timing.notification_latency() - network_.now());
}

// Whether a receiver that has posted `posted` rounds has sent its notification for `round`.
bool CollectiveRun::is_notified(std::uint64_t posted, std::uint64_t round) {
  return posted > 0 && round < posted + topology::rounds_announced_ahead;
}

// Starts the transfers held for notifications that a part has now sent.
void CollectiveRun::start_held(std::uint32_t channel, Part part) {
  ChannelState& state = channels_[channel];
  auto held = state.held.extract(part);
  if (!held) return;
  std::vector<Sending>& all = held.mapped();
  const std::uint64_t posted = state.progress[part].posted;
  const auto still_held = std::stable_partition(
      all.begin(), all.end(),
      [&](const Sending& sending) { return is_notified(posted, sending.round); });
  const std::vector<Sending> free(all.begin(), still_held);
  all.erase(all.begin(), still_held);
  if (!all.empty()) state.held.insert(std::move(held));
  for (const Sending& sending : free) start(channel, sending);
}

CollectiveRun::Transfer* CollectiveRun::new_transfer(std::uint32_t channel, const Sending& sending,
                                                     Transfer::Stage stage) {
  if (free_.empty()) free_.push_back(&pool_.emplace_back());
  Transfer* transfer = free_.back();
  free_.pop_back();
  *transfer = {this, channel, sending.shape, sending.number, sending.round, sending.bytes, stage};
  return transfer;
}

void CollectiveRun::start(std::uint32_t channel, const Sending& sending) {
  const PlannedTransfer& transfer = planned(channel, sending.shape, sending.number);
  auto& queued_notifications = channels_[channel].queued_notifications;
  const auto queued = queued_notifications.find({sending.shape, sending.number, sending.round});
  if (queued != queued_notifications.end() && !queued->second.left) {
    queued->second.awaits = sending;
    return;
  }
  const Seconds notification = notification_under_way(channel, sending);
  if (queued != queued_notifications.end()) queued_notifications.erase(queued);
  Transfer* tag = new_transfer(channel, sending, Transfer::Stage::leaving);
  Network::Connection* connection = nullptr;
  if (table_.channels[channel].window > 1) {
    connection = &channels_[channel].connections[{transfer.from, transfer.to}];
  }
  if (notifications_queue()) {
    const Actor from = actor_of(channel, transfer.from), to = actor_of(channel, transfer.to);
    wires_->write(from, to, network_.now() + notification, tag);
    if (auto* shared = wires_->connection(from, to)) {
      return write_in_order(transfer.path, sending.bytes, notification, tag, shared);
    }
  }
  network_.send(transfer.path, sending.bytes, notification, tag, connection);
}

// A message takes its place in the connection when it is written: when its notification has come.
void CollectiveRun::write_in_order(PathId path, double bytes, Seconds notification, Transfer* tag,
                                   Network::Connection* connection) {
  const auto write = [this, path, bytes, tag, connection] {
    network_.send(path, bytes, Seconds(0), tag, connection);
  };
  if (notification == Seconds(0)) return write();
  network_.at(network_.now() + notification, write);
}

void CollectiveRun::arrived(void* tag) {
  auto* transfer = static_cast<Transfer*>(tag);
  transfer->run->take(*transfer);
}

// A sender is done when its bytes are through, a receiver when they are there and it has reduced
// them. A part that sends to itself is done as a receiver is.
void CollectiveRun::take(Transfer& transfer) {
  using Stage = Transfer::Stage;
  const PlannedTransfer& ends = planned(transfer.channel, transfer.shape, transfer.number);
  if (transfer.stage == Stage::leaving) {
    transfer.stage = Stage::arriving;
    if (notifications_queue()) {
      wires_->has_left(actor_of(transfer.channel, ends.from), actor_of(transfer.channel, ends.to),
                       &transfer);
    }
    const Seconds latency = network_.timing(ends.path).latency_after();
    if (latency > Seconds(0)) network_.hand_back_after(latency, &transfer);
    if (ends.from != ends.to) finish(transfer.channel, ends.from, transfer.round);
    if (latency == Seconds(0)) receive(transfer);
  } else if (transfer.stage == Stage::arriving) {
    receive(transfer);
  } else {
    const Transfer done = transfer;
    transfer.run = nullptr;
    free_.push_back(&transfer);
    finish(done.channel, ends.to, done.round);
  }
}

// A transfer is there.
void CollectiveRun::receive(Transfer& transfer) {
  ChannelState& state = channels_[transfer.channel];
  const PlannedTransfer& ends = planned(transfer.channel, transfer.shape, transfer.number);
  const bool is_awaited = state.progress[ends.to].posted > transfer.round;
  if (is_awaited && ends.reduction) return reduce(transfer, *ends.reduction);
  const Transfer done = transfer;
  transfer.run = nullptr;
  free_.push_back(&transfer);
  if (is_awaited) {
    finish(done.channel, ends.to, done.round);
  } else {
    state.arrived[done.shape][done.number] = done.round + 1;
    came_early_ = true;
  }
}

void CollectiveRun::reduce(Transfer& transfer, BytesPerSecond rate) {
  transfer.stage = Transfer::Stage::reducing;
  network_.hand_back_after(Seconds(transfer.bytes / rate.value()), &transfer);
}

void CollectiveRun::finish(std::uint32_t channel, Part part, std::uint64_t round) {
  const std::uint32_t window = table_.channels[channel].window;
  if (--channels_[channel].progress[part].pending[round % window] == 0) advance(channel, part);
}

void CollectiveRun::append_rounds(std::vector<std::uint64_t>& rounds) const {
  for (const ChannelState& channel : channels_) {
    for (const Progress& progress : channel.progress) rounds.push_back(progress.posted);
  }
}

void CollectiveRun::append_state(std::vector<std::uint64_t>& state) const {
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const std::uint32_t window = table_.channels[c].window;
    for (Part part = 0; part < parts(c); ++part) {
      const Progress& progress = channels_[c].progress[part];
      state.push_back(joined_[table_.channels[c].actor_of[part]] ? 1 : 0);
      state.push_back(progress.posted - progress.done);
      state.push_back(progress.shape);
      for (std::uint64_t round = progress.done; round < progress.posted; ++round) {
        state.push_back(progress.pending[round % window]);
      }
    }
    if (!came_early_) continue;
    const auto& shapes = channels_[c].arrived;
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
      for (std::size_t i = 0; i < shapes[shape].size(); ++i) {
        const std::uint64_t early = rounds_early(c, shape, i);
        if (early > 0) state.insert(state.end(), {shape, i, early});
      }
    }
  }
}

// By how many rounds the latest of a transfer that came is ahead of its receiver.
std::uint64_t CollectiveRun::rounds_early(std::size_t channel, std::size_t shape,
                                          std::size_t number) const {
  const ChannelState& state = channels_[channel];
  const Part to = table_.channels[channel].shapes[shape].transfers()[number].to;
  const std::uint64_t arrived = state.arrived[shape][number];
  return arrived - std::min(arrived, state.progress[to].posted);
}

void CollectiveRun::append_ages(std::vector<Seconds>& ages) const {
  if (longest_notification_ == Seconds(0)) return;
  for (const ChannelState& channel : channels_) {
    for (const Progress& progress : channel.progress) {
      const auto push = [&](Seconds posted) {
        ages.push_back(std::min(network_.now() - posted, longest_notification_));
      };
      push(progress.first_posted_at);
      const std::size_t kept = progress.posted_at.size();
      // In the order of rounds.
      for (std::size_t i = 0; i < kept; ++i) push(progress.posted_at[(progress.posted + i) % kept]);
    }
  }
}

// A part that did not move waits for a later shape, or is done: nothing comes to it meanwhile.
std::uint64_t CollectiveRun::leaps(std::span<const std::uint64_t> moved) const {
  std::uint64_t leaps = TransferSize::never;
  std::size_t counter = 0;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    for (Part part = 0; part < parts(c); ++part) {
      const std::uint64_t rounds = moved[counter++];
      if (rounds == 0) continue;
      const Progress& progress = channels_[c].progress[part];
      if (progress.posted == table_.channels[c].rounds) return 0;
      const RoundShape& shape = table_.channels[c].shapes[progress.shape];
      // Rounds of this shape since the last leap's begin, with those that were in flight then.
      const std::uint64_t past = rounds + table_.channels[c].window;
      if (progress.repeat < past) return 0;
      // One round is left to be posted as usual, which passes to the next shape.
      std::uint64_t until = shape.repeats() - 1;
      for (const auto& numbers : {shape.sent_by(part), shape.received_by(part)}) {
        for (const std::uint32_t number : numbers) {
          const TransferSize& size = shape.transfers()[number].size;
          until = std::min(until, size.steady_until(progress.repeat - past));
        }
      }
      if (until <= progress.repeat) return 0;
      leaps = std::min(leaps, (until - progress.repeat) / rounds);
    }
  }
  return leaps;
}

void CollectiveRun::leap(std::span<const std::uint64_t> moved, std::uint64_t times, Seconds time) {
  std::size_t counter = 0;
  for (std::size_t c = 0; c < channels_.size(); counter += parts(c++)) {
    const auto of_channel = moved.subspan(counter, parts(c));
    ChannelState& state = channels_[c];
    for (std::size_t shape = 0; came_early_ && shape < state.arrived.size(); ++shape) {
      for (std::size_t i = 0; i < state.arrived[shape].size(); ++i) {
        if (rounds_early(c, shape, i) == 0) continue;
        const Part to = table_.channels[c].shapes[shape].transfers()[i].to;
        state.arrived[shape][i] += of_channel[to] * times;
      }
    }
    for (Part part = 0; part < parts(c); ++part) {
      leap(state.progress[part], of_channel[part] * times, time);
    }
    for (auto& [to, sendings] : state.held) {
      for (Sending& sending : sendings) {
        const Part from =
            planned(static_cast<std::uint32_t>(c), sending.shape, sending.number).from;
        sending.round += of_channel[from] * times;
      }
    }
    if (of_channel.empty()) continue;
    const std::uint64_t rounds = *std::ranges::max_element(of_channel) * times;
    for (Transfer& transfer : pool_) {
      if (transfer.run != nullptr && transfer.channel == c) transfer.round += rounds;
    }
  }
}

void CollectiveRun::leap(Progress& progress, std::uint64_t rounds, Seconds time) {
  if (rounds == 0) return;
  // Round i is kept at i % size.
  const auto turn = [rounds](auto& kept) {
    const std::size_t size = kept.size();
    const auto first = static_cast<std::ptrdiff_t>((size - rounds % size) % size);
    std::rotate(kept.begin(), kept.begin() + first, kept.end());
  };
  turn(progress.pending);
  turn(progress.posted_at);
  for (Seconds& posted : progress.posted_at) posted += time;
  progress.posted += rounds;
  progress.done += rounds;
  progress.repeat += rounds;
}

}  // namespace paceline::sim
