#include "sim/collective_run.h"

#include <algorithm>
#include <limits>

namespace paceline::sim {

CollectiveRun::CollectiveRun(const CallTable& table, Network& network,
                             std::function<void(Actor)> on_actor_done)
    : table_(table),
      network_(network),
      on_actor_done_(std::move(on_actor_done)),
      channels_(table.together ? 0 : table.channels.size()),
      channels_left_(table.actors, static_cast<std::uint32_t>(table.channels.size())),
      to_join_(table.actors - static_cast<Actor>(table.servers.size())),
      joined_(table.actors) {
  if (table.together) return;
  for (const ChannelTable& channel : table.channels) {
    for (const RoundShape& shape : channel.shapes) {
      for (const PlannedTransfer& planned : shape.transfers()) {
        if (network.receives(planned.path) == topology::Receives::ready) continue;
        longest_word_ = std::max(longest_word_, network.latency(planned.path));
      }
    }
  }
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    channels_[c].progress.resize(table.actors);
    for (Progress& progress : channels_[c].progress) {
      progress.pending.resize(table.channels[c].window);
      progress.posted_at.resize(table.channels[c].window + std::size_t{1}, network.now());
    }
  }
  for (const Actor server : table.servers) {
    for (std::uint32_t c = 0; c < channels_.size(); ++c) advance(c, server);
  }
}

void CollectiveRun::join(Actor actor) {
  joined_[actor] = true;
  --to_join_;
  if (table_.together) {
    if (to_join_ == 0) network_.at(network_.now() + *table_.together, [this] { end_together(); });
    return;
  }
  if (channels_.empty()) {
    on_actor_done_(actor);
    return;
  }
  for (std::uint32_t c = 0; c < channels_.size(); ++c) advance(c, actor);
}

void CollectiveRun::end_together() {
  for (Actor a = 0; a < table_.actors; ++a) {
    if (joined_[a]) on_actor_done_(a);
  }
}

// Posts all rounds that may be posted, and counts those off that are done.
void CollectiveRun::advance(std::uint32_t channel, Actor actor) {
  const ChannelTable& table = table_.channels[channel];
  Progress& progress = channels_[channel].progress[actor];
  while (true) {
    while (progress.done < progress.posted && progress.pending[progress.done % table.window] == 0) {
      ++progress.done;
    }
    if (progress.posted == table.rounds || progress.posted == progress.done + table.window) break;
    // A shape begins when all before it is done.
    if (progress.repeat == 0 && progress.posted != progress.done) break;
    post(channel, actor);
  }
  if (progress.done == table.rounds && --channels_left_[actor] == 0 && joined_[actor]) {
    on_actor_done_(actor);
  }
}

void CollectiveRun::post(std::uint32_t channel, Actor actor) {
  ChannelState& state = channels_[channel];
  Progress& progress = state.progress[actor];
  const std::uint32_t shape_number = progress.shape;
  const RoundShape& shape = table_.channels[channel].shapes[shape_number];
  const std::uint64_t round = progress.posted++;
  progress.posted_at[round % progress.posted_at.size()] = network_.now();
  const std::uint64_t repeat = progress.repeat;
  if (++progress.repeat == shape.repeats()) {
    ++progress.shape;
    progress.repeat = 0;
  }
  if (actor == 0 && channel == 0 && shape.may_leap()) network_.round_begins();
  std::uint32_t& pending = progress.pending[round % table_.channels[channel].window];
  const auto meet = [&](std::uint32_t number, Actor other) {
    const double bytes = shape.transfers()[number].size.bytes_at(repeat);
    if (bytes <= 0) return;
    ++pending;
    // Otherwise it starts when the other end posts.
    if (state.progress[other].posted > round) start(channel, shape_number, number, round, bytes);
  };
  for (const std::uint32_t number : shape.sent_by(actor))
    meet(number, shape.transfers()[number].to);
  for (const std::uint32_t number : shape.received_by(actor)) {
    const Actor from = shape.transfers()[number].from;
    if (from != actor) meet(number, from);
  }
}

// How long the receiver's word that it is ready still takes to its sender.
Seconds CollectiveRun::word_under_way(std::uint32_t channel, const PlannedTransfer& planned,
                                      std::uint64_t round) const {
  const auto receives = network_.receives(planned.path);
  if (receives == topology::Receives::ready) return Seconds(0);
  const auto& posted_at = channels_[channel].progress[planned.to].posted_at;
  const bool ahead = receives == topology::Receives::announced_ahead;
  const std::uint64_t said_in = ahead && round > 0 ? round - 1 : round;
  const Seconds comes = posted_at[said_in % posted_at.size()] + network_.latency(planned.path);
  return std::max(Seconds(0), comes - network_.now());
}

void CollectiveRun::start(std::uint32_t channel, std::uint32_t shape, std::uint32_t number,
                          std::uint64_t round, double bytes) {
  const PlannedTransfer& planned = table_.channels[channel].shapes[shape].transfers()[number];
  if (free_.empty()) free_.push_back(&pool_.emplace_back());
  Transfer* transfer = free_.back();
  free_.pop_back();
  *transfer = {this, channel, shape, number, round, bytes, false};
  Network::Connection* connection = nullptr;
  if (table_.channels[channel].window > 1) {
    connection = &channels_[channel].connections[{planned.from, planned.to}];
  }
  network_.send(planned.path, bytes, word_under_way(channel, planned, round), transfer, connection);
}

void CollectiveRun::arrived(void* tag) {
  auto* transfer = static_cast<Transfer*>(tag);
  transfer->run->take(*transfer);
}

// A sender is done when its bytes are through, a receiver when they are there and it has reduced
// them. A class that sends to itself is both ends, and counted the transfer once: it is done as a
// receiver is.
void CollectiveRun::take(Transfer& transfer) {
  const Transfer done = transfer;
  const RoundShape& shape = table_.channels[done.channel].shapes[done.shape];
  const PlannedTransfer& planned = shape.transfers()[done.number];
  const bool sends_to_itself = planned.to == planned.from;
  Seconds left = network_.latency_after(planned.path);
  if (planned.reduction) left += Seconds(done.bytes / planned.reduction->value());
  if (left > Seconds(0) && !done.is_sent) {
    transfer.is_sent = true;
    network_.hand_back_after(left, &transfer);
    if (!sends_to_itself) finish(done.channel, planned.from, done.round);
    return;
  }
  transfer.run = nullptr;
  free_.push_back(&transfer);
  if (!done.is_sent && !sends_to_itself) finish(done.channel, planned.from, done.round);
  finish(done.channel, planned.to, done.round);
}

void CollectiveRun::finish(std::uint32_t channel, Actor actor, std::uint64_t round) {
  const std::uint32_t window = table_.channels[channel].window;
  if (--channels_[channel].progress[actor].pending[round % window] == 0) advance(channel, actor);
}

void CollectiveRun::append_rounds(std::vector<std::uint64_t>& rounds) const {
  for (const ChannelState& channel : channels_) {
    for (const Progress& progress : channel.progress) rounds.push_back(progress.posted);
  }
}

void CollectiveRun::append_state(std::vector<std::uint64_t>& state) const {
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const std::uint32_t window = table_.channels[c].window;
    for (Actor a = 0; a < table_.actors; ++a) {
      const Progress& progress = channels_[c].progress[a];
      state.push_back(joined_[a] ? 1 : 0);
      state.push_back(progress.posted - progress.done);
      state.push_back(progress.shape);
      for (std::uint64_t round = progress.done; round < progress.posted; ++round) {
        state.push_back(progress.pending[round % window]);
      }
    }
  }
}

void CollectiveRun::append_ages(std::vector<Seconds>& ages) const {
  if (longest_word_ == Seconds(0)) return;
  for (const ChannelState& channel : channels_) {
    for (const Progress& progress : channel.progress) {
      const std::size_t kept = progress.posted_at.size();
      // In the order of rounds.
      for (std::size_t i = 0; i < kept; ++i) {
        const Seconds age = network_.now() - progress.posted_at[(progress.posted + i) % kept];
        ages.push_back(std::min(age, longest_word_));
      }
    }
  }
}

// An actor that did not move waits for a round of a later shape, or has none left: nothing comes
// to it while the others stay in their shapes.
std::uint64_t CollectiveRun::leaps(std::span<const std::uint64_t> moved) const {
  std::uint64_t leaps = TransferSize::never;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    for (Actor a = 0; a < table_.actors; ++a) {
      const std::uint64_t rounds = moved[c * table_.actors + a];
      if (rounds == 0) continue;
      const Progress& progress = channels_[c].progress[a];
      if (progress.posted == table_.channels[c].rounds) return 0;
      const RoundShape& shape = table_.channels[c].shapes[progress.shape];
      // Rounds of this shape since the last leap's begin, with those that were under way then.
      const std::uint64_t past = rounds + table_.channels[c].window;
      if (progress.repeat < past) return 0;
      // One round is left to be posted as usual, which passes to the next shape.
      std::uint64_t until = shape.repeats() - 1;
      for (const auto& numbers : {shape.sent_by(a), shape.received_by(a)}) {
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
  std::vector<std::uint64_t> by_channel(channels_.size());
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const std::uint32_t window = table_.channels[c].window;
    for (Actor a = 0; a < table_.actors; ++a) {
      const std::uint64_t rounds = moved[c * table_.actors + a] * times;
      by_channel[c] = std::max(by_channel[c], rounds);
      Progress& progress = channels_[c].progress[a];
      // Round i is kept at i % window.
      std::rotate(progress.pending.begin(),
                  progress.pending.begin() +
                      static_cast<std::ptrdiff_t>((window - rounds % window) % window),
                  progress.pending.end());
      if (rounds > 0) {
        const std::uint64_t kept = progress.posted_at.size();
        std::rotate(
            progress.posted_at.begin(),
            progress.posted_at.begin() + static_cast<std::ptrdiff_t>((kept - rounds % kept) % kept),
            progress.posted_at.end());
        for (Seconds& posted : progress.posted_at) posted += time;
      }
      progress.posted += rounds;
      progress.done += rounds;
      progress.repeat += rounds;
    }
  }
  for (Transfer& transfer : pool_) {
    if (transfer.run != nullptr) transfer.round += by_channel[transfer.channel];
  }
}

}  // namespace paceline::sim
