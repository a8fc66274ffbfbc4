#include "models/uncertain/covariance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/stats/normal.h"

namespace paceline::uncertain {
namespace {

Priors covariance_priors() {
  Priors priors;
  for (std::size_t links = 0; links < link_classes; ++links) {
    priors.links[links] = 0.1 * static_cast<double>(links + 1);
  }
  priors.boxes = 0.5;
  priors.wrapper = 0.02;
  priors.wrapper_by_doubling = 0.01;
  priors.links_by_doubling = 0.4;
  priors.links_of_row = 0.3;
  priors.cloud_of_row = 0.6;
  priors.overlap_fast = 0.1;
  priors.overlap_slow = 0.5;
  return priors;
}
const Priors of_tenths = covariance_priors();

double between(Unknown quantity, const Place& one, const Place& other) {
  return covariance(of_tenths, quantity, one, other, false);
}
double of_one(Unknown quantity, const Place& place) {
  return covariance(of_tenths, quantity, place, place, true);
}

TEST(Centre, IsOfCallsThroughTheHost) {
  Priors priors = of_tenths;
  priors.staged_links = 0.2;
  priors.staged_overlap = 0.1;
  Place place{.log2_ranks = 2, .node = LinkClass::pcie_staged};
  EXPECT_EQ(centre(priors, Unknown::node_links, place), 0.2);
  EXPECT_EQ(centre(priors, Unknown::overlap, place), 0.1);
  EXPECT_EQ(centre(priors, Unknown::network, place), 0);
  EXPECT_EQ(centres(priors, place)[static_cast<std::size_t>(Unknown::node_links)], 0.2);
  place.log2_nodes = 1;  // what hides behind the network is the network's
  EXPECT_EQ(centre(priors, Unknown::node_links, place), 0.2);
  EXPECT_EQ(centre(priors, Unknown::overlap, place), 0);
  place.node = LinkClass::pcie_peers;
  EXPECT_EQ(centre(priors, Unknown::node_links, place), 0);
  EXPECT_EQ(centre(priors, Unknown::node_links, {.node = LinkClass::pcie_staged}), 0);
}

TEST(Covariance, OfComputeIsOfHowSureBothAre) {
  EXPECT_DOUBLE_EQ(between(Unknown::compute, {.compute = 0.2}, {.compute = 0.3}), 0.04);
  EXPECT_EQ(between(Unknown::compute, {.compute = 0.2}, {.compute = 0.2, .computes = "other"}), 0);
  EXPECT_DOUBLE_EQ(of_one(Unknown::compute, {.compute = 0.2}), 0.04);
}

// 2 % squared, and 1 % squared for each doubling of ranks that both have.
TEST(Covariance, OfTheWrapperGrowsWithTheDoublingsThatBothHave) {
  const Place two{.log2_ranks = 1}, eight{.log2_ranks = 3};
  EXPECT_DOUBLE_EQ(of_one(Unknown::wrapper, two), 0.0004 + 0.0001);
  EXPECT_DOUBLE_EQ(of_one(Unknown::wrapper, eight), 0.0004 + 0.0003);
  EXPECT_DOUBLE_EQ(between(Unknown::wrapper, two, eight), 0.0004 + 0.0001);
}

// RDMA is the fourth class. Two nodes have no doubling beyond two, eight have two; a row by itself
// has 0.3 of the class, squared.
TEST(Covariance, OfLinksIsTheirClassesAndDoublingsAndRows) {
  const Place two{.log2_nodes = 1}, eight{.log2_nodes = 3};
  EXPECT_DOUBLE_EQ(between(Unknown::network, two, eight), 0.16);
  EXPECT_DOUBLE_EQ(of_one(Unknown::network, two), 0.16 * 1.09);
  EXPECT_DOUBLE_EQ(between(Unknown::network, eight, eight), 0.16 * (1 + 2 * 0.16));
  EXPECT_DOUBLE_EQ(of_one(Unknown::network, eight), 0.16 * (1 + 2 * 0.16 + 0.09));
  const Place node_of_two{.log2_gpus_per_node = 1}, node_of_eight{.log2_gpus_per_node = 3};
  EXPECT_DOUBLE_EQ(between(Unknown::node_links, node_of_two, node_of_eight), 0.01);
  EXPECT_DOUBLE_EQ(of_one(Unknown::node_links, node_of_eight), 0.01 * (1 + 2 * 0.16 + 0.09));
}

// Of virtual machines, and of hosts that may be such, a row scatters by 0.6.
TEST(Covariance, OfRowsOfVirtualMachinesIsTheirOwn) {
  const Place own{.network = LinkClass::tcp_own}, cloud{.network = LinkClass::tcp_virtual},
      unknown{.network = LinkClass::tcp_unknown};
  EXPECT_DOUBLE_EQ(of_one(Unknown::network, own), 0.36 * 1.09);
  EXPECT_DOUBLE_EQ(of_one(Unknown::network, cloud), 0.49 * 1.36);
  EXPECT_DOUBLE_EQ(of_one(Unknown::network, unknown), 0.64 * 1.36);
}

// A preset's nine tenths are within a factor of 4: 1.645 deviations are log 4, times 0.5.
TEST(Covariance, OfAPresetsBoxesIsOfTheirSpread) {
  const Place box{.node = LinkClass::pcie_staged, .box = std::log(4.0)};
  const double deviation = 0.5 * std::log(4.0) / stats::normal_90;
  EXPECT_DOUBLE_EQ(of_one(Unknown::node_links, box), deviation * deviation * 1.09);
}

TEST(Covariance, OfOverlapIsByWhatItHidesBehind) {
  const Place fast, slow{.hides_behind_slow = true};
  EXPECT_DOUBLE_EQ(of_one(Unknown::overlap, fast), 0.01 * 1.09);
  EXPECT_DOUBLE_EQ(of_one(Unknown::overlap, slow), 0.25 * 1.09);
  EXPECT_DOUBLE_EQ(between(Unknown::overlap, fast, slow), 0.01);
}

// Slopes of 1 up to 0.5 and of 3 beyond, of 2 below: chords of 1.3 deviations, from 0.03 to 1.2.
TEST(Slopes, AreChordsByTheDeviation) {
  Response response;
  response.curves[static_cast<std::size_t>(Unknown::network)] =
      Curve({{-1, -2}, {0.5, 0.5}, {1, 2}});
  const auto at = [&](double value, double deviation) {
    return slopes_at(response, Unknown::network, value, deviation);
  };
  EXPECT_NEAR(at(0, 0).up, 1, 1e-12);
  EXPECT_NEAR(at(0, 0).down, 2, 1e-12);
  EXPECT_NEAR(at(0, 0).mean(), 1.5, 1e-12);
  EXPECT_NEAR(at(0, 0.2).up, 1, 1e-12);                            // to 0.26
  EXPECT_NEAR(at(0, 10).up, (0.5 + 0.7 * 3) / 1.2, 1e-12);         // to 1.2
  EXPECT_NEAR(at(0.5, 0.5).up, 3, 1e-12);                          // 0.5 to 1.15
  EXPECT_NEAR(at(0.5, 0.5).down, (0.5 + 0.15 * 2) / 0.65, 1e-12);  // -0.15 to 0.5
}

}  // namespace
}  // namespace paceline::uncertain
