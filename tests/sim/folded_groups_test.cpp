#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/registry.h"
#include "models/topology/fabric.h"
#include "tests/sim/points.h"
#include "tests/sim/step_times.h"

// Folding on PCIe trees of any shape: folded_step_test.cpp has those whose groups are alike.
namespace paceline::sim {
namespace {

using topology::Cluster;
using topology::PcieGroup;
using topology::PciePath;
using Gpus = std::vector<std::uint32_t>;

std::optional<BytesPerSecond> random_bandwidth(Random& random) {
  if (random.below(4) == 0) return std::nullopt;
  return BytesPerSecond(random.one_of({4e9, 6e9, 12e9, 20e9}));
}

// Some of the GPUs, in parts of random size, each a group; some parts are split again below.
void add_groups(Random& random, const Gpus& gpus, PciePath path, std::vector<PcieGroup>& groups) {
  for (std::size_t first = 0; first < gpus.size();) {
    const std::size_t count = 1 + random.below(gpus.size() - first);
    Gpus part(gpus.begin() + static_cast<std::ptrdiff_t>(first),
              gpus.begin() + static_cast<std::ptrdiff_t>(first + count));
    first += count;
    if (random.below(4) == 0) continue;  // directly in what is around
    if (path != PciePath::one_switch && random.below(4) != 0) {
      const auto nearer = static_cast<PciePath>(random.below(static_cast<std::uint64_t>(path)));
      add_groups(random, part, nearer, groups);
    }
    std::ranges::sort(part);
    groups.push_back({std::move(part), path, random_bandwidth(random), {}});
  }
}

Cluster random_cluster(Random& random) {
  Cluster cluster;
  cluster.gpus_per_node = static_cast<std::uint32_t>(2 + random.below(7));
  cluster.nodes = static_cast<std::uint32_t>(1 + random.below(3));
  cluster.intra_node.kind = topology::IntraNodeKind::pcie;
  cluster.intra_node.bandwidth = BytesPerSecond(12e9);
  cluster.intra_node.latency = Seconds(random.one_of({0.0, 2e-6}));
  cluster.network.bandwidth = BytesPerSecond(random.one_of({1.25e9, 12.5e9}));
  cluster.network.latency = Seconds(random.one_of({0.0, 5e-6}));
  cluster.network.nics_per_node =
      static_cast<std::uint32_t>(1 + random.below(std::min(cluster.gpus_per_node, 3U)));
  Gpus gpus(cluster.gpus_per_node);
  std::iota(gpus.begin(), gpus.end(), 0U);
  if (random.below(3) == 0) {
    for (std::size_t i = gpus.size(); i > 1; --i) std::swap(gpus[i - 1], gpus[random.below(i)]);
  }
  topology::PcieTree tree;
  while (tree.groups.empty()) add_groups(random, gpus, PciePath::host_bridge, tree.groups);
  for (std::uint32_t nic = 0; nic < cluster.network.nics_per_node; ++nic) {
    if (random.below(2) == 0) {
      tree.groups[random.below(tree.groups.size())].nics.push_back(nic);
    }
  }
  if (random.below(4) == 0) {
    tree.peer_to_peer = false;
    if (random.below(2) == 0) tree.staging_bandwidth = BytesPerSecond(random.one_of({5e9, 20e9}));
  }
  cluster.intra_node.pcie_tree = std::move(tree);
  return cluster;
}

ResolvedPoint random_point(std::uint64_t seed) {
  Random random(seed);
  const Cluster cluster = random_cluster(random);
  const auto rows = collectives::algorithms();
  const auto* row = &rows[random.below(rows.size())];
  while (row->reduces != collectives::Reduces::endpoints) row = &rows[random.below(rows.size())];
  const std::uint32_t ranks = cluster.ranks().value();
  const auto count = random.one_of<std::uint64_t>({ranks * 4096ULL, 1'000'003ULL, 7ULL});
  const Rank root(collectives::has_root(row->collective) ? random.below(ranks) : 0);
  training::SimulatedCall how{std::string(row->name)};
  how.options.channels = random.one_of({0U, 1U, 2U});
  how.options.servers = 1;
  ResolvedPoint point = one_call(
      cluster, {row->collective, ElementCount(count), ElementSize(4), root, std::move(how)});
  if (random.below(3) == 0) {
    point.slowdown.assign(ranks, 1.0);
    point.slowdown[random.below(ranks)] = 1.3;
  }
  return point;
}

std::string named(const ResolvedPoint& point) {
  const auto& call = std::get<training::CollectiveCall>(point.program.operations.back().work);
  std::string text = std::string(algorithm_of(call)) + " " + std::string(to_text(call.collective)) +
                     ", " + std::to_string(point.cluster.nodes) + " nodes of " +
                     std::to_string(point.cluster.gpus_per_node) + ":";
  for (const PcieGroup& group : point.cluster.intra_node.pcie_tree->groups) {
    text += " " + std::string(to_text(group.path)) + " [";
    for (const std::uint32_t gpu : group.gpus) text += std::to_string(gpu) + " ";
    text += "]";
  }
  return text;
}

// Every rank's start and end, over all algorithms without switches. Those that do not fold are no
// part of the claim, nor are they many.
TEST(FoldedGroups, EqualFlowForEveryRankOfRandomTrees) {
  std::uint64_t cases = 0, not_folded = 0;
  std::set<std::string> algorithms;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const ResolvedPoint point = random_point(seed);
    ASSERT_EQ(topology::find_fault(point.cluster), std::nullopt) << seed << ": " << named(point);
    const Times expected = flow(point), got = folded(point, Chunks::exact);
    if (!got.folded) {
      ++not_folded;
      continue;
    }
    ++cases;
    algorithms.emplace(
        algorithm_of(std::get<training::CollectiveCall>(point.program.operations.back().work)));
    EXPECT_EQ(got.transfers, expected.transfers) << seed << ": " << named(point);
    EXPECT_LE(largest_difference(got, expected), 1e-6) << seed << ": " << named(point);
  }
  EXPECT_LE(not_folded * 10, cases);
  EXPECT_GE(algorithms.size(), 10U);
  std::printf("%lu cases of %zu algorithms, %lu not folded\n", cases, algorithms.size(),
              not_folded);
}

}  // namespace
}  // namespace paceline::sim
