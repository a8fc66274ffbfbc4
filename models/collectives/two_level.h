#pragma once

#include "models/collectives/embedding.h"
#include "models/collectives/registry.h"

namespace paceline::collectives {

// What runs along one axis of a grid and across it. Each plan must have one channel of window 1,
// and rounds and repeats that do not depend on its element count.
struct TwoLevelAlgorithms {
  Plan (*reduce_scatter)(const PlanRequest&);
  Plan (*all_reduce)(const PlanRequest&);
  Plan (*all_gather)(const PlanRequest&);
};

struct TwoLevelGrid {
  Axis along;
  Axis across;
  RingOrder order_along;   // of coordinates
  RingOrder order_across;  // likewise
};

// A channel that all-reduces `share` in a grid: each line along the axis reduce-scatters it, so
// that coordinate l holds chunk l (Partition::even over the line); each line across it all-reduces
// its chunk; each line along it gathers. Chunks differ by one element at most, so there are at most
// two plans across.
[[nodiscard]] Channel two_level_channel(const TwoLevelGrid& grid, ElementRange share,
                                        ElementSize element_size,
                                        const TwoLevelAlgorithms& algorithms);

}  // namespace paceline::collectives
