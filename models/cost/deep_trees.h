#pragma once

#include <cstdint>
#include <optional>

#include "models/run/resolved_point.h"

// Double binary trees over many nodes, whose ranks are all different, predicted from trees over
// fewer: each further level takes every chunk a hop up and a hop down more, and leaves the pipeline
// else as it is.
namespace paceline::cost {

struct ShallowTrees {
  ResolvedPoint fewer, more;  // the point on fewer nodes, whose trees are one level apart
  std::uint32_t levels_left;  // how many the point's trees have more than those of `more`

  // What the point takes, from what those two take; not less than the second.
  [[nodiscard]] Seconds extrapolated(Seconds with_fewer, Seconds with_more) const;
};

// nullopt unless the point's first call is simulated by double binary trees, or by switches whose
// heads they join (nvls), over more than 64 nodes that one switch joins; or a fat tree that holds
// up nobody, for a call without hops (elsewhere they differ by their level).
//
// The trees simulated are over up to 32 and 64 nodes, in proportion to the point's and even or odd
// as those are, as the second tree's shape depends on that. Beside simulations of 128 to 512 nodes:
// within 1 % for powers of two, 5 % for others (sim/DECISIONS.md).
[[nodiscard]] std::optional<ShallowTrees> shallow_trees(const ResolvedPoint& point);

}  // namespace paceline::cost
