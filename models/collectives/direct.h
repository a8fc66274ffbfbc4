#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Direct all-reduce: every rank sends chunk j to rank j, which reduces; then every rank sends its
// chunk to every other.
//
// Steps 2. Rank r sends everything once, less chunk r, and then chunk r to p-1 ranks: (p-1)/p *
// size twice when p divides the count. Source: the scatter-reduce and all-gather of Thakur,
// Rabenseifner and Gropp, IJHPCA 19(1), 2005, each in one step. Reduction order: the owner's own
// value, then by rank.
[[nodiscard]] Plan direct_all_reduce(const PlanRequest& request);

// Its halves, of one step each: everything less chunk r, and chunk r to p-1 ranks.
[[nodiscard]] Plan direct_reduce_scatter(const PlanRequest& request);
[[nodiscard]] Plan direct_all_gather(const PlanRequest& request);

// Direct broadcast: the root sends its buffer to every rank, p-1 of them at once, in one step.
// Source: Open MPI 4.1, ompi/mca/coll/libnbc/nbc_ibcast.c, bcast_sched_linear.
//
// Direct reduce: every rank sends its buffer to the root, which adds it, p-1 of them at once, in
// one step. Reduction order: the root's own, then by rank. Source: the push to one server of Li et
// al., OSDI 2014 (parameter_server.h), whose pull is the broadcast.
//
// The root of these two may be a server: root p + k is server k, of k + 1 endpoints beside the
// ranks. It then hears from all p ranks, or sends to them.
[[nodiscard]] Plan direct_broadcast(const PlanRequest& request);
[[nodiscard]] Plan direct_reduce(const PlanRequest& request);

// Direct scatter and gather: the root sends every rank its chunk, or gets it from every rank, all
// at once, in one step. Together they send everything once, less the root's chunk. Source: Open MPI
// 4.1, nbc_iscatterv.c and nbc_igatherv.c of the same folder; gloo/scatter.cc and gatherv.cc.
[[nodiscard]] Plan direct_scatter(const PlanRequest& request);
[[nodiscard]] Plan direct_gather(const PlanRequest& request);

}  // namespace paceline::collectives
