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

// A line's plan on all lines: servers, after all ranks, are every line's, switches each of one.
class EveryLine {
 public:
  EveryLine(Axis axis, std::shared_ptr<const Plan> line, std::uint32_t ranks)
      : axis_(axis), line_(std::move(line)), ranks_(ranks) {}

  [[nodiscard]] Sends sends(RoundPlace place, Rank endpoint) const {
    Sends all;
    for (const Rank on : lines_of(endpoint)) {
      for (Send& send : place.in({line_, {}}).sends(in_line(endpoint))) {
        send.to = of_all(on, send.to);
        all.push_back(std::move(send));
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<Rank> sources(RoundPlace place, Rank endpoint) const {
    std::vector<Rank> all;
    for (const Rank on : lines_of(endpoint)) {
      for (const Rank source : place.in({line_, {}}).sources(in_line(endpoint))) {
        all.push_back(of_all(on, source));
      }
    }
    return all;
  }

 private:
  // A rank of each line that the endpoint is on.
  [[nodiscard]] std::vector<Rank> lines_of(Rank endpoint) const {
    if (index(endpoint) < ranks_) return {endpoint};
    if (index(endpoint) >= first_switch()) {
      return {Rank((index(endpoint) - first_switch()) / line_->switches * axis_.size)};
    }
    std::vector<Rank> first;
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      if (axis_.coordinate(Rank(r)) == 0) first.push_back(Rank(r));
    }
    return first;
  }
  [[nodiscard]] Rank in_line(Rank endpoint) const {
    if (index(endpoint) < ranks_) return Rank(axis_.coordinate(endpoint));
    if (index(endpoint) < first_switch()) return Rank(index(endpoint) - ranks_ + axis_.size);
    const std::uint32_t among_own = (index(endpoint) - first_switch()) % line_->switches;
    return Rank(axis_.size + line_->servers + among_own);
  }
  [[nodiscard]] Rank of_all(Rank on, Rank place) const {
    if (index(place) < axis_.size) return axis_.on_line(on, index(place));
    const std::uint32_t beyond_ranks = index(place) - axis_.size;
    if (beyond_ranks < line_->servers) return Rank(ranks_ + beyond_ranks);
    const std::uint32_t among_own = beyond_ranks - line_->servers;
    return Rank(first_switch() + index(on) / axis_.size * line_->switches + among_own);
  }
  [[nodiscard]] std::uint32_t first_switch() const { return ranks_ + line_->servers; }

  Axis axis_;
  std::shared_ptr<const Plan> line_;
  std::uint32_t ranks_;
};

}  // namespace

Rank Axis::on_line(Rank rank, std::uint32_t other) const {
  return Rank(index(rank) - coordinate(rank) * stride + other * stride);
}

std::vector<Round> embedded_rounds(Axis axis, const std::function<LinePlan(Rank)>& plan_of) {
  const LinePlan first = plan_of(Rank(0));
  PACELINE_EXPECTS(first.plan->ranks == RankCount(axis.size) &&
                   first.plan->endpoints() == first.plan->ranks);
  if (first.plan->channels.empty()) return {};
  PACELINE_EXPECTS(first.plan->channels.size() == 1 && first.plan->channels.front().window == 1);
  std::vector<Round> rounds;
  for (const Round& round : first.plan->channels.front().rounds) {
    rounds.push_back(embedded_round(axis, plan_of, {0, rounds.size()}, round.repeats));
  }
  return rounds;
}

Plan on_every_line(Axis axis, Plan line, RankCount ranks) {
  PACELINE_EXPECTS(line.ranks == RankCount(axis.size));
  PACELINE_EXPECTS(line.switches == 0 || axis.stride == 1);
  PACELINE_EXPECTS(!line.has_network_switch);
  const auto shared = std::make_shared<const Plan>(std::move(line));
  const EveryLine lines(axis, shared, ranks.value());
  Plan whole{shared->collective, ranks, shared->count, shared->root, {}, shared->servers};
  whole.switches = ranks.value() / axis.size * shared->switches;
  for (const Channel& channel : shared->channels) {
    Channel& made = whole.channels.emplace_back(Channel{{}, channel.window});
    for (const Round& round : channel.rounds) {
      const RoundPlace place{whole.channels.size() - 1, made.rounds.size()};
      made.rounds.push_back({round.repeats,
                             [=](Rank endpoint) { return lines.sends(place, endpoint); },
                             [=](Rank endpoint) { return lines.sources(place, endpoint); }});
    }
  }
  return whole;
}

Channel two_level_channel(const TwoLevelGrid& grid, ElementRange share, ElementSize element_size,
                          const TwoLevelAlgorithms& algorithms) {
  const auto plan = [&](const auto& build, Axis axis, const RingOrder& order, ElementCount count) {
    return std::make_shared<const Plan>(
        build({RankCount(axis.size), count, element_size, Rank(0), {order}}));
  };
  const Partition chunks = Partition::even(share, grid.along.size);
  const ElementCount longest = chunks.chunk(0).count;
  const ElementCount shortest = chunks.chunk(grid.along.size - 1).count;
  const auto long_plan = plan(algorithms.all_reduce, grid.across, grid.order_across, longest);
  const auto short_plan = plan(algorithms.all_reduce, grid.across, grid.order_across, shortest);
  const auto scatter = plan(algorithms.reduce_scatter, grid.along, grid.order_along, share.count);
  const auto gather = plan(algorithms.all_gather, grid.along, grid.order_along, share.count);

  Channel channel;
  const auto append = [&](std::vector<Round> rounds) {
    for (Round& round : rounds) channel.rounds.push_back(std::move(round));
  };
  append(embedded_rounds(grid.along, [=](Rank) { return LinePlan{scatter, share.begin}; }));
  append(embedded_rounds(grid.across, [=, along = grid.along](Rank rank) {
    const ElementRange chunk = chunks.chunk(along.coordinate(rank));
    return LinePlan{chunk.count == longest ? long_plan : short_plan, chunk.begin};
  }));
  append(embedded_rounds(grid.along, [=](Rank) { return LinePlan{gather, share.begin}; }));
  return channel;
}

}  // namespace paceline::collectives
