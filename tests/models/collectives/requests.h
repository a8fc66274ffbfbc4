#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "models/collectives/algorithms.h"
#include "models/collectives/registry.h"
#include "models/topology/ring_orders.h"
#include "tests/models/collectives/plan_check.h"

// What the tests of the registry ask of every algorithm, whatever its name.
namespace paceline::collectives {

using Orders = std::vector<RingOrder>;

inline ElementRange range(std::uint64_t begin, std::uint64_t count) {
  return {ElementCount(begin), ElementCount(count)};
}

inline std::string describe(const Algorithm& algorithm, const PlanRequest& request) {
  return std::string(to_text(algorithm.collective)) + " " + std::string(algorithm.name) + ", " +
         std::to_string(request.ranks.value()) + " ranks, " +
         std::to_string(request.count.value()) + " elements of " +
         std::to_string(request.element_size.value()) + " bytes, root " +
         std::to_string(request.root.value()) + ", " + std::to_string(request.orders.size()) +
         " orders, " + std::to_string(request.ranks_per_node) + " ranks a node, chunks of " +
         std::to_string(request.options.chunk_size.value()) + " bytes, inner \"" +
         request.options.inner + "\", outer \"" + request.options.outer + "\", " +
         std::to_string(request.options.servers) +
         (request.options.separate_servers ? " separate" : "") + " servers";
}

// Elements of 4 bytes, chunks in elements.
inline PlanRequest request_of_nodes(std::uint32_t per_node, std::uint32_t nodes,
                                    std::uint64_t count, std::uint64_t chunk = 0) {
  PlanRequest request{
      RankCount(per_node * nodes), ElementCount(count), ElementSize(4), Rank(0), {}};
  request.ranks_per_node = per_node;
  request.options.chunk_size = Bytes(4 * chunk);
  return request;
}

// What endpoints send, in elements.
inline std::vector<std::uint64_t> sent_in(const Plan& plan) {
  std::vector<std::uint64_t> sent;
  for (const ElementCount count : elements_sent(plan)) sent.push_back(count.value());
  return sent;
}

// Drawn by hand: what std::shuffle does with a generator differs between standard libraries.
inline RingOrder shuffled_order(std::uint32_t ranks, std::mt19937_64& random) {
  RingOrder order;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    order.push_back(Rank(r));
    std::swap(order[r], order[static_cast<std::size_t>(random() % (r + 1))]);
  }
  return order;
}

// No order, one shuffled, three shuffled, and those of clusters with 1..8 ranks a node and one NIC
// a node or one a rank.
inline std::vector<Orders> order_sets(std::uint32_t ranks, std::mt19937_64& random) {
  std::vector<Orders> sets{{}, {shuffled_order(ranks, random)}};
  sets.push_back({shuffled_order(ranks, random), shuffled_order(ranks, random),
                  shuffled_order(ranks, random)});
  for (std::uint32_t per_node = 1; per_node <= 8; ++per_node) {
    if (ranks % per_node != 0) continue;
    for (const std::uint32_t nics : {1U, per_node}) {
      topology::Cluster cluster;
      cluster.nodes = ranks / per_node;
      cluster.gpus_per_node = per_node;
      cluster.network.nics_per_node = nics;
      sets.push_back(topology::ring_orders(cluster));
      if (per_node == 1) break;
    }
  }
  return sets;
}

template <class T>
const T& one_of(const std::vector<T>& all, std::mt19937_64& random) {
  return all[static_cast<std::size_t>(random() % all.size())];
}

// What a topology and a scenario may say beyond orders, drawn for any algorithm alike: ranks a
// node, one chunk or about 3 or 10, algorithms inside and across nodes, and servers from one to
// all.
inline void draw_options(PlanRequest& request, std::mt19937_64& random) {
  const std::uint32_t ranks = request.ranks.value();
  std::vector<std::uint32_t> divisors;
  for (std::uint32_t d = 1; d <= ranks; ++d) {
    if (ranks % d == 0) divisors.push_back(d);
  }
  request.ranks_per_node = one_of(divisors, random);
  AlgorithmOptions& options = request.options;
  const std::uint64_t chunks = one_of<std::uint64_t>({0, 1, 3, 10}, random);
  if (chunks > 0) {
    options.chunk_size = ElementCount(request.count.value() / chunks + 1) * request.element_size;
  }
  const auto inner = inner_algorithms(), outer = outer_algorithms();
  options.inner = one_of(std::vector(inner.begin(), inner.end()), random);
  options.outer = one_of(std::vector(outer.begin(), outer.end()), random);
  options.servers = one_of<std::uint32_t>({0, 1, ranks / 2, ranks}, random);
  options.separate_servers = random() % 2 == 0;
}

// 0, 1, ranks-1, ranks and one at random up to 5,000.
inline std::vector<ElementCount> counts_of_interest(std::uint32_t ranks, std::mt19937_64& random) {
  return {ElementCount(0), ElementCount(1), ElementCount(ranks - 1), ElementCount(ranks),
          ElementCount(random() % 5001)};
}

// Rank 0, the last, and one at random; only rank 0 where there is no root.
inline std::vector<Rank> roots_of_interest(const Algorithm& algorithm, std::uint32_t ranks,
                                           std::mt19937_64& random) {
  if (!has_root(algorithm.collective)) return {Rank(0)};
  return {Rank(0), Rank(ranks - 1), Rank(random() % ranks)};
}

}  // namespace paceline::collectives
