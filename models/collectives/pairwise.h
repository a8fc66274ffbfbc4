#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Pairwise all-to-all: in step i = 1 .. p-1 rank r sends the block for rank r+i to it, and receives
// from rank r-i (modulo p). Blocks are those of Plan: p of floor(count / p) elements, sent from the
// buffer's first half and received into its second.
//
// Steps p-1. Every rank sends p-1 blocks. Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1),
// 2005, long messages. Nothing is reduced.
[[nodiscard]] Plan pairwise_all_to_all(const PlanRequest& request);

}  // namespace paceline::collectives
