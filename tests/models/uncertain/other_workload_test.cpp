// Rows of another workload of the same machine, and of links that something else gives.

#include <gtest/gtest.h>

#include <cmath>

#include "models/uncertain/belief.h"
#include "models/uncertain/covariance.h"

namespace paceline::uncertain {
namespace {

Place two_nodes() {
  Place place;
  place.log2_ranks = 4;
  place.log2_gpus_per_node = 3;
  place.log2_nodes = 1;
  place.compute = 0.1;
  return place;
}

TEST(OtherWorkload, SharesLinksAndOverlapAndNotCompute) {
  const Priors& priors = known_priors();
  Place other = two_nodes();
  other.workload = 1;
  for (const Unknown quantity : {Unknown::compute, Unknown::wrapper}) {
    EXPECT_GT(covariance(priors, quantity, two_nodes(), two_nodes(), false), 0);
    EXPECT_EQ(covariance(priors, quantity, two_nodes(), other, false), 0);
    EXPECT_EQ(covariance(priors, quantity, other, other, false),
              covariance(priors, quantity, two_nodes(), two_nodes(), false));
  }
  for (const Unknown quantity : {Unknown::node_links, Unknown::network, Unknown::overlap}) {
    EXPECT_EQ(covariance(priors, quantity, two_nodes(), other, false),
              covariance(priors, quantity, two_nodes(), two_nodes(), false));
  }
}

TEST(OtherWorkload, HasNothingToSayOfLinksThatLogsGive) {
  const Priors& priors = known_priors();
  Place other = two_nodes();
  other.links = 1;
  for (const Unknown quantity : {Unknown::node_links, Unknown::network}) {
    EXPECT_EQ(covariance(priors, quantity, two_nodes(), other, false), 0);
  }
  EXPECT_GT(covariance(priors, Unknown::overlap, two_nodes(), other, false), 0);
}

// A step that is all network, 20 % longer than predicted. What is believed of the network before
// has variance s^2 (0.15 of its class and two nodes), what a row has by itself r^2: of one row with
// the identity for its response the best guess is log(1.2) * s^2 / (s^2 + r^2), whichever
// workload's.
TEST(OtherWorkload, MovesTheNetworkAsMuchAsOnesOwn) {
  const Priors& priors = known_priors();
  KnownRow row{{two_nodes()}, std::log(1.2), 0};
  const auto of_network = static_cast<std::size_t>(Unknown::network);
  row.response.curves[of_network] = Curve({{-1, -1}, {1, 1}});
  Response asked{two_nodes()};
  asked.curves[of_network] = Curve({{-1, -1}, {1, 1}});
  const Believed own = Belief(priors, {row}).of(asked);
  row.response.place.workload = 1;
  const Believed others = Belief(priors, {row}).of(asked);
  EXPECT_DOUBLE_EQ(others.values[of_network], own.values[of_network]);
  const double shared = covariance(priors, Unknown::network, two_nodes(), two_nodes(), false);
  const double all = covariance(priors, Unknown::network, two_nodes(), two_nodes(), true);
  EXPECT_NEAR(others.values[of_network], std::log(1.2) * shared / (all + priors.row * priors.row),
              1e-9);
  row.response.place.links = 1;
  EXPECT_EQ(Belief(priors, {row}).of(asked).values[of_network], 0);
}

}  // namespace
}  // namespace paceline::uncertain
