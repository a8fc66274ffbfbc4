#include "sim/folded/folded_network.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sim/folded/folded_step.h"
#include "tests/sim/isolated.h"

namespace paceline::sim {

namespace {

constexpr std::uint64_t effort_max = 1000;

LinkClass links_of(double gigabytes_per_s, std::uint64_t links) {
  return {BytesPerSecond(1e9 * gigabytes_per_s), links};
}

struct SentFlow {
  PathId path;
  double bytes;
  double at = 0;  // s
};

template <std::size_t flows>
struct Outcome {
  std::array<double, flows> arrivals{};
};

enum class Order { free, one_connection };

// When the flows have arrived, and how many sets of them were solved.
template <std::size_t flows>
Outcome<flows> run(const std::vector<LinkClass>& links, const std::vector<FoldedPath>& paths,
                   const std::array<SentFlow, flows>& sent, Order order = Order::free) {
  return isolated([&] {
    Outcome<flows> outcome;
    Rates solver;
    FoldedNetwork network(
        links, paths, [&network](void* tag) { *static_cast<double*>(tag) = network.now().value(); },
        solver, effort_max);
    FoldedNetwork::Connection connection;
    for (std::size_t i = 0; i < flows; ++i) {
      network.at(Seconds(sent[i].at), [&, i] {
        network.send(sent[i].path, sent[i].bytes, Seconds(0), &outcome.arrivals[i],
                     order == Order::one_connection ? &connection : nullptr);
      });
    }
    network.run([] {});
    return outcome;
  });
}

TEST(FoldedNetwork, TakesLatencyPlusSizeOverBandwidthAndNothingElse) {
  const auto got = run<1>({links_of(1, 1)}, {{{Seconds(1e-6)}, {0}, 1}}, {{{0, 1e6}}});
  EXPECT_NEAR(got.arrivals[0], 1.001e-3, 1e-12);
}

// 1 MB over 1 GB/s, at once when nothing has to be waited for.
TEST(FoldedNetwork, NeedsNoLatency) {
  const auto got = run<1>({links_of(1, 1)}, {{{Seconds(0)}, {0}, 1}}, {{{0, 1e6, 2.0}}});
  EXPECT_NEAR(got.arrivals[0], 2.001, 1e-12);
}

// 1 GB/s. The first flow of 1 GB has moved half of it when the second one of 1 GB starts at 0.5 s;
// at half of the bandwidth each, its other half takes until 1.5 s, when the second one has 0.5 GB
// left, which it moves alone until 2 s. Three sets of flows, of which the first and the last are
// one: the same flows on the same way.
TEST(FoldedNetwork, SharesALinkFromWhenASecondFlowStartsUntilTheFirstEnds) {
  const auto got = run<2>({links_of(1, 1)}, {{{Seconds(0)}, {0}, 1}}, {{{0, 1e9}, {0, 1e9, 0.5}}});
  EXPECT_NEAR(got.arrivals[0], 1.5, 1e-12);
  EXPECT_NEAR(got.arrivals[1], 2.0, 1e-12);
}

// The same as FlowNetwork.SharesALinkEquallyAmongFlowsOfDifferentLatency: 0.5 GB after 1 us and
// 1 GB after 3 us through 1 GB/s. For 2 us the first is alone and moves 2 kB, then each has half:
// the first ends at 3 us + (0.5 GB - 2 kB) / 0.5 GB/s = 1 s - 1 us. The second has 0.5 GB + 2 kB
// left: another 0.5 s + 2 us.
TEST(FoldedNetwork, SharesALinkEquallyAmongFlowsOfDifferentLatency) {
  const auto got =
      run<2>({links_of(1, 1), links_of(100, 1)},
             {{{Seconds(1e-6)}, {0}, 1}, {{Seconds(3e-6)}, {0, 1}, 1}}, {{{0, 0.5e9}, {1, 1e9}}});
  EXPECT_NEAR(got.arrivals[0], 1 - 1e-6, 1e-11);
  EXPECT_NEAR(got.arrivals[1], 1.5 + 1e-6, 1e-11);
}

// The first flow has 2 ms of latency and 1 ms of transfer. The second one's latency of 1 ms passes
// meanwhile, and it moves its 2 MB when the first has arrived: from 3 ms to 5 ms. Not in order the
// two would meet on the link at 2 ms and arrive at 4 ms.
TEST(FoldedNetwork, KeepsTheFlowsOfAConnectionInOrderWhateverTheirLatencies) {
  const std::vector<FoldedPath> paths{{{Seconds(2e-3)}, {0}, 1}, {{Seconds(1e-3)}, {0}, 1}};
  const auto got = run<2>({links_of(1, 1)}, paths, {{{0, 1e6}, {1, 2e6}}}, Order::one_connection);
  EXPECT_NEAR(got.arrivals[0], 3e-3, 1e-12);
  EXPECT_NEAR(got.arrivals[1], 5e-3, 1e-12);
}

// The second flow is sent while the first has the link, and its latency of 2 ms ends 1 ms after
// the first has arrived at 2 ms: it starts then, not when its place in the connection is free.
TEST(FoldedNetwork, LetsAFlowOfAConnectionPassItsOwnLatencyFirst) {
  const std::vector<FoldedPath> paths{{{Seconds(1e-3)}, {0}, 1}, {{Seconds(2e-3)}, {0}, 1}};
  const auto got =
      run<2>({links_of(1, 1)}, paths, {{{0, 1e6}, {1, 1e6, 1e-3}}}, Order::one_connection);
  EXPECT_NEAR(got.arrivals[0], 2e-3, 1e-12);
  EXPECT_NEAR(got.arrivals[1], 4e-3, 1e-12);
}

// Twelve GPUs on ports of 1 GB/s, three to a NIC of 1.2 GB/s. Each sends 0.4 GB through its port
// and its NIC, and 0.9 GB through its port only. A NIC gives each of its three flows 0.4 GB/s, so
// that the other flow of a port has 0.6: the network's flows end at 1 s, and the others, with
// 0.3 GB left and the port for themselves, at 1.3 s.
constexpr double network_ends = 1.0, node_ends = 1.3;

TEST(FoldedNetwork, SolvesClassesOfDifferentSizeInOneIsland) {
  const auto got =
      run<2>({links_of(1, 12), links_of(1.2, 4)},
             {{{Seconds(0)}, {0, 1}, 12}, {{Seconds(0)}, {0}, 12}}, {{{0, 0.4e9}, {1, 0.9e9}}});
  EXPECT_NEAR(got.arrivals[0], network_ends, 1e-12);
  EXPECT_NEAR(got.arrivals[1], node_ends, 1e-12);
}

// The same links and flows, none of them in a class: GPU g has port g and NIC 12 + g / 3. The four
// NICs make four islands of one shape, whose sets of flows are solved once.
TEST(FoldedNetwork, GivesTheFlowsOfAClassWhatEachOfThemWouldGet) {
  constexpr std::uint32_t gpus = 12;
  std::vector<LinkClass> links(gpus, links_of(1, 1));
  links.insert(links.end(), gpus / 3, links_of(1.2, 1));
  std::vector<FoldedPath> paths;
  std::array<SentFlow, 2 * gpus> sent{};
  for (std::uint32_t g = 0; g < gpus; ++g) {
    paths.push_back({{Seconds(0)}, {g, gpus + g / 3}, 1});
    paths.push_back({{Seconds(0)}, {g}, 1});
    sent[2 * g] = {2 * g, 0.4e9};
    sent[2 * g + 1] = {2 * g + 1, 0.9e9};
  }
  const auto got = run(links, paths, sent);
  for (std::uint32_t g = 0; g < gpus; ++g) {
    EXPECT_NEAR(got.arrivals[2 * g], network_ends, 1e-12) << "GPU " << g;
    EXPECT_NEAR(got.arrivals[2 * g + 1], node_ends, 1e-12) << "GPU " << g;
  }
}

// Two links of 1 GB/s, crossed by 6 flows of one class and by 4 of another: 3 and 2 on each link,
// 0.2 GB/s for every flow. 0.2 GB take a second of the first class; the second one's 0.5 GB have
// 0.3 GB left then, which two flows a link move at 0.5 GB/s: 1.6 s.
TEST(FoldedNetwork, SharesLinksOfAClassAmongClassesWhoseSizesDivideNoneTheOther) {
  const auto got = run<2>({links_of(1, 2)}, {{{Seconds(0)}, {0}, 6}, {{Seconds(0)}, {0}, 4}},
                          {{{0, 0.2e9}, {1, 0.5e9}}});
  EXPECT_NEAR(got.arrivals[0], 1.0, 1e-12);
  EXPECT_NEAR(got.arrivals[1], 1.6, 1e-12);
}

// Three links that no flows share, two of them alike: two shapes, and the flows' start is their
// only event.
TEST(FoldedNetwork, SolvesIslandsOfOneShapeOnce) {
  const auto got = run<3>({links_of(1, 5), links_of(1, 5), links_of(2, 5)},
                          {{{Seconds(0)}, {0}, 5}, {{Seconds(0)}, {1}, 5}, {{Seconds(0)}, {2}, 5}},
                          {{{0, 1e9}, {1, 2e9}, {2, 3e9}}});
  EXPECT_NEAR(got.arrivals[0], 1.0, 1e-12);
  EXPECT_NEAR(got.arrivals[1], 2.0, 1e-12);
  EXPECT_NEAR(got.arrivals[2], 1.5, 1e-12);
}

// Three flows on a link begin one after another, and end so: five times one way and one link are
// looked at.
TEST(FoldedNetwork, GivesUpWhenFlowsShareLinksInTooManyWays) {
  const auto gives_up = [](std::uint64_t allowed) {
    return isolated([&] {
      Rates solver;
      const std::vector<LinkClass> links{links_of(1, 1)};
      FoldedNetwork network(
          links, {{{Seconds(0)}, {0}, 1}}, [](void*) {}, solver, allowed);
      for (const double at : {0.0, 0.1, 0.2}) {
        network.at(Seconds(at), [&] { network.send(0, 1e9, Seconds(0), nullptr, nullptr); });
      }
      try {
        network.run([] {});
      } catch (const FoldedNetwork::TooMuchSharing&) {
        return true;
      }
      return false;
    });
  };
  EXPECT_TRUE(gives_up(9));
  EXPECT_FALSE(gives_up(10));
}

// One link of 1 GB/s and one way over it. An engine is made when the first flow is sent: tests of
// timers need no process of their own.
class OneLink {
 public:
  explicit OneLink(double latency)
      : network_(
            links_, {{{Seconds(latency)}, {0}, 1}},
            [this](void* tag) { *static_cast<double*>(tag) = network_.now().value(); }, solver_,
            effort_max) {}
  FoldedNetwork& network() { return network_; }

 private:
  std::vector<LinkClass> links_{links_of(1, 1)};
  Rates solver_;
  FoldedNetwork network_;
};

TEST(FoldedNetwork, RunsTimersInTheOrderOfTheirTimesAndThenOfTheirMaking) {
  OneLink link(0);
  FoldedNetwork& network = link.network();
  std::vector<std::pair<int, double>> gone_off;
  const auto note = [&](int number) { gone_off.emplace_back(number, network.now().value()); };
  network.at(Seconds(2), [&] { note(1); });
  network.at(Seconds(1), [&] {
    note(2);
    network.at(Seconds(1), [&] { note(3); });
    network.at(Seconds(1.5), [&] { note(4); });
  });
  network.at(Seconds(1), [&] { note(5); });
  network.run([] {});
  const std::vector<std::pair<int, double>> expected{{2, 1}, {5, 1}, {3, 1}, {4, 1.5}, {1, 2}};
  EXPECT_EQ(gone_off, expected);
}

// Three links of 1 GB/s. Flows of the third and the first begin to move at 0, one of the second,
// which was sent before them, at 1 s; they have 2, 2 and 1 GB.
TEST(FoldedNetwork, HandsBackFlowsThatEndTogetherInTheOrderOfTheirSending) {
  Rates rates;
  std::vector<int> order;
  FoldedNetwork network(
      std::vector(3, links_of(1, 1)), {{{Seconds(1)}, {1}, 1}, {{}, {2}, 1}, {{}, {0}, 1}},
      [&](void* tag) { order.push_back(*static_cast<int*>(tag)); }, rates, effort_max);
  std::array<int, 3> tags{1, 2, 3};
  network.send(0, 1e9, Seconds(0), &tags[0], nullptr);
  network.send(1, 2e9, Seconds(0), &tags[1], nullptr);
  network.send(2, 2e9, Seconds(0), &tags[2], nullptr);
  network.run([] {});
  EXPECT_EQ(network.now(), Seconds(2));
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(FoldedNetwork, KnowsItsNextTimer) {
  OneLink link(0);
  FoldedNetwork& network = link.network();
  EXPECT_EQ(Seconds(network.next_timer()), Seconds(std::numeric_limits<double>::infinity()));
  network.at(Seconds(7), [] {});
  network.at(Seconds(3), [&] { EXPECT_EQ(Seconds(network.next_timer()), Seconds(7)); });
  EXPECT_EQ(Seconds(network.next_timer()), Seconds(3));
  network.run([] {});
}

// Rounds begin at 0 and 1 s. The look at each comes after all that happens at that time, also what
// was put off to the same time later on.
TEST(FoldedNetwork, LooksAtARoundWhenAllOfItsTimeHasHappened) {
  OneLink link(0);
  FoldedNetwork& network = link.network();
  std::vector<double> looks;
  int happened = 0;
  for (const double at : {0.0, 0.5, 1.0}) {
    network.at(Seconds(at), [&, at] {
      if (at != 0.5) network.round_begins();
      network.at(Seconds(at), [&] { ++happened; });
    });
  }
  network.run([&] {
    looks.push_back(network.now().value());
    EXPECT_EQ(happened, looks.size() == 1 ? 1 : 3);
  });
  EXPECT_EQ(looks, (std::vector<double>{0, 1}));
}

// 0.25 s of latency, 1 GB/s: at 1 s a flow of 2 GB sent at 0 has moved 0.75 GB and has 1.25 s to
// go, one sent at 0.9 s has 0.15 s of latency left, and one that waits in the connection of the
// first has nothing that its future depends on. The first is alone on the link.
TEST(FoldedNetwork, TellsHowFarEachFlowIs) {
  struct Seen {
    std::array<FoldedNetwork::Phase, 3> phases;
    std::array<double, 3> left;
    std::size_t flows;
  };
  const auto seen = isolated([] {
    OneLink link(0.25);
    FoldedNetwork& network = link.network();
    FoldedNetwork::Connection connection;
    std::array<double, 3> arrivals{};
    network.send(0, 2e9, Seconds(0), &arrivals[0], &connection);
    network.send(0, 1e9, Seconds(0), &arrivals[1], &connection);
    network.at(Seconds(0.9), [&] { network.send(0, 1e9, Seconds(0), &arrivals[2], nullptr); });
    network.at(Seconds(1), [&] { network.round_begins(); });
    Seen result{};
    network.run([&] {
      std::vector<FoldedNetwork::FlowState> flows;
      network.append_flows(flows);
      result.flows = flows.size();
      for (const auto& flow : flows) {
        const auto i = static_cast<std::size_t>(static_cast<double*>(flow.tag) - arrivals.data());
        result.phases[i] = flow.phase;
        result.left[i] = flow.left.value();
      }
    });
    return result;
  });
  using Phase = FoldedNetwork::Phase;
  ASSERT_EQ(seen.flows, 3U);
  EXPECT_EQ(seen.phases, (std::array{Phase::moving, Phase::waiting, Phase::latency}));
  EXPECT_NEAR(seen.left[0], 1.25, 1e-12);
  EXPECT_EQ(seen.left[1], 0);
  EXPECT_NEAR(seen.left[2], 0.15, 1e-12);
}

// At 1 s as above, without the flow that waits: 10 s are leapt over, up to a timer at 11 s. Both
// flows are as far as before: the second has its 0.15 s of latency still to pass, in which the
// first moves 0.15 of its 1.25 GB. Then they share: the 1 GB of the second takes 2 s, up to 13.15
// s, and the first has 0.1 GB left, for itself: 13.25 s.
TEST(FoldedNetwork, LeapsOverTimeInWhichNothingChanges) {
  const auto times = isolated([] {
    OneLink link(0.25);
    FoldedNetwork& network = link.network();
    std::array<double, 3> seen{};
    network.send(0, 2e9, Seconds(0), &seen[0], nullptr);
    network.at(Seconds(0.9), [&] { network.send(0, 1e9, Seconds(0), &seen[1], nullptr); });
    network.at(Seconds(1), [&] { network.round_begins(); });
    network.at(Seconds(11), [&] { seen[2] = network.now().value(); });
    network.run([&] { network.leap(Seconds(10)); });
    return seen;
  });
  EXPECT_NEAR(times[0], 13.25, 1e-12);
  EXPECT_NEAR(times[1], 13.15, 1e-12);
  EXPECT_EQ(times[2], 11);  // a timer stays at its time
}

TEST(FoldedNetworkDeathTest, DoesNotLeapOverATimer) {
  OneLink link(0);
  link.network().at(Seconds(1), [] {});
  EXPECT_DEATH(link.network().leap(Seconds(1.5)), "next_timer");
}

}  // namespace
}  // namespace paceline::sim
