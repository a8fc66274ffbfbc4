#include "sim/folded/call_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "models/cost/auto_choice.h"
#include "sim/folded/predicted_point.h"
#include "tests/sim/folded/drawn.h"

namespace paceline::sim {
namespace {

using training::CollectiveCall;

CollectiveCall all_reduce_by(const char* algorithm, std::uint64_t elements) {
  CollectiveCall call{collectives::Collective::all_reduce, ElementCount(elements), ElementSize(4)};
  call.how = training::SimulatedCall{algorithm};
  return call;
}

CallTime simulated_alone(const topology::Cluster& cluster, const CollectiveCall& call,
                         bool /*has_next*/ = true) {
  ResolvedPoint point;
  point.cluster = cluster;
  return {predict_folded(cost::alone(point, call)).totals.step, Seconds(0)};
}

// Latencies of 1 to 100 us and 1 to 50 GB/s.
CallDomain domain() {
  CallDomain made;
  made.simulate = simulated_alone;
  made.cluster.nodes = 2;
  made.cluster.gpus_per_node = 4;
  made.cluster.intra_node.bandwidth = BytesPerSecond(100e9);
  made.cluster.intra_node.latency = Seconds(2e-6);
  made.cluster.network.bandwidth = BytesPerSecond(10e9);
  made.cluster.network.latency = Seconds(5e-6);
  made.least = made.most = LinkNumbers::of(made.cluster);
  made.least.values[0] = 1e-6;
  made.most.values[0] = 100e-6;
  made.least.values[2] = 1 / 50e9;
  made.most.values[2] = 1 / 1e9;
  return made;
}

// Sizes of 2 to 60 MB.
TEST(CallForm, IsWhatASimulationHas) {
  const CallDomain links = domain();
  for (const char* algorithm : {"ring", "halving_doubling", "hierarchical", "direct"}) {
    double worst = 0;
    for (std::uint64_t size = 0; size < 6; ++size) {
      const auto call =
          all_reduce_by(algorithm, static_cast<std::uint64_t>(drawn(size, 5e5, 15e6)));
      CallForm form(links, call);
      for (std::uint64_t i = 0; i < 60; ++i) {
        LinkNumbers at = links.least;
        at.values[0] = drawn(1000 * size + 2 * i, 1e-6, 100e-6);
        at.values[2] = drawn(1000 * size + 2 * i + 1, 1 / 50e9, 1 / 1e9);
        topology::Cluster cluster = links.cluster;
        at.give_to(cluster);
        worst =
            std::max(worst, std::abs(form.at(at).time / simulated_alone(cluster, call).time - 1));
      }
      EXPECT_LT(form.simulated(), 60U) << algorithm;
    }
    EXPECT_LE(worst, 2 * CallForm::part_of_call) << algorithm;
    RecordProperty(algorithm, std::to_string(worst));
  }
}

// A call that a step computes long beside may be farther off: fewer places are looked at.
TEST(CallForm, IsAsNearAsTheComputeBesideAsksFor) {
  CallDomain links = domain();
  const CollectiveCall call = all_reduce_by("direct", 3'000'000);
  CallForm near(links, call);
  (void)near.at(links.least);
  links.beside = Seconds(1e-6);
  CallForm far(links, call);
  (void)far.at(links.least);
  EXPECT_LT(far.simulated(), near.simulated());
}

// Two are looked at in a row at both ends; where the second follows at once, nowhere else.
TEST(CallForm, LooksAtTwoInARowWhereTheFirstLeads) {
  for (const double part : {0.0, 0.5}) {
    CallDomain links = domain();
    std::size_t one = 0, two = 0;
    links.simulate = [&](const topology::Cluster& cluster, const CollectiveCall& call,
                         bool has_next) {
      ++(has_next ? two : one);
      const Seconds time = simulated_alone(cluster, call).time;
      return CallTime{time, has_next ? time * part : Seconds(0)};
    };
    CallForm form(links, all_reduce_by("ring", 3'000'000));
    const CallTime found = form.at(links.most);
    EXPECT_NEAR(found.lead / found.time, part, 0.01);
    EXPECT_EQ(two, part > 0 ? form.simulated() : 2U);
    EXPECT_EQ(one + two, form.simulated());
  }
}

// What all ranks wait for before their first message comes on top, whatever the links.
TEST(PlainCall, HasNoStartAndNoLastDigits) {
  CollectiveCall call = all_reduce_by("ring", 1'000'000);
  auto& wire = std::get<training::SimulatedCall>(call.how).wire;
  wire.start = Seconds(1e-3);
  wire.bytes = 1.25;
  CollectiveCall other = call;
  std::get<training::SimulatedCall>(other.how).wire.bytes = std::nextafter(1.25, 2.0);
  EXPECT_EQ(plain_call(call).start, Seconds(1e-3));
  EXPECT_NE(call, other);
  EXPECT_EQ(plain_call(call).call, plain_call(other).call);
}

}  // namespace
}  // namespace paceline::sim
