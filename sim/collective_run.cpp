#include "sim/collective_run.h"

#include <utility>

namespace paceline::sim {

using collectives::RoundTable;

CollectiveRun::CollectiveRun(const training::CollectiveCall& call, const collectives::Plan& plan,
                             FlowNetwork& network, std::function<void(Rank)> on_rank_done)
    : element_size_(call.element_size),
      network_(network),
      on_rank_done_(std::move(on_rank_done)),
      channels_left_(plan.ranks.value(), static_cast<std::uint32_t>(plan.channels.size())) {
  for (const collectives::Channel& channel : plan.channels) {
    ChannelState& state = channels_.emplace_back();
    state.window = channel.window;
    for (const collectives::Round& round : channel.rounds) {
      if (round.repeats == 0) continue;
      state.shapes.emplace_back(round, plan.ranks);
      state.rounds += round.repeats;
    }
    state.progress.resize(plan.ranks.value());
    for (Progress& progress : state.progress) progress.pending.resize(channel.window);
  }
}

void CollectiveRun::join(Rank rank) {
  if (channels_.empty()) {
    on_rank_done_(rank);
    return;
  }
  for (std::uint32_t c = 0; c < channels_.size(); ++c) advance(c, rank);
}

// Posts all rounds that may be posted, and counts those off that are done.
void CollectiveRun::advance(std::uint32_t channel, Rank rank) {
  ChannelState& state = channels_[channel];
  Progress& progress = state.progress[index(rank)];
  while (true) {
    while (progress.done < progress.posted && progress.pending[progress.done % state.window] == 0) {
      ++progress.done;
    }
    if (progress.posted == state.rounds || progress.posted == progress.done + state.window) break;
    post(channel, rank);
  }
  if (progress.done == state.rounds && --channels_left_[index(rank)] == 0) on_rank_done_(rank);
}

void CollectiveRun::post(std::uint32_t channel, Rank rank) {
  ChannelState& state = channels_[channel];
  Progress& progress = state.progress[index(rank)];
  const RoundTable& shape = state.shapes[progress.shape];
  const std::uint64_t round = progress.posted++;
  const std::uint64_t repeat = progress.repeat;
  if (++progress.repeat == shape.repeats()) {
    ++progress.shape;
    progress.repeat = 0;
  }
  std::uint32_t& pending = progress.pending[round % state.window];
  const auto meet = [&](std::uint32_t transfer, Rank other, bool sending) {
    const RoundTable::Transfer& planned = shape.transfers()[transfer];
    const ElementCount count = planned.chunk.at(repeat).count;
    if (count == ElementCount(0)) return;
    ++pending;
    if (state.progress[index(other)].posted <= round) return;  // it starts when the other posts
    if (free_.empty()) free_.push_back(&pool_.emplace_back());
    Transfer* started = free_.back();
    free_.pop_back();
    *started = {this, channel, round, sending ? rank : other, sending ? other : rank};
    FlowNetwork::Connection* connection = nullptr;
    if (state.window > 1) connection = &state.connections[{started->from, started->to}];
    network_.send(started->from, started->to, count * element_size_, started, connection);
  };
  for (const std::uint32_t t : shape.sent_by(rank)) meet(t, shape.transfers()[t].to, true);
  for (const std::uint32_t t : shape.received_by(rank)) meet(t, shape.transfers()[t].from, false);
}

void CollectiveRun::arrived(void* tag) {
  auto* transfer = static_cast<Transfer*>(tag);
  const Transfer done = *transfer;
  done.run->free_.push_back(transfer);
  done.run->finish(done.channel, done.from, done.round);
  done.run->finish(done.channel, done.to, done.round);
}

void CollectiveRun::finish(std::uint32_t channel, Rank rank, std::uint64_t round) {
  ChannelState& state = channels_[channel];
  if (--state.progress[index(rank)].pending[round % state.window] == 0) advance(channel, rank);
}

}  // namespace paceline::sim
