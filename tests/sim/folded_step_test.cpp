#include "sim/folded_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "models/collectives/registry.h"
#include "models/cost/closed_step.h"
#include "sim/flow_step.h"
#include "tests/sim/isolated.h"

namespace paceline::sim {
namespace {

using collectives::Collective;
using topology::Cluster;
using topology::IntraNodeKind;
using training::CollectiveCall;
using training::LaneKind;
using training::OperationKind;

constexpr std::size_t ranks_max = 64, operations_max = 16;

// When each rank starts and ends each operation, as plain data to cross from a child process.
struct Times {
  std::array<std::array<std::array<double, 2>, operations_max>, ranks_max> of_rank{};
  std::uint64_t transfers = 0, solves = 0;
  bool folded = true;
  bool noted = false;
};

Times times_of(const Result& result) {
  Times times;
  for (const RankClass& members : result.trace.classes) {
    for (const Rank rank : members.ranks) {
      for (std::size_t i = 0; i < members.spans.size(); ++i) {
        times.of_rank[index(rank)][i] = {members.spans[i].start.value(),
                                         members.spans[i].end.value()};
      }
    }
  }
  times.transfers = result.transfers;
  times.solves = result.simgrid_solves;
  times.noted = !result.notes.empty();
  return times;
}

Times flow(const ResolvedPoint& point) {
  return isolated([&] { return times_of(simulate_flow(point)); });
}

Times folded(const ResolvedPoint& point, Chunks chunks) {
  return isolated([&] {
    try {
      return times_of(simulate_folded(point, chunks));
    } catch (const NotFolded& reason) {
      std::printf("not folded: %s\n", reason.what());
      std::fflush(stdout);
      Times times;
      times.folded = false;
      return times;
    }
  });
}

double largest_difference(const Times& a, const Times& b) {
  double end = 0, difference = 0;
  for (std::size_t r = 0; r < ranks_max; ++r) {
    for (std::size_t i = 0; i < operations_max; ++i) {
      for (const std::size_t side : {0U, 1U}) {
        end = std::max(end, b.of_rank[r][i][side]);
        difference = std::max(difference, std::abs(a.of_rank[r][i][side] - b.of_rank[r][i][side]));
      }
    }
  }
  return end > 0 ? difference / end : 0;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + below(choices.size()));
  }

 private:
  std::mt19937_64 engine_;  // the same numbers everywhere, unlike the standard's distributions
};

Cluster random_cluster(Random& random) {
  Cluster cluster;
  cluster.nodes = static_cast<std::uint32_t>(1 + random.below(5));
  cluster.gpus_per_node = random.one_of({1U, 2U, 4U, 8U});
  if (cluster.ranks() == RankCount(1)) cluster.nodes = 2;
  cluster.intra_node.kind = random.one_of({IntraNodeKind::nvswitch, IntraNodeKind::pcie});
  cluster.intra_node.bandwidth = BytesPerSecond(random.one_of({12e9, 150e9, 370.8e9}));
  cluster.intra_node.latency = Seconds(random.one_of({0.0, 1.2e-6, 3e-6}));
  if (cluster.intra_node.kind == IntraNodeKind::nvswitch && random.below(2) == 0) {
    cluster.intra_node.host_bandwidth = BytesPerSecond(24e9);
  }
  cluster.network.bandwidth = BytesPerSecond(random.one_of({1.25e9, 12.5e9, 50e9}));
  cluster.network.latency = Seconds(random.one_of({0.0, 3e-6, 100e-6}));
  cluster.network.nics_per_node = std::min(cluster.gpus_per_node, random.one_of({1U, 2U, 4U, 8U}));
  return cluster;
}

ResolvedPoint random_point(std::uint64_t seed) {
  Random random(seed);
  ResolvedPoint point;
  point.cluster = random_cluster(random);
  const std::uint32_t ranks = point.cluster.ranks().value();
  const auto compute = point.program.add_lane({"compute", LaneKind::compute});
  const auto lane = point.program.add_lane(
      {"communication", LaneKind::communication, random.one_of({1U, 1U, 2U})});
  std::vector<const collectives::Algorithm*> rows;
  for (const auto& row : collectives::algorithms()) rows.push_back(&row);
  training::OperationId before = 0;
  const std::uint64_t calls = 1 + random.below(3);
  for (std::uint64_t i = 0; i < calls; ++i) {
    before = point.program.add({"backward",
                                OperationKind::backward,
                                compute,
                                {},
                                Seconds(random.one_of({0.0, 1e-5, 1e-3}))});
    const auto& row = *rows[random.below(rows.size())];
    const std::uint64_t count =
        random.one_of<std::uint64_t>({ranks * 1000ULL, 4096ULL, 100'003ULL, 1'000'000ULL, 7ULL});
    point.program.add(
        {"call",
         OperationKind::collective,
         lane,
         {before},
         CollectiveCall{row.collective,
                        ElementCount(count),
                        ElementSize(4),
                        Rank(0),
                        std::string(row.name),
                        {random.one_of({0U, 0U, 1U, 2U, 3U}), {}, {}, {}, 0, false}}});
  }
  // Unequal ready times: by node, by place in the node, or a single straggler.
  switch (random.below(4)) {
    case 0:
      for (std::uint32_t r = 0; r < ranks; ++r) {
        point.slowdown.push_back(1 + 0.1 * (r / point.cluster.gpus_per_node));
      }
      break;
    case 1:
      for (std::uint32_t r = 0; r < ranks; ++r) {
        point.slowdown.push_back(1 + 0.1 * (r % point.cluster.gpus_per_node));
      }
      break;
    case 2:
      point.slowdown.assign(ranks, 1.0);
      point.slowdown[random.below(ranks)] = 1.3;
      break;
    default: break;
  }
  return point;
}

TEST(Folded, EqualsFlowForEveryRankOfRandomSteps) {
  std::uint64_t transfers = 0, solves = 0, cases = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const ResolvedPoint point = random_point(seed);
    const Times expected = flow(point), got = folded(point, Chunks::exact);
    if (!got.folded) continue;
    ++cases;
    transfers += got.transfers;
    solves += got.solves;
    EXPECT_EQ(got.transfers, expected.transfers) << "seed " << seed;
    EXPECT_LE(largest_difference(got, expected), 1e-6) << "seed " << seed;
  }
  std::printf("%lu cases, %lu transfers, %lu solves\n", cases, transfers, solves);
}

}  // namespace
}  // namespace paceline::sim
