// A call by a fixed algorithm of NCCL's takes no longer where links are faster.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/cost/nccl_call.h"
#include "models/topology/fabric.h"
#include "models/training/call_plan.h"

namespace paceline::cost::nccl {
namespace more_bandwidth_test {

using collectives::Collective;
using topology::Cluster;

constexpr double hopper = 9.0;  // compute capability
constexpr ElementCount elements{1 << 22};
constexpr ElementSize element_size{4};

struct Machine {
  std::uint32_t nodes, gpus, nics;
  double oversubscription = 0;  // 0: one switch, and no leaves of two nodes
  bool rails = false;
};

constexpr std::array machines{
    Machine{1, 4, 4}, Machine{2, 4, 4},    Machine{3, 4, 1},          Machine{4, 8, 8},
    Machine{5, 4, 3}, Machine{5, 4, 4, 4}, Machine{6, 4, 4, 9, true},
};

constexpr double no_limit = 0;
// GB/s of a GPU's port, of its way to its NIC, and of that.
constexpr std::array<std::array<double, 6>, 3> steps{
    {{25, 50, 100, 200, 450, 900}, {6, 12, 24, 48, 96, no_limit}, {3, 12, 25, 50, 100, 200}}};
constexpr std::array names{"ports", "ways to NICs", "NICs"};
using Speeds = std::array<std::size_t, 3>;  // where in these steps

BytesPerSecond bandwidth(const Speeds& speeds, std::size_t kind) {
  return BytesPerSecond(steps[kind][speeds[kind]] * 1e9);
}

Cluster cluster_of(const Machine& machine, const Speeds& speeds) {
  Cluster cluster;
  cluster.nodes = machine.nodes;
  cluster.gpus_per_node = machine.gpus;
  cluster.intra_node.bandwidth = bandwidth(speeds, 0);
  cluster.intra_node.latency = Seconds(1e-6);
  const BytesPerSecond host = bandwidth(speeds, 1);
  if (host > BytesPerSecond(no_limit)) cluster.intra_node.host_bandwidth = host;
  cluster.network.bandwidth = bandwidth(speeds, 2);
  cluster.network.latency = Seconds(3e-6);
  cluster.network.nics_per_node = machine.nics;
  cluster.network.sharp = true;
  if (machine.oversubscription > 0) {
    cluster.network.fat_tree = topology::FatTree{.nodes_per_leaf = 2,
                                                 .oversubscription = machine.oversubscription,
                                                 .core_latency = Seconds(1e-6),
                                                 .rails = machine.rails};
  }
  return cluster;
}

struct Way {
  Algorithm algorithm;
  Protocol protocol = Protocol::simple;
};

std::span<const Way> ways_on(const Machine& machine) {
  static constexpr std::array inside{Way{Algorithm::nvls}, Way{Algorithm::ring},
                                     Way{Algorithm::ring, Protocol::ll}};
  static constexpr std::array across{Way{Algorithm::nvls_tree}, Way{Algorithm::collnet_direct},
                                     Way{Algorithm::collnet_chain}, Way{Algorithm::ring},
                                     Way{Algorithm::ring, Protocol::ll128}};
  return machine.nodes == 1 ? std::span<const Way>(inside) : across;
}

// What the rounds of a plan take in step: each its longest hop and its busiest link.
Seconds in_rounds(const collectives::Plan& plan, const topology::Fabric& fabric,
                  const topology::Wire& wire) {
  struct Together {
    std::vector<double> of_links;
    double hop = 0;
  };
  std::vector<Together> rounds;
  const auto add = [&](Together& round, const topology::Path& path, double bytes) {
    if (bytes == 0) return;
    round.of_links.resize(fabric.links().size());
    round.hop = std::max(round.hop, path.timing.latency.value());
    for (const auto& port : {fabric.out_ports()[path.out], fabric.in_ports()[path.in]}) {
      for (const topology::LinkId link : fabric.links_of(port)) {
        round.of_links[link] += bytes / fabric.links()[link].bandwidth.value();
      }
    }
  };
  for (const collectives::Channel& channel : plan.channels) {
    std::size_t first = 0;
    for (const collectives::Round& shape : channel.rounds) {
      rounds.resize(std::max<std::size_t>(rounds.size(), first + shape.repeats));
      collectives::for_each_send(shape, plan.endpoints(), [&](Rank from, const auto& send) {
        const topology::Path path = fabric.path(from, send.to, wire);
        for (std::uint64_t repeat = 0; repeat < shape.repeats; ++repeat) {
          const Bytes bytes = send.chunk.at(repeat).count * element_size;
          add(rounds[first + repeat], path, static_cast<double>(bytes.value()) * wire.bytes);
        }
      });
      first += shape.repeats;
    }
  }
  double all = 0;
  for (const Together& round : rounds) {
    all += round.hop + (round.of_links.empty() ? 0 : *std::ranges::max_element(round.of_links));
  }
  return Seconds(all);
}

Seconds time_of(const Cluster& cluster, Release release, const Way& way) {
  const Chooser chooser(cluster, release, hopper,
                        {.algorithm = way.algorithm, .protocol = way.protocol});
  const Call made = chooser.choose(Collective::all_reduce, elements * element_size);
  EXPECT_EQ(made.choice.algorithm, way.algorithm);
  training::SimulatedCall simulated{std::string(made.algorithm), {}, made.wire};
  simulated.options.channels = made.channels;
  simulated.options.chunk_size = made.chunk_size;
  const training::CollectiveCall call{Collective::all_reduce, elements, element_size, Rank(0),
                                      std::move(simulated)};
  return made.wire.start +
         in_rounds(training::Planner(cluster).plan_of(call), topology::Fabric(cluster), made.wire);
}

std::string described(const Machine& machine, const Speeds& speeds, const Way& way,
                      Release release) {
  std::ostringstream text;
  text << to_text(way.algorithm) << ' ' << to_text(way.protocol) << " of 2." << release.minor
       << ", " << machine.nodes << " nodes of " << machine.gpus << ", " << machine.nics
       << " NICs, oversubscription " << machine.oversubscription << ", GB/s:";
  for (std::size_t kind = 0; kind < steps.size(); ++kind) text << ' ' << steps[kind][speeds[kind]];
  return text.str();
}

TEST(MoreBandwidth, MakesNoFixedAlgorithmSlower) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int i = 0; i < 500; ++i) {
    const Machine& machine = machines[below(machines.size())];
    const auto ways = ways_on(machine);
    const Way& way = ways[below(ways.size())];
    const Release release{18 + static_cast<std::uint32_t>(below(13))};
    const std::size_t kind = below(steps.size());
    Speeds speeds{below(6), below(6), below(6)};
    speeds[kind] = below(5);
    const Seconds slower = time_of(cluster_of(machine, speeds), release, way);
    SCOPED_TRACE(described(machine, speeds, way, release) + ", faster: " + names[kind]);
    ++speeds[kind];
    const Seconds faster = time_of(cluster_of(machine, speeds), release, way);
    EXPECT_LE(faster.value(), slower.value() * (1 + 1e-9));
  }
}

// Two nodes of two GPUs, 1.25 GB/s a NIC. NCCL counts on as much for each, divided by 1 where two
// GPUs share one and by 0.75 where they do not, and half of that: 0.625 GB/s and 5 / 3, where links
// let 1.25 and 2.5 through. A single channel serves both heads, and has more than that for itself;
// a ring of one channel leaves by one NIC. Of eight NICs of 24 GB/s a channel gets 20 of 192 GB/s.
TEST(MoreNics, AreUsedByOneChannelOfCollNetDirect) {
  const auto bytes = [](const Cluster& cluster, const Channels& channels) {
    const Chooser chooser(
        cluster, {28}, hopper - 1,
        {.algorithm = Algorithm::collnet_direct, .protocol = {}, .channels = channels});
    return chooser.choose(Collective::all_reduce, Bytes(100'000'000)).wire.bytes;
  };
  Cluster two = cluster_of({2, 2, 1}, {1, 5, 0});
  two.network.bandwidth = BytesPerSecond(1.25e9);
  EXPECT_NEAR(bytes(two, {}), 2, 1e-3);  // a little less, as the pipeline fills
  EXPECT_NEAR(bytes(two, {.most = 1}), 2, 1e-3);
  two.network.nics_per_node = 2;
  for (const Channels& channels : {Channels{}, Channels{.most = 1}, Channels{.least = 32}}) {
    EXPECT_NEAR(bytes(two, channels), 1.5, 1e-9);
  }
  Cluster many = cluster_of({2, 8, 8}, {4, 5, 2});
  many.network.bandwidth = BytesPerSecond(24e9);
  EXPECT_NEAR(bytes(many, {.most = 1}) / bytes(many, {}), 192.0 / 20, 1e-2);
}

}  // namespace more_bandwidth_test
}  // namespace paceline::cost::nccl
