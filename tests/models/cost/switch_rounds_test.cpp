#include "models/cost/switch_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/topology/fabric.h"
#include "models/training/call_plan.h"

namespace paceline::cost {
namespace switch_rounds_test {

using collectives::Collective;

topology::Cluster switched(std::uint32_t nodes, std::uint32_t gpus, double local, double remote) {
  topology::Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus_per_node = cluster.network.nics_per_node = gpus;
  cluster.intra_node.bandwidth = BytesPerSecond(local);
  cluster.network.bandwidth = BytesPerSecond(remote);
  return cluster;
}

SwitchRounds of_nvls(Collective collective, const topology::Cluster& cluster) {
  return SwitchRounds::of_nvls(collective, cluster);
}

// Of four GPUs a link carries five chunks a round, four of them shares of the buffer.
TEST(SwitchRounds, LetFourFifthsOfALinkThroughANodeOfFour) {
  EXPECT_DOUBLE_EQ(of_nvls(Collective::all_reduce, switched(1, 4, 5e9, 0)).bandwidth().value(),
                   4e9);
}

// Six chunks of 1 kB for each of four heads: 4, 4, 5, 5, 5, 5 chunks towards the switch, then 4, 3
// and 3 from it. One chunk: 4 to the switch, 1 to the head, 1 back, 3 to the others.
TEST(SwitchRounds, AreShorterWhileAPipelineFillsAndDrains) {
  const SwitchRounds rounds = of_nvls(Collective::all_reduce, switched(1, 4, 1e9, 0));
  EXPECT_NEAR(rounds.time_of(4 * 6e3, 1e3).value(), (4 + 4 + 4 * 5 + 4 + 3 + 3) * 1e-6, 1e-15);
  EXPECT_NEAR(rounds.time_of(4e3, 4e3).value(), (4 + 1 + 1 + 3) * 1e-6, 1e-15);
  EXPECT_NEAR(rounds.time_of(4 * 1e6, 1e3).value(),
              rounds.time_of(4 * 9e5, 1e3).value() + 100 * 5 * 1e-6, 1e-12);
}

// A link of four carries the whole buffer towards the switch where sums are scattered, and three
// quarters from it where chunks are gathered. Six parts of 1 kB for each of four: 4 of them a
// round, then a sum; and one, then 3 a round.
TEST(SwitchRounds, ScatterAndGatherThroughANodesSwitch) {
  const SwitchRounds scatter = of_nvls(Collective::reduce_scatter, switched(1, 4, 1e9, 0));
  const SwitchRounds gather = of_nvls(Collective::all_gather, switched(1, 4, 1e9, 0));
  EXPECT_DOUBLE_EQ(scatter.bandwidth().value(), 1e9);
  EXPECT_DOUBLE_EQ(gather.bandwidth().value(), 4e9 / 3);
  EXPECT_NEAR(scatter.time_of(4 * 6e3, 1e3).value(), (6 * 4 + 1) * 1e-6, 1e-15);
  EXPECT_NEAR(gather.time_of(4 * 6e3, 1e3).value(), (1 + 6 * 3) * 1e-6, 1e-15);
}

// On NICs a buffer crosses two nodes once each way, of three the one between the others in each of
// the two trees one and a half times, and of more twice: an inner vertex of one tree has three
// edges, and one in the other tree. With a NIC for two GPUs they share it.
TEST(SwitchRounds, CrossNicsAsTreesDo) {
  const auto bandwidth = [](std::uint32_t nodes) {
    return of_nvls(Collective::all_reduce, switched(nodes, 4, 1e12, 1e9)).bandwidth().value();
  };
  EXPECT_DOUBLE_EQ(bandwidth(2), 4e9);
  EXPECT_DOUBLE_EQ(bandwidth(3), 4e9 / 1.5);
  for (const std::uint32_t nodes : {4U, 7U, 8U, 64U, 100U, 512U}) {
    EXPECT_DOUBLE_EQ(bandwidth(nodes), 2e9) << nodes;
  }
  topology::Cluster shared = switched(2, 4, 1e12, 1e9);
  shared.network.nics_per_node = 2;
  EXPECT_DOUBLE_EQ(of_nvls(Collective::all_reduce, shared).bandwidth().value(), 2e9);
}

// Of four GPUs, whose links are as fast as their NICs. Directly a link carries six chunks a round,
// three to heads and three from one; of six chunks a head 3, 3, 3 while the pipeline fills, 6 for
// three rounds, 3 while it drains. In lines three up and three down, but none down before a chunk
// has been up: behind the first 3 chunks up, 1 to the network, 1 back, 3 down.
TEST(SwitchRounds, CrossTheNetworkOnceWhereItAdds) {
  const SwitchRounds direct = SwitchRounds::of_collnet_direct(switched(2, 4, 1e9, 1e9));
  const SwitchRounds chain = SwitchRounds::of_collnet_chain(switched(2, 4, 1e9, 1e9));
  EXPECT_DOUBLE_EQ(direct.bandwidth().value(), 4e9 / 6);
  EXPECT_DOUBLE_EQ(chain.bandwidth().value(), 4e9 / 6);
  EXPECT_NEAR(direct.time_of(4 * 6e3, 1e3).value(), (3 * 3 + 3 * 6 + 3 * 3) * 1e-6, 1e-15);
  EXPECT_NEAR(chain.time_of(4e3, 4e3).value(), 8 * 1e-6, 1e-15);
  EXPECT_DOUBLE_EQ(SwitchRounds::of_collnet_direct(switched(8, 4, 1e12, 1e9)).bandwidth().value(),
                   4e9);
  for (const auto& lone : {SwitchRounds::of_collnet_direct(switched(8, 1, 1e12, 1e9)),
                           SwitchRounds::of_collnet_chain(switched(8, 1, 1e12, 1e9))}) {
    EXPECT_DOUBLE_EQ(lone.bandwidth().value(), 1e9);
    EXPECT_NEAR(lone.time_of(5e3, 1e3).value(), 6e-6, 1e-15);
  }
}

// Where a GPU's way to its NIC is half as fast as that, heads send half as much; of one GPU a node
// that way is its PCIe link.
TEST(SwitchRounds, CrossTheWaysToNics) {
  topology::Cluster narrow = switched(2, 4, 1e12, 1e9);
  narrow.intra_node.host_bandwidth = BytesPerSecond(5e8);
  EXPECT_DOUBLE_EQ(of_nvls(Collective::all_reduce, narrow).bandwidth().value(), 2e9);
  EXPECT_DOUBLE_EQ(SwitchRounds::of_collnet_direct(narrow).bandwidth().value(), 2e9);
  EXPECT_DOUBLE_EQ(SwitchRounds::of_collnet_chain(narrow).bandwidth().value(), 2e9);
  topology::Cluster lone = switched(8, 1, 5e8, 1e9);
  lone.intra_node.kind = topology::IntraNodeKind::pcie;
  EXPECT_DOUBLE_EQ(SwitchRounds::of_collnet_chain(lone).bandwidth().value(), 5e8);
}

topology::Cluster on_two_leaves(bool rails) {
  topology::Cluster cluster = switched(4, 4, 1e12, 1e9);
  topology::FatTree& core = cluster.network.fat_tree.emplace();
  core.nodes_per_leaf = 2;
  core.oversubscription = 4;
  core.rails = rails;
  return cluster;
}

// Two edges of either tree join the leaves of nodes 0, 1 and 2, 3, and a buffer's half crosses each
// both ways: twice the buffer an uplink of 2 GB/s, or a quarter of it one of 0.5 on each rail.
TEST(SwitchRounds, CrossTheCoreWhereItIsScarcer) {
  for (const bool rails : {false, true}) {
    EXPECT_DOUBLE_EQ(of_nvls(Collective::all_reduce, on_two_leaves(rails)).bandwidth().value(),
                     1e9);
  }
}

// How long a plan's transfers keep each link, one after another and without latencies.
std::vector<Seconds> link_times(const collectives::Plan& plan, const topology::Fabric& fabric,
                                ElementSize element_size) {
  const auto element = static_cast<double>(element_size.value());
  std::vector<Seconds> times(fabric.links().size());
  for (const collectives::Channel& channel : plan.channels) {
    for (const auto& round : channel.rounds) {
      collectives::for_each_send(round, plan.endpoints(), [&](Rank from, const auto& send) {
        double bytes = 0;
        for (std::uint64_t repeat = 0; repeat < round.repeats; ++repeat) {
          const auto count = static_cast<double>(send.chunk.at(repeat).count.value());
          bytes += count * element;
        }
        const topology::Path path = fabric.path(from, send.to);
        for (const topology::Port& port :
             {fabric.out_ports()[path.out], fabric.in_ports()[path.in]}) {
          for (const topology::LinkId number : fabric.links_of(port)) {
            times[number] += Seconds(bytes / fabric.links()[number].bandwidth.value());
          }
        }
      });
    }
  }
  return times;
}

// Of 64 chunks of 8 kB for each of 8 channels.
TEST(SwitchRounds, AreAsLongAsTheLinksOfThePlanAreBusy) {
  topology::Cluster spread = on_two_leaves(false);
  spread.nodes = 7;
  spread.network.fat_tree->placement = topology::Placement::spread;
  topology::Cluster narrow = switched(3, 4, 4e9, 1e9);
  narrow.intra_node.host_bandwidth = BytesPerSecond(3e8);
  narrow.network.nics_per_node = 3;
  for (const auto& cluster : {on_two_leaves(true), spread, narrow, switched(5, 4, 2e9, 1e9)}) {
    training::SimulatedCall nvls{"nvls"};
    nvls.options.chunk_size = Bytes(8000);
    const training::CollectiveCall call{Collective::all_reduce, ElementCount(8 * 64 * 2000),
                                        ElementSize(4), Rank(0), std::move(nvls)};
    const auto busy = link_times(training::Planner(cluster).plan_of(call),
                                 topology::Fabric(cluster), ElementSize(4));
    const BytesPerSecond carried = of_nvls(Collective::all_reduce, cluster).bandwidth();
    EXPECT_NEAR(std::ranges::max_element(busy)->value(), (call.size() / carried).value(), 1e-12);
  }
}

}  // namespace switch_rounds_test
}  // namespace paceline::cost
