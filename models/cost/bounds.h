#pragma once

#include "models/topology/cluster.h"
#include "models/training/step_program.h"

namespace paceline::cost {

// What no library can beat: the bytes that must leave each node, leaf switch, PCIe switch or GPU,
// on the mean over these, over what their wires carry one way at their nominal rates, less the
// headers of packets; and what all ranks push to one parameter server on a host of its own. Of a
// program, all its calls together; of a call alone, its own.
//
// An all-reduce of B bytes over N parts moves 2 (N - 1) / N B out of each, a reduce-scatter or
// all-gather half of that (Patarasuk and Yuan, JPDC 69(2), 2009, theorem 1), as do a broadcast and
// a reduce on the mean of their parts. Where switches or servers sum, B leaves each. Of a call
// alone, the leaf with the fewest GPUs, a part F of them, has (1 - F) B of a gather to receive or
// of a reduce-scatter to send, and a part without the root all of a broadcast or reduce: in a
// program such calls may go both ways at once. Others, and calls whose size is not told, are 0.
struct LeastTimes {
  Seconds node_links;  // of calls that stay in a node
  // Of those that leave it, by NICs and uplinks: measured ones were faster than described ports of
  // PCIe.
  Seconds network;
};
[[nodiscard]] LeastTimes least_times(const topology::Cluster& cluster,
                                     const training::CollectiveCall& call);
[[nodiscard]] LeastTimes least_times(const topology::Cluster& cluster,
                                     const training::StepProgram& program);

}  // namespace paceline::cost
