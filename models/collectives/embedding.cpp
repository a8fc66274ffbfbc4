#include "models/collectives/embedding.h"

#include <utility>

#include "models/contract.h"

namespace paceline::collectives {
namespace {

// Which round of a line's plan.
struct RoundPlace {
  std::size_t channel, round;

  [[nodiscard]] const Round& in(const LinePlan& line) const {
    return line.plan->channels[channel].rounds[round];
  }
};

Round embedded_round(Axis axis, const std::function<LinePlan(Rank)>& plan_of, RoundPlace place,
                     std::uint64_t repeats) {
  return {repeats,
          [=](Rank rank) {
            const LinePlan line = plan_of(rank);
            Sends sends = place.in(line).sends(Rank(axis.coordinate(rank)));
            for (Send& send : sends) {
              send.to = axis.on_line(rank, index(send.to));
              send.chunk.partition = send.chunk.partition.moved(line.offset);
            }
            return sends;
          },
          [=](Rank rank) {
            auto sources = place.in(plan_of(rank)).sources(Rank(axis.coordinate(rank)));
            for (Rank& source : sources) source = axis.on_line(rank, index(source));
            return sources;
          }};
}

}  // namespace

Rank Axis::on_line(Rank rank, std::uint32_t other) const {
  return Rank(index(rank) - coordinate(rank) * stride + other * stride);
}

std::vector<Round> embedded_rounds(Axis axis, std::function<LinePlan(Rank)> plan_of) {
  const LinePlan first = plan_of(Rank(0));
  PACELINE_EXPECTS(first.plan->ranks == RankCount(axis.size) && first.plan->servers == 0);
  if (first.plan->channels.empty()) return {};
  PACELINE_EXPECTS(first.plan->channels.size() == 1 && first.plan->channels.front().window == 1);
  std::vector<Round> rounds;
  for (const Round& round : first.plan->channels.front().rounds) {
    rounds.push_back(embedded_round(axis, plan_of, {0, rounds.size()}, round.repeats));
  }
  return rounds;
}

Plan on_every_line(Axis axis, Plan line, RankCount ranks) {
  PACELINE_EXPECTS(line.ranks == RankCount(axis.size) && line.servers == 0);
  const LinePlan shared{std::make_shared<const Plan>(std::move(line)), ElementCount(0)};
  const auto plan_of = [shared](Rank) { return shared; };
  Plan whole{shared.plan->collective, ranks, shared.plan->count, shared.plan->root, {}};
  for (const Channel& channel : shared.plan->channels) {
    Channel& made = whole.channels.emplace_back(Channel{{}, channel.window});
    for (const Round& round : channel.rounds) {
      const RoundPlace place{whole.channels.size() - 1, made.rounds.size()};
      made.rounds.push_back(embedded_round(axis, plan_of, place, round.repeats));
    }
  }
  return whole;
}

}  // namespace paceline::collectives
