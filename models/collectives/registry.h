#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/collectives/algorithm_options.h"
#include "models/collectives/plan.h"

namespace paceline::collectives {

// The order in which a ring visits the ranks: each rank once.
using RingOrder = std::vector<Rank>;

// What an algorithm is given. `orders` is the topology's hint: one order a ring, each used as a
// channel of its own with its share of the buffer; empty means one ring in rank order.
struct PlanRequest {
  RankCount ranks;           // at least 1
  ElementCount count;        // 0 or more
  ElementSize element_size;  // at least 1; only segmenting algorithms look at it
  Rank root;                 // 0 where there is none; server k is ranks + k (direct only)
  std::vector<RingOrder> orders;
  std::uint32_t ranks_per_node = 1;  // divides the ranks; rank r is in node r / ranks_per_node
  AlgorithmOptions options = {};
  std::uint32_t idle_servers = 0;  // that take no part, numbered before a plan's switches
};

// Who adds and copies, beside the ranks and servers: the switches of nodes with several GPUs, or
// those only where all ranks are in one such node; or the network's, where there are several nodes.
enum class Reduces { endpoints, switches, switch_of_one_node, network };

// What others need to know of an algorithm's plans.
struct Traits {
  // Looks at these options, for some ranks at least, beyond those that are named after it. One with
  // chunks is pipelined: in its rounds not every rank sends.
  bool channels = false, chunk_size = false;
  bool trees_over_nodes = false;    // a level more for twice the nodes
  bool root_may_be_server = false;  // that is no rank
};

struct Algorithm {
  Collective collective;
  std::string_view name;
  Plan (*build)(const PlanRequest&);
  std::string_view summary;
  // Only the library itself reaches switches: plans through them are predicted, and not run.
  Reduces reduces = Reduces::endpoints;
  Traits traits = {};
};

// In place of an algorithm's name: the one that is predicted to be the fastest.
inline constexpr std::string_view automatic = "auto";

// Every algorithm, one row each, grouped by collective.
[[nodiscard]] std::span<const Algorithm> algorithms();

// Null when the collective has no algorithm of that name.
[[nodiscard]] const Algorithm* find_algorithm(Collective collective, std::string_view name);

// Adds an algorithm from outside the tree, behind those of the tree; its texts outlive the program.
// Call it at the start of main(), before anything looks an algorithm up and before the second
// thread; from then on it is found, checked and chosen like any other. Preconditions: so; the row
// has a namethat is new in its collective and not `automatic`, and a builder.
void add_algorithm(const Algorithm& row);

}  // namespace paceline::collectives
