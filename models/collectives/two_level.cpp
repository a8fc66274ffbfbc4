#include "models/collectives/two_level.h"

#include <utility>

namespace paceline::collectives {

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
