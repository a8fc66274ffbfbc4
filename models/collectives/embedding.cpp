#include "models/collectives/embedding.h"

#include <utility>

#include "models/contract.h"

namespace paceline::collectives {
namespace {

const Round& round_of(const LinePlan& line, std::size_t number) {
  return line.plan->channels.front().rounds[number];
}

Round embedded_round(Axis axis, const std::function<LinePlan(Rank)>& plan_of, std::size_t number,
                     std::uint64_t repeats) {
  return {repeats,
          [=](Rank rank) {
            const LinePlan line = plan_of(rank);
            Sends sends = round_of(line, number).sends(Rank(axis.coordinate(rank)));
            for (Send& send : sends) {
              send.to = axis.on_line(rank, index(send.to));
              send.chunk.partition = send.chunk.partition.moved(line.offset);
            }
            return sends;
          },
          [=](Rank rank) {
            auto sources = round_of(plan_of(rank), number).sources(Rank(axis.coordinate(rank)));
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
    rounds.push_back(embedded_round(axis, plan_of, rounds.size(), round.repeats));
  }
  return rounds;
}

}  // namespace paceline::collectives
