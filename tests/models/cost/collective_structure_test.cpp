#include "models/cost/collective_structure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

namespace paceline::cost {
namespace collective_structure_test {

using collectives::Collective;
using P = StructureParameters;

StructureParameters mean() { return structure_prior().mean; }

StructureParameters without_ramp() {
  StructureParameters parameters = mean();
  parameters[P::ramp] = -30;
  return parameters;
}

double us(const StructureParameters& parameters, Pattern pattern, const CollectiveShape& shape,
          std::uint64_t bytes) {
  return structural_time(parameters, pattern, shape, Bytes(bytes)).value() * 1e6;
}

// A size at which only latency counts, of a group whose LL is far the quickest. 8 GPUs on a node:
// 6.6 + 14 x 0.6 along the ring, 6.8 + 14 x 0.6 along the chain (facts B6: 15.0 and 15.2).
TEST(CollectiveStructure, HasNcclsLatenciesAtItsPriorsMean) {
  const CollectiveShape eight{Collective::all_reduce, 1, 8};
  EXPECT_NEAR(us(without_ramp(), Pattern::ring, eight, 8), 15.0, 0.01);
  EXPECT_NEAR(us(without_ramp(), Pattern::tree, eight, 8), 15.2, 0.01);
  // 8 nodes of 8: 6.6 + 14 x 2.7 + 112 x 0.6; 6.8 + 2 (7 x 0.6 + 3 x 5.0).
  const CollectiveShape many{Collective::all_reduce, 8, 8};
  EXPECT_NEAR(us(without_ramp(), Pattern::ring, many, 8), 6.6 + 14 * 2.7 + 112 * 0.6, 0.1);
  EXPECT_NEAR(us(without_ramp(), Pattern::tree, many, 8), 45.2, 0.1);
  // 8 nodes of 1: the tree's network latency along the ring too.
  EXPECT_NEAR(us(without_ramp(), Pattern::ring, {Collective::all_reduce, 8, 1}, 8), 76.6, 0.1);
}

// A buffer whose bytes take 58 us takes 58 us more; one of eight times the bytes 116. Two ranks on
// a link of 200 GB/s and no stall: 11.6 MB. (The quickest protocol is rounded off, by 6 % at most.)
TEST(CollectiveStructure, HasARamp) {
  StructureParameters ramp = mean(), none = without_ramp();
  ramp[P::ring_stall] = none[P::ring_stall] = 0;
  const CollectiveShape pair{Collective::all_reduce, 1, 2};
  for (const auto& [bytes, more] : {std::pair{11'600'000U, 58.0}, {92'800'000U, 116.0}}) {
    EXPECT_NEAR(us(ramp, Pattern::ring, pair, bytes) - us(none, Pattern::ring, pair, bytes), more,
                0.06 * more);
  }
}

// Simple, and a size at which only bandwidth counts: 2 (p - 1) / p of the buffer over each link,
// and the part of one more transfer of each pass that a ring stands still.
TEST(CollectiveStructure, HasTheRingsBandwidth) {
  StructureParameters parameters = mean();
  parameters[P::ring_stall] = 0.5;
  const double bytes = 4e12;
  const auto seconds = [&](Collective collective, std::uint32_t ranks) {
    return structural_time(parameters, Pattern::ring, {collective, 1, ranks}, Bytes(4000000000000))
               .value() /
           (bytes / local_unit);
  };
  // The protocols with less bandwidth make the smooth minimum a little less than Simple alone.
  EXPECT_NEAR(seconds(Collective::all_reduce, 2), 1.0 * (1 + 0.5 / 2), 0.05);
  EXPECT_NEAR(seconds(Collective::all_reduce, 8), 2.0 * 7 / 8 * (1 + 0.5 / 14), 0.07);
  EXPECT_NEAR(seconds(Collective::all_gather, 8), 7.0 / 8 * (1 + 0.5 / 7), 0.04);
  EXPECT_NEAR(seconds(Collective::broadcast, 8), 1.0, 0.04);
}

// A third of a machine's rings takes three times as long, in a node and between nodes.
TEST(CollectiveStructure, HasItsPartOfTheRings) {
  CollectiveShape three{Collective::all_reduce, 1, 3}, pair{Collective::all_reduce, 2, 1};
  const double node = us(mean(), Pattern::ring, three, 4'000'000'000'000);
  const double nodes = us(mean(), Pattern::ring, pair, 4'000'000'000'000);
  three.part.local = pair.part.remote = 1.0 / 3;
  EXPECT_NEAR(us(mean(), Pattern::ring, three, 4'000'000'000'000) / node, 3, 1e-3);
  EXPECT_NEAR(us(mean(), Pattern::ring, pair, 4'000'000'000'000) / nodes, 3, 1e-3);
  // What a log was fitted of is a question of ranks.
  EXPECT_EQ(three, (CollectiveShape{Collective::all_reduce, 1, 3}));
}

TEST(CollectiveStructure, IsBoundByTheScarcerLink) {
  StructureParameters parameters = mean();
  const CollectiveShape two_nodes{Collective::all_reduce, 2, 8};
  const double before = us(parameters, Pattern::ring, two_nodes, 1'000'000'000);
  parameters[P::local_bandwidth] = std::log(2.0);  // 200 GB/s beside 20 GB/s: no matter
  EXPECT_DOUBLE_EQ(us(parameters, Pattern::ring, two_nodes, 1'000'000'000), before);
  parameters[P::remote_bandwidth] = std::log(2.0);
  EXPECT_NEAR(us(parameters, Pattern::ring, two_nodes, 1'000'000'000), before / 2, before / 100);
}

TEST(CollectiveStructure, GrowsWithTheSize) {
  for (const Pattern pattern : {Pattern::ring, Pattern::tree}) {
    double before = 0;
    for (std::uint64_t bytes = 8; bytes < (1ULL << 34); bytes *= 2) {
      const double now = us(mean(), pattern, {Collective::all_reduce, 4, 8}, bytes);
      EXPECT_GT(now, before);
      before = now;
    }
  }
}

}  // namespace collective_structure_test
}  // namespace paceline::cost
