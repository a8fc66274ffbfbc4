#include "sim/folded/symmetry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/folded/folded_calls.h"
#include "tests/sim/points.h"

namespace paceline::sim {

namespace {

using collectives::Collective;
using topology::Cluster;
using topology::FatTree;
using topology::IntraNodeKind;
using training::CollectiveCall;
using training::LaneKind;
using training::OperationKind;

// p nodes of one GPU, each with one link into one switch.
Cluster flat(std::uint32_t ranks) { return sim::flat(ranks, 12.5e9, 3e-6); }

// Nodes of eight GPUs on NVSwitch, each GPU with a NIC of its own.
Cluster eight_rails(std::uint32_t nodes) {
  Cluster cluster = flat(nodes);
  cluster.gpus_per_node = 8;
  cluster.network.nics_per_node = 8;
  cluster.intra_node = {IntraNodeKind::nvswitch, BytesPerSecond(150e9), Seconds(2e-6), {}, {}};
  return cluster;
}

// One-GPU nodes on leaves of two.
Cluster leaves_of_two(std::uint32_t nodes) {
  Cluster cluster = flat(nodes);
  cluster.network.fat_tree = FatTree{2, 2.0, Seconds(1e-6), false, topology::Placement::packed};
  return cluster;
}

FoldedCalls folded(const ResolvedPoint& point, Chunks chunks) {
  return {point, chunks, [](const CollectiveCall&) { return true; }};
}

// The classes of the first job, as the ranks in each.
std::vector<std::vector<Rank>> classes(const ResolvedPoint& point, Chunks chunks) {
  return folded(point, chunks).actors().front().members;
}

// A ring over nodes of eight turns onto itself node by node, at any number of nodes: a class for
// each place in the node, with a rank of every node.
TEST(Symmetry, LeavesAClassForEachPlaceInANodeOfARing) {
  for (const std::uint32_t nodes : {2U, 16U, 128U}) {
    CollectiveCall call = all_reduce("ring", 8ULL * nodes * 1000);
    simulated(call).options.channels = 1;
    const auto point = one_call(eight_rails(nodes), call);
    const auto members = classes(point, Chunks::exact);
    ASSERT_EQ(members.size(), 8U) << nodes << " nodes";
    for (std::uint32_t local = 0; local < 8; ++local) {
      ASSERT_EQ(members[local].size(), nodes);
      for (std::uint32_t node = 0; node < nodes; ++node) {
        EXPECT_EQ(members[local][node], Rank(8 * node + local));
      }
    }
  }
}

// With eight rings, each of which enters the nodes at another GPU, every rank is the first of one
// ring in its node, the second of another, and so on: one class of ranks, which has eight parts in
// one class of rings. With seven rings the ranks differ by the place that they have in none.
TEST(Symmetry, MakesOneClassOfARingForEachGpuOfANode) {
  CollectiveCall call = all_reduce("ring", 8 * 16 * 8000);
  const FoldedCalls eight = folded(one_call(eight_rails(16), call), Chunks::exact);
  EXPECT_EQ(eight.actors().front().members.size(), 1U);
  const CallTable& table = eight.tables().front().at(call);
  ASSERT_EQ(table.channels.size(), 1U);
  EXPECT_EQ(table.channels.front().actor_of, std::vector<Actor>(8, 0));
  EXPECT_EQ(table.transfers(), 8U * 16 * 8 * 2 * 127);
  simulated(call).options.channels = 7;
  call.count = ElementCount(7 * 16 * 8000);
  const FoldedCalls seven = folded(one_call(eight_rails(16), call), Chunks::exact);
  EXPECT_EQ(seven.actors().front().members.size(), 8U);
  EXPECT_EQ(seven.tables().front().at(call).channels.size(), 7U);
}

// A double tree over four nodes of eight, for each of eight rings: tree 2 is tree 1 from the other
// end. So nodes 0 and 3 are alike, and 1 and 2, and all trees: of 16 channels and 32 ranks one
// channel of 32 parts is left.
TEST(Symmetry, MakesOneClassOfTheTwoTreesAndOfTheRailsThatTheyAreOn) {
  CollectiveCall call = all_reduce("double_binary_tree", 16 * 100'000);
  const FoldedCalls calls = folded(one_call(eight_rails(4), call), Chunks::exact);
  const auto& members = calls.actors().front().members;
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].size(), 16U);
  EXPECT_EQ(members[0][8], Rank(24));
  EXPECT_EQ(members[1][15], Rank(23));
  const CallTable& table = calls.tables().front().at(call);
  ASSERT_EQ(table.channels.size(), 1U);
  EXPECT_EQ(table.channels.front().parts(), 32U);
}

// A ring whose ranks divide the count turns onto itself rank by rank. If they do not, chunk r has
// its own size or place in the order of sizes, and rank r starts with it: all are apart, unless the
// chunks are taken as even.
TEST(Symmetry, TellsTheRanksOfARingApartOnlyByTheSizesOfTheirChunks) {
  const auto divided = one_call(flat(24), all_reduce("ring", 24 * 1000));
  EXPECT_EQ(classes(divided, Chunks::exact).size(), 1U);
  EXPECT_EQ(classes(divided, Chunks::even).size(), 1U);
  const auto uneven = one_call(flat(24), all_reduce("ring", 24 * 1000 + 5));
  EXPECT_EQ(classes(uneven, Chunks::exact).size(), 24U);
  EXPECT_EQ(classes(uneven, Chunks::even).size(), 1U);
}

// Every rank of a ring has its own distance to one that is slow. With two slow ranks opposite each
// other half a turn brings the ring onto itself: two ranks a class.
TEST(Symmetry, TellsTheRanksOfARingApartByTheirDistanceToAStraggler) {
  auto point = one_call(flat(12), all_reduce("ring", 12 * 1000));
  point.slowdown.assign(12, 1.0);
  point.slowdown[5] = 1.5;
  EXPECT_EQ(classes(point, Chunks::exact).size(), 12U);
  point.slowdown[11] = 1.5;
  const auto members = classes(point, Chunks::exact);
  ASSERT_EQ(members.size(), 6U);
  for (std::uint32_t r = 0; r < 6; ++r) {
    EXPECT_EQ(members[r], (std::vector<Rank>{Rank(r), Rank(r + 6)}));
  }
}

// Where every rank talks to every other there is no distance: the slow one and the rest.
TEST(Symmetry, KeepsAllButTheStragglerTogetherWhereEveryRankTalksToAll) {
  auto point = one_call(flat(12), all_reduce("direct", 12 * 1000));
  point.slowdown.assign(12, 1.0);
  point.slowdown[5] = 1.5;
  const auto members = classes(point, Chunks::exact);
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[1], std::vector<Rank>{Rank(5)});
}

// The binary digits of a rank of eight are the rounds in which it or one above it in the tree got
// the buffer. No two have the same ones.
TEST(Symmetry, TellsAllRanksOfABinomialBroadcastApart) {
  CollectiveCall call = all_reduce("binomial_tree", 1000);
  call.collective = Collective::broadcast;
  EXPECT_EQ(classes(one_call(flat(8), call), Chunks::exact).size(), 8U);
  EXPECT_EQ(classes(one_call(flat(8), call), Chunks::even).size(), 8U);
}

// Partners are at distances that are powers of two: flipping a digit of all ranks of 16 brings the
// exchange onto itself. With one element too many chunk 0 is larger, and with it the half, quarter
// and so on that it is in: whether a rank sends that one in a round is a digit of the rank.
TEST(Symmetry, MakesOneClassOfHalvingAndDoublingOnAPowerOfTwo) {
  const auto divided = one_call(flat(16), all_reduce("halving_doubling", 16 * 1000));
  EXPECT_EQ(classes(divided, Chunks::exact).size(), 1U);
  const auto uneven = one_call(flat(16), all_reduce("halving_doubling", 16 * 1000 + 1));
  EXPECT_EQ(classes(uneven, Chunks::exact).size(), 16U);
  EXPECT_EQ(classes(uneven, Chunks::even).size(), 1U);
}

// Of six ranks 0 and 2 give their buffers to 1 and 3, which act for them, and 4 and 5 act for
// themselves. The four exchange at distance two, 1 with 4 and 3 with 5, and at distance one, 1 with
// 3 and 4 with 5: those that give, those that act for two, and those that act for one.
TEST(Symmetry, KeepsPairsApartWhereHalvingAndDoublingFoldsTheRanks) {
  const auto point = one_call(flat(6), all_reduce("halving_doubling", 4 * 1000));
  const auto members = classes(point, Chunks::exact);
  ASSERT_EQ(members.size(), 3U);
  for (const auto& pair : members) EXPECT_EQ(pair.size(), 2U);
}

// Eight ranks send a share to each of three servers. The servers are alike when they divide the
// count; of 3001 floats the first server has one more.
TEST(Symmetry, KeepsServersApartFromRanksAndByTheirShares) {
  Cluster cluster = flat(8);
  cluster.servers = 3;
  const auto jobs = [&](std::uint64_t count) {
    CollectiveCall call = all_reduce("parameter_server", count);
    simulated(call).options.servers = 3;
    simulated(call).options.separate_servers = true;
    return folded(one_call(cluster, call), Chunks::exact).actors().front();
  };
  const JobActors even = jobs(3000);
  EXPECT_EQ(even.rank_actors, 1U);
  ASSERT_EQ(even.members.size(), 2U);
  EXPECT_EQ(even.members[0].size(), 8U);
  EXPECT_EQ(even.members[1], (std::vector<Rank>{Rank(8), Rank(9), Rank(10)}));
  EXPECT_EQ(even.actor_of[10], 1U);
  const JobActors uneven = jobs(3001);
  EXPECT_EQ(uneven.rank_actors, 1U);
  ASSERT_EQ(uneven.members.size(), 3U);
  EXPECT_EQ(uneven.members[1], std::vector<Rank>{Rank(8)});
  EXPECT_EQ(uneven.members[2], (std::vector<Rank>{Rank(9), Rank(10)}));
}

// On leaves of two every second hop of a ring crosses the core: those before it and those behind
// it.
TEST(Symmetry, TellsTheTwoNodesOfALeafApart) {
  const auto point = one_call(leaves_of_two(8), all_reduce("ring", 8 * 1000));
  EXPECT_EQ(classes(point, Chunks::exact).size(), 2U);
}

// Two rings of four on leaves of two. In turn, every leaf has a node of each and every hop of both
// crosses the core: a class a job. With job 1 on nodes 0, 1, 2, 4 and job 2 on 3, 5, 6, 7 one hop
// of each ring stays in its leaf, and every rank has its own distance to it.
TEST(Symmetry, FindsTheClassesOfTwoJobsByWhereTheyMeet) {
  auto point = one_call(leaves_of_two(8), all_reduce("ring", 4 * 1000));
  point.jobs = {{{0, 2, 4, 6}, Seconds(0)}, {{1, 3, 5, 7}, Seconds(0)}};
  const FoldedCalls in_turn = folded(point, Chunks::exact);
  ASSERT_EQ(in_turn.actors().size(), 2U);
  for (const JobActors& job : in_turn.actors()) {
    ASSERT_EQ(job.members.size(), 1U);
    EXPECT_EQ(job.members[0].size(), 4U);
  }
  point.jobs = {{{0, 1, 2, 4}, Seconds(0)}, {{3, 5, 6, 7}, Seconds(0)}};
  const FoldedCalls mixed_up = folded(point, Chunks::exact);
  for (const JobActors& job : mixed_up.actors()) EXPECT_EQ(job.members.size(), 4U);
}

// A job's slow ranks slow down only its own: the second job is a class as before.
TEST(Symmetry, KeepsTheSecondJobTogetherWhenTheFirstHasAStraggler) {
  auto point = one_call(flat(8), all_reduce("ring", 4 * 1000));
  point.jobs = {{{0, 2, 4, 6}, Seconds(0)}, {{1, 3, 5, 7}, Seconds(0)}};
  point.slowdown = {1.0, 1.0, 1.3, 1.0};
  const FoldedCalls calls = folded(point, Chunks::exact);
  EXPECT_EQ(calls.actors()[0].members.size(), 4U);
  EXPECT_EQ(calls.actors()[1].members.size(), 1U);
}

// One ring on 16 nodes of eight has seven hops in each node and one from its last GPU to the first
// of the next: eight ways of 16 flows each, and each way has 16 links of each of its classes. With
// a ring a rail every GPU has all hops: in the node all seven go the same way, over 128 links out
// of GPUs and as many in.
TEST(Symmetry, CountsTheFlowsOfAWayAndTheLinksOfAClass) {
  CollectiveCall call = all_reduce("ring", 8 * 128 * 1000);
  struct Case {
    std::uint32_t rings;
    std::size_t ways;
    std::uint64_t each;
  };
  for (const auto& [rings, ways, each] : {Case{1, 8, 16}, Case{8, 2, 128}}) {
    simulated(call).options.channels = rings;
    const FoldedCalls calls = folded(one_call(eight_rails(16), call), Chunks::exact);
    EXPECT_EQ(calls.paths().size(), ways);
    for (const FoldedPath& path : calls.paths()) {
      EXPECT_EQ(path.flows, each);
      EXPECT_EQ(path.link_classes.size(), 2U);
      for (const std::uint32_t link : path.link_classes) {
        EXPECT_EQ(calls.links()[link].links, each);
      }
    }
  }
}

}  // namespace
}  // namespace paceline::sim
