#include "sim/folded/regime.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace paceline::sim {
namespace {

// Two snapshots are the same when what is left differs by less than this part of the time between
// them. What a leap adds to the error is no more than this part of the time it leaps over: what is
// left then drifts by as much a period.
constexpr double same_part = 1e-8;

// Rounding of a clock that has come this far.
double rounding(Seconds time) { return 16 * std::numeric_limits<double>::epsilon() * time.value(); }

constexpr std::size_t recent_max = 4;  // periods are mostly of one round

// An event takes 0.3 to 1 us to follow, an entry of a snapshot some nanoseconds to take and to
// compare. A round in which all that is in flight moves has fewer entries for each of its events,
// and always may be looked at; so may all rounds of a short simulation.
constexpr std::uint64_t entries_an_event = 16, entries_free = 10'000'000;

}  // namespace

bool Regime::has_looked_enough() const {
  return looked_at_ > entries_free + entries_an_event * network_.events();
}

Regime::Snapshot Regime::take(std::span<CollectiveRun* const> calls) const {
  Snapshot snapshot{network_.now(), {calls.begin(), calls.end()}, {}, {}, {}, {}, {}};
  for (const CollectiveRun* call : calls) {
    snapshot.state.push_back(call->round_counters());
    call->append_rounds(snapshot.rounds);
    call->append_state(snapshot.state);
    call->append_ages(snapshot.left);
  }
  // Calls that came and went between two snapshots do not come again.
  for (const auto& step : steps_) snapshot.state.push_back(step->calls_begun());
  append_flows(calls, snapshot);
  return snapshot;
}

// In an order of their own: by call, channel, shape, number and round.
void Regime::append_flows(std::span<CollectiveRun* const> calls, Snapshot& snapshot) const {
  struct Place {
    std::size_t call, first_channel;
  };
  std::unordered_map<const CollectiveRun*, Place> places;
  std::size_t channels = 0;
  for (std::size_t number = 0; number < calls.size(); ++number) {
    places.emplace(calls[number], Place{number, channels});
    channels += calls[number]->channels();
  }
  struct PlacedFlow {
    Place place;
    const CollectiveRun::Transfer* transfer;
    FoldedNetwork::FlowState state;

    [[nodiscard]] auto order() const {
      return std::tuple(place.call, transfer->channel, transfer->shape, transfer->number,
                        transfer->round);
    }
  };
  std::vector<FoldedNetwork::FlowState> states;
  network_.append_flows(states);
  std::vector<PlacedFlow> flows;
  for (const FoldedNetwork::FlowState& state : states) {
    const auto* transfer = static_cast<const CollectiveRun::Transfer*>(state.tag);
    flows.push_back({places.at(transfer->run), transfer, state});
  }
  std::ranges::sort(flows, {}, &PlacedFlow::order);
  for (const auto& [place, transfer, state] : flows) {
    for (const std::uint64_t part :
         {std::uint64_t{place.call}, std::uint64_t{transfer->channel},
          std::uint64_t{transfer->shape}, std::uint64_t{transfer->number},
          static_cast<std::uint64_t>(transfer->stage), static_cast<std::uint64_t>(state.phase)}) {
      snapshot.state.push_back(part);
    }
    snapshot.flow_rounds.push_back(transfer->round);
    snapshot.flow_channels.push_back(place.first_channel + transfer->channel);
    snapshot.left.push_back(state.left);
  }
}

std::vector<std::uint64_t> Regime::moved(std::span<CollectiveRun* const> calls,
                                         const Snapshot& before, const Snapshot& now) {
  const Seconds period = now.time - before.time;
  if (before.calls != now.calls || before.state != now.state ||
      before.left.size() != now.left.size() || period <= Seconds(0)) {
    return {};
  }
  const double grain = std::max(same_part * period.value(), rounding(now.time));
  for (std::size_t i = 0; i < now.left.size(); ++i) {
    if (std::abs((now.left[i] - before.left[i]).value()) > grain) return {};
  }
  // In a channel all move by as many rounds, or stand.
  std::vector<std::uint64_t> moved(now.rounds.size());
  std::vector<std::uint64_t> by_channel;
  std::size_t counter = 0;
  for (const CollectiveRun* call : calls) {
    for (std::size_t c = 0; c < call->channels(); ++c) {
      std::uint64_t& of_channel = by_channel.emplace_back();
      for (std::size_t part = 0; part < call->parts(c); ++part, ++counter) {
        moved[counter] = now.rounds[counter] - before.rounds[counter];
        if (moved[counter] == 0) continue;
        if (of_channel != 0 && moved[counter] != of_channel) return {};
        of_channel = moved[counter];
      }
    }
  }
  for (std::size_t i = 0; i < now.flow_rounds.size(); ++i) {
    if (now.flow_rounds[i] - before.flow_rounds[i] != by_channel[now.flow_channels[i]]) return {};
  }
  return moved;
}

bool Regime::leap(std::span<CollectiveRun* const> calls, const Snapshot& before,
                  const Snapshot& now) {
  const auto moved_by = moved(calls, before, now);
  if (moved_by.empty()) return false;
  const Seconds period = now.time - before.time;
  const Seconds next_timer = network_.next_timer();
  std::uint64_t times =
      static_cast<std::uint64_t>(std::min(1e18, (next_timer - now.time) / period));
  // The quotient may be rounded up to a whole number.
  while (times > 0 && now.time + period * static_cast<double>(times) > next_timer) --times;
  std::size_t first = 0;
  for (const CollectiveRun* call : calls) {
    times =
        std::min(times, call->leaps(std::span(moved_by).subspan(first, call->round_counters())));
    first += call->round_counters();
  }
  if (times == 0) return false;
  network_.leap(period * static_cast<double>(times));
  first = 0;
  for (CollectiveRun* call : calls) {
    call->leap(std::span(moved_by).subspan(first, call->round_counters()), times,
               period * static_cast<double>(times));
    first += call->round_counters();
  }
  return true;
}

void Regime::look() {
  if (has_looked_enough()) return;
  std::vector<CollectiveRun*> calls;
  for (const auto& step : steps_) {
    const auto live = step->live_calls();
    calls.insert(calls.end(), live.begin(), live.end());
  }
  Snapshot now = take(calls);
  looked_at_ += now.size();
  bool leapt = false;
  for (auto before = recent_.rbegin(); before != recent_.rend() && !leapt; ++before) {
    leapt = leap(calls, *before, now);
  }
  if (!leapt && looks_ > 0) leapt = leap(calls, anchor_, now);
  if (leapt) {
    recent_.clear();
    looks_ = 0;
    return;
  }
  if (std::has_single_bit(++looks_)) anchor_ = now;
  recent_.push_back(std::move(now));
  if (recent_.size() > recent_max) recent_.pop_front();
}

}  // namespace paceline::sim
