#include "models/folding/call_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "models/cost/auto_choice.h"
#include "models/folding/predicted_point.h"
#include "models/stats/mixed.h"

namespace paceline::folding {
namespace {

using training::CollectiveCall;

// From `least` to `most`, evenly in its logarithm.
double drawn(std::uint64_t number, double least, double most) {
  const double part = static_cast<double>(stats::mixed(number) >> 11) * 0x1.0p-53;
  return least * std::pow(most / least, part);
}

// 10 + 2 x, 3 x + y and 40 y / 3: which one is the largest changes where two of them meet.
TEST(LongestPath, FindsTheLargestOfLinearFunctions) {
  std::size_t asked = 0;
  const auto value = [&](const LongestPath::Place& place) {
    ++asked;
    const double x = place[0], y = place[1];
    return std::max({10 + 2 * x, 3 * x + y, 40 * y / 3});
  };
  LongestPath path({1, 1}, {1000, 1000});
  double worst = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const LongestPath::Place place{drawn(2 * i, 1, 1000), drawn(2 * i + 1, 1, 1000)};
    const double found = path.at(place, value);
    const std::size_t so_far = asked;
    worst = std::max(worst, std::abs(found / value(place) - 1));
    asked = so_far;
  }
  EXPECT_LE(worst, LongestPath::right_within);
  EXPECT_LT(asked, 500U);
}

TEST(LongestPath, OfNoNumbersIsAskedForOnce) {
  LongestPath path({}, {});
  const auto value = [](const LongestPath::Place&) { return 7.0; };
  EXPECT_DOUBLE_EQ(path.at({}, value), 7);
}

topology::Cluster two_nodes_of_four() {
  topology::Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 4;
  cluster.intra_node.bandwidth = BytesPerSecond(100e9);
  cluster.intra_node.latency = Seconds(2e-6);
  cluster.network.bandwidth = BytesPerSecond(10e9);
  cluster.network.latency = Seconds(5e-6);
  return cluster;
}

CollectiveCall all_reduce(const char* algorithm, std::uint64_t elements) {
  CollectiveCall call{collectives::Collective::all_reduce, ElementCount(elements), ElementSize(4)};
  call.how = training::SimulatedCall{algorithm};
  return call;
}

CallForms::Predicted simulated(const topology::Cluster& cluster, const CollectiveCall& call) {
  ResolvedPoint point;
  point.cluster = cluster;
  return {predict_here(cost::alone(point, call)).totals.step, Seconds(0)};
}

// Latencies of 1 to 100 us and 1 to 50 GB/s, sizes of 2 to 60 MB.
TEST(CallForms, AreWhatASimulationHas) {
  LinkNumbers least = LinkNumbers::of(two_nodes_of_four()), most = least;
  least.values[0] = 1e-6;
  most.values[0] = 100e-6;
  least.values[2] = 1 / 50e9;
  most.values[2] = 1 / 1e9;
  for (const char* algorithm : {"ring", "halving_doubling", "hierarchical", "direct"}) {
    CallForms forms(two_nodes_of_four(), least, most, simulated);
    double worst = 0;
    constexpr std::uint64_t places = 200;
    for (std::uint64_t i = 0; i < places; ++i) {
      LinkNumbers at = least;
      at.values[0] = drawn(3 * i, 1e-6, 100e-6);
      at.values[2] = drawn(3 * i + 1, 1 / 50e9, 1 / 1e9);
      const auto call =
          all_reduce(algorithm, static_cast<std::uint64_t>(drawn(3 * i + 2, 5e5, 15e6)));
      topology::Cluster cluster = two_nodes_of_four();
      at.give_to(cluster);
      const Seconds found = forms.time(call, at).time;
      worst = std::max(worst, std::abs(found / simulated(cluster, call).time - 1));
    }
    EXPECT_LE(worst, 0.005) << algorithm;
    EXPECT_LT(forms.simulated(), 3 * places) << algorithm;
    RecordProperty(algorithm, std::to_string(worst));
  }
}

// What all ranks wait for before their first message is added, whatever the links.
TEST(CallForms, AddTheStartOfACall) {
  const LinkNumbers numbers = LinkNumbers::of(two_nodes_of_four());
  CallForms forms(two_nodes_of_four(), numbers, numbers, simulated);
  CollectiveCall call = all_reduce("ring", 1'000'000);
  const Seconds without = forms.time(call, numbers).time;
  std::get<training::SimulatedCall>(call.how).wire.start = Seconds(1e-3);
  const std::uint64_t simulated_before = forms.simulated();
  EXPECT_NEAR((forms.time(call, numbers).time - without).value(), 1e-3, 1e-12);
  EXPECT_EQ(forms.simulated(), simulated_before);
}

}  // namespace
}  // namespace paceline::folding
