#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "models/run/resolved_point.h"

namespace paceline::cost {

// Gives every simulated call of the point's program a known time: alone, on the job's nodes.
//
// Calls that differ only in size are predicted at the powers of two around their sizes and
// interpolated on straight lines. NCCL's double trees on 1,024 GPUs, 19 sizes of 100 kB to 100 MB:
// mostly less than 1 % off, 5 % where chunks change. Returns the number of predictions.
std::size_t time_calls_alone(ResolvedPoint& point,
                             const std::function<Seconds(const ResolvedPoint&)>& predict);

// Predicts double binary trees over many nodes, whose ranks all differ, from trees over fewer: each
// further level adds a hop up and a hop down to every chunk and changes nothing else.
struct ShallowTrees {
  ResolvedPoint fewer, more;  // the point on fewer nodes, whose trees are one level apart
  std::uint32_t levels_left;  // how many the point's trees have more than those of `more`

  // The time of the point, from the times of these two; not less than the second.
  [[nodiscard]] Seconds extrapolated(Seconds with_fewer, Seconds with_more) const;
};

// nullopt unless the point's first call is simulated by double binary trees, or by nvls, whose
// heads they join, over more than 64 nodes on one switch; a call without hops may also cross a fat
// tree that is no bottleneck.
//
// The trees simulated are over up to 32 and 64 nodes, in proportion to the point's nodes and even
// or odd as these are, on which the second tree's shape depends. Compared with simulations of 128
// to 512 nodes they are within 1 % for powers of two and 5 % for others (sim/DECISIONS.md).
[[nodiscard]] std::optional<ShallowTrees> shallow_trees(const ResolvedPoint& point);

}  // namespace paceline::cost
