#include "models/collectives/algorithms.h"
#include "models/collectives/embedding.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

namespace paceline::collectives {
namespace {

// The smaller side of the most square grid.
std::uint32_t rows_of(std::uint32_t ranks) {
  std::uint32_t rows = 1;
  for (std::uint32_t d = 2; d * d <= ranks; ++d) {
    if (ranks % d == 0) rows = d;
  }
  return rows;
}

}  // namespace

Plan ring_2d_all_reduce(const PlanRequest& request) {
  PACELINE_EXPECTS(request.ranks.value() % request.ranks_per_node == 0);
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  const std::uint32_t ranks = request.ranks.value();
  if (ranks <= 1) return plan;
  const std::uint32_t columns =
      request.ranks_per_node > 1 ? request.ranks_per_node : ranks / rows_of(ranks);
  const Axis row{columns, 1}, column{ranks / columns, columns};
  const RingOrder row_order = ranks_from(0, row.size), column_order = ranks_from(0, column.size);
  const TwoLevelAlgorithms rings{ring_reduce_scatter, ring_all_reduce, ring_all_gather};
  const Partition halves = Partition::even({ElementCount(0), request.count}, 2);
  plan.channels = {two_level_channel({row, column, row_order, column_order}, halves.chunk(0),
                                     request.element_size, rings),
                   two_level_channel({column, row, column_order, row_order}, halves.chunk(1),
                                     request.element_size, rings)};
  return plan;
}

}  // namespace paceline::collectives
