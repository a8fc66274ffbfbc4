#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Parameter server: every rank sends server k share k of its buffer (Partition::even over the
// servers), the server adds them and sends the sum back to every rank.
//
// s = options.servers, or one a node; at least 1 and at most p. Separate servers are endpoints p ..
// p+s-1. Otherwise server k is beside rank k*p/s (rounded down) and adds to that rank's own.
//
// Steps 2. A rank sends every share once, but its own where it is a server; a server sends its
// share to all other ranks.
//
// Source: Li et al., "Scaling distributed machine learning with the parameter server", OSDI 2014;
// servers beside workers: docs/rationale.md of BytePS. Reduction order: by rank, at a rank that is
// a server its own first. Precondition: ranks_per_node divides the ranks.
[[nodiscard]] Plan parameter_server_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
