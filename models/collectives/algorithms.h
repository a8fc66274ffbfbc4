#pragma once

#include <span>
#include <string_view>

#include "models/collectives/registry.h"

// The functions behind the rows of registry.cpp. ALGORITHMS.md describes each: what moves in which
// step, how many elements each rank sends, in which order arrivals are reduced, and the paper or
// library it comes from. Tests check the numbers of its table.
//
// Preconditions of all: each order names every rank once, and ranks_per_node divides the ranks.
namespace paceline::collectives {

using Build = Plan(const PlanRequest& request);

// ring.cpp
Build ring_all_reduce, ring_reduce_scatter, ring_all_gather;
// segmented_ring.cpp
Build segmented_ring_all_reduce;
// ring_2d.cpp
Build ring_2d_all_reduce;
// power_of_two.cpp
Build halving_doubling_all_reduce, near_halving_doubling_all_reduce, recursive_doubling_all_reduce,
    recursive_doubling_all_gather, recursive_halving_reduce_scatter;
// bruck.cpp
Build bruck_all_gather;
// pat.cpp
Build pat_all_gather, pat_reduce_scatter;
// direct.cpp
Build direct_all_reduce, direct_reduce_scatter, direct_all_gather, direct_broadcast, direct_reduce,
    direct_scatter, direct_gather;
// pairwise.cpp
Build pairwise_all_to_all;
// binomial_tree.cpp
Build binomial_tree_broadcast, binomial_tree_reduce, binomial_tree_scatter, binomial_tree_gather,
    binomial_tree_all_reduce;
// binomial_fan_out.cpp
Build binomial_fan_out_broadcast, rotated_fan_out_broadcast, binomial_fan_out_all_reduce;
// chain.cpp
Build chain_broadcast, chain_reduce;
// double_binary_tree.cpp
Build double_binary_tree_all_reduce;
// hierarchical.cpp
Build hierarchical_all_reduce;
// The words that options.inner and options.outer may have.
[[nodiscard]] std::span<const std::string_view> inner_algorithms();
[[nodiscard]] std::span<const std::string_view> outer_algorithms();
// parameter_server.cpp
Build parameter_server_all_reduce;
// nvls.cpp
Build nvls_all_reduce, nvls_reduce_scatter, nvls_all_gather;
// collnet.cpp
Build collnet_direct_all_reduce, collnet_chain_all_reduce;

}  // namespace paceline::collectives
