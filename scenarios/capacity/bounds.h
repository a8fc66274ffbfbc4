#pragma once

#include "models/uncertain/quantities.h"
#include "scenarios/capacity/finish.h"
#include "scenarios/loader/scenario.h"
#include "scenarios/prepare/resolve.h"

namespace paceline::capacity {

// The least time of the scenario's step, at even odds and with that probability, whatever buckets
// and collectives.
// The longer of
//   - all passes' forward and backward of the slowest rank, or all launches; ranks may share an
//     optimizer's kernels, which are left out. Its interval is no narrower than what one GPU's
//     speed, the cost of several and a row's own leave of it: a step exp(d) times its compute
//     follows that by 1 - 4 d at least, as responses are looked at up to a quarter
//     (predict/composition.cpp).
//   - all gradients' bytes, once, through a node's NICs at full rate, where nodes are several:
//     no all-reduce has a node send or receive less.
// Precondition: the belief is not conditioned; the probability is a half or more.
[[nodiscard]] StepBound step_at_least(const Scenario& scenario, const uncertain::Priors& priors,
                                      double probability);

// A closer bound for a prepared point: its step with calls of only their bytes through a node's
// NICs and latency between nodes (at least log2 of them), without slowdowns. 0 for a strategy that
// decides at run time. Precondition: as above.
[[nodiscard]] StepBound step_at_least(const PreparedPoint& prepared,
                                      const uncertain::Priors& priors, double probability);

}  // namespace paceline::capacity
