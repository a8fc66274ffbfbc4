#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/collectives/registry.h"

namespace paceline::collectives {

// One dimension of ranks that stand in a grid: a rank's coordinate is (rank / stride) mod size, and
// the ranks that differ in that coordinate only are a line.
struct Axis {
  std::uint32_t size;
  std::uint32_t stride;

  [[nodiscard]] std::uint32_t coordinate(Rank rank) const { return index(rank) / stride % size; }
  // The rank of the same line with another coordinate.
  [[nodiscard]] Rank on_line(Rank rank, std::uint32_t coordinate) const;
};

// A smaller plan that the ranks of a line execute together, each as the rank of its coordinate, on
// the part of the buffer that starts at `offset`.
struct LinePlan {
  std::shared_ptr<const Plan> plan;
  ElementCount offset;
};

// The rounds of the plans of all lines of an axis side by side, as rounds of the whole plan.
// Preconditions: `plan_of` is the same for all ranks of a line; every plan has the same number of
// channels, none or one, with rounds of the same repeats and with window 1.
[[nodiscard]] std::vector<Round> embedded_rounds(Axis axis,
                                                 const std::function<LinePlan(Rank)>& plan_of);

// What all lines of an axis do when each executes the plan of a line on a buffer of its own: a plan
// of all `ranks`, with as many channels. It is no collective of all ranks: the checker does not
// know what it promises. Every line has the same servers, which come after all ranks, and switches
// of its own. Precondition: `line` is a plan of as many ranks as the axis has; with switches its
// lines are runs of ranks (stride 1), and never with the network's.
[[nodiscard]] Plan on_every_line(Axis axis, Plan line, RankCount ranks);

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
