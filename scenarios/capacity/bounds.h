#pragma once

#include "models/uncertain/quantities.h"
#include "scenarios/loader/scenario.h"
#include "scenarios/prepare/resolve.h"

namespace paceline::capacity {

// What a step of the scenario takes at least with that probability, whatever its buckets and
// collectives. The longer of
//   - all passes' forward and backward of the slowest rank, as every strategy computes all of its
//     batch; an optimizer may be shared among ranks and is left out. Its interval is no narrower
//     than what one GPU's speed, what several cost each other and a row's own leave of it: a step
//     that is a factor of exp(d) longer than its compute follows that by 1 - 4 d at least, as
//     responses are looked at up to a quarter (predict/composition.cpp).
//   - the bytes of all gradients, once, through a node's NICs at their full rate, where there are
//     several nodes: no all-reduce has a node send or receive less.
// Precondition: the belief is not conditioned; the probability is a half or more.
[[nodiscard]] Seconds step_at_least(const Scenario& scenario, const uncertain::Priors& priors,
                                    double probability);

// A closer bound for a prepared point: its step with calls that take only what their bytes need
// through a node's NICs, plus latency from node to node (at least log2 of the nodes in a row);
// nothing slows anything else. 0 for a strategy that decides at run time, which may decide
// otherwise. Precondition: as above.
[[nodiscard]] Seconds step_at_least(const PreparedPoint& prepared, const uncertain::Priors& priors,
                                    double probability);

}  // namespace paceline::capacity
