#include "models/uncertain/learn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <string>

namespace paceline::uncertain {
namespace {

using Numbers = std::vector<std::size_t>;

constexpr auto rdma = static_cast<std::size_t>(LinkClass::rdma);

Response of_network_alone() {
  Response response{{.log2_ranks = 1, .log2_nodes = 1}};
  response.curves[static_cast<std::size_t>(Unknown::network)] = Curve({{-1, -1}, {1, 1}});
  return response;
}

Priors of_two_scales(double links, double row) {
  Priors priors;
  priors.links[rdma] = links;
  priors.row = row;
  return priors;
}

// Student's density with 4 degrees is 3/8 / scale (1 + x^2 / 4)^-5/2, x in scales.
double surprise_by_hand(double measured, double scale) {
  const double x = measured / scale;
  return -std::log(3.0 / 8) + std::log(scale) + 2.5 * std::log1p(x * x / 4);
}

// Links 0.3 and rows 0.4 apart: scales of 0.5.
TEST(Surprise, IsStudentsDensityOfOneRow) {
  for (const double measured : {0.0, 0.2, -1.5}) {
    const Sources one{{"a", {{{of_network_alone(), measured}}}}};
    EXPECT_NEAR(surprise_of(of_two_scales(0.3, 0.4), one), surprise_by_hand(measured, 0.5), 1e-12);
  }
}

// Machines of a source count by their rows, sources alike.
TEST(Surprise, IsAMeanOverSourcesOfTheirMeanOverRows) {
  const auto row = [](double measured) { return Rows{{of_network_alone(), measured}}; };
  const Sources two{{"a", {row(0.1), row(0.7), {}}}, {"b", {row(-0.4)}}};
  const double a = (surprise_by_hand(0.1, 0.5) + surprise_by_hand(0.7, 0.5)) / 2;
  EXPECT_NEAR(surprise_of(of_two_scales(0.3, 0.4), two), (a + surprise_by_hand(-0.4, 0.5)) / 2,
              1e-12);
}

// Of two rows of one machine with variances 0.25 that share 0.09: a determinant of 0.25^2 - 0.09^2,
// and of a mean m and a half difference d the square 2 m^2 / 0.34 + 2 d^2 / 0.16. The density in
// two dimensions is Gamma(3) / Gamma(2) / (4 pi sqrt(det)) (1 + square / 4)^-3.
TEST(Surprise, IsTheJointDensityOfRowsOfOneMachine) {
  const Sources one{{"a", {{{of_network_alone(), 0.5}, {of_network_alone(), 0.1}}}}};
  const double square = 2 * 0.3 * 0.3 / 0.34 + 2 * 0.2 * 0.2 / 0.16;
  const double joint = -std::log(2 / (4 * std::numbers::pi)) +
                       0.5 * std::log(0.25 * 0.25 - 0.09 * 0.09) + 3 * std::log1p(square / 4);
  EXPECT_NEAR(surprise_of(of_two_scales(0.3, 0.4), one), joint / 2, 1e-12);
}

// Normal draws by Box and Muller's rule: the same on every machine, unlike the library's.
class Draws {
 public:
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  // Of Student's distribution with 4 degrees what a normal value is divided by: four squares' mean.
  double student_divisor() {
    double squares = 0;
    for (int i = 0; i < 4; ++i) squares += std::pow(normal(), 2);
    return std::sqrt(squares / 4);
  }

 private:
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
  std::mt19937_64 random_{7};
};

// 300 sources with two rows of a machine whose links lie `scale` apart. A scale of so many is known
// within 1 / sqrt(300 x 8/7), 5 %, the search goes by steps of 1.2, and the pull to the 0.15 of
// before is 0.06 log 3 of a scale's logarithm where that is three times off, a tenth of it.
Sources drawn_with(double scale) {
  Draws draws;
  Sources sources;
  for (int source = 0; source < 300; ++source) {
    const double divisor = draws.student_divisor();
    const double links = scale * draws.normal();
    Rows rows;
    for (int i = 0; i < 2; ++i) {
      rows.push_back({of_network_alone(), (links + 0.0133 * draws.normal()) / divisor});
    }
    sources[std::to_string(source)] = {rows};
  }
  return sources;
}

// The mean of 300 boxes that lie 0.2 apart is known within 0.012; steps of the search are 0.036.
TEST(Learnt, FindsTheCentreThatSourcesWereDrawnAround) {
  Sources sources = drawn_with(0.2);
  for (auto& [source, groups] : sources) {
    for (KnownRow& row : groups.front()) {
      row.response = response_of_itself(
          {.log2_ranks = 1, .log2_gpus_per_node = 1, .node = LinkClass::pcie_staged},
          Unknown::node_links);
      row.measured += 0.3;
    }
  }
  EXPECT_NEAR(learnt(sources, priors_before()).staged_links, 0.3, 0.05);
}

TEST(Learnt, FindsTheScaleThatSourcesWereDrawnWith) {
  for (const double scale : {0.1, 0.27, 0.5}) {
    Priors start = priors_before();
    start.links_of_row = 1e-3;  // the rows of a machine are alike
    const Priors found = learnt(drawn_with(scale), start);
    EXPECT_NEAR(found.links[rdma] / scale, 1, 0.2) << scale;
    EXPECT_LE(surprise_of(found, drawn_with(scale)), surprise_of(start, drawn_with(scale)));
  }
}

TEST(Learnt, LeavesWhatNoSourceHasRowsOf) {
  Priors found = learnt(drawn_with(0.27), priors_before()), before = priors_before();
  for (const LinkClass links : {LinkClass::nvlink, LinkClass::pcie_staged, LinkClass::efa}) {
    const auto number = static_cast<std::size_t>(links);
    EXPECT_EQ(found.links[number], before.links[number]);
  }
  EXPECT_EQ(found.overlap_slow, before.overlap_slow);
  EXPECT_EQ(found.boxes, before.boxes);
}

Place of(double log2_ranks, double log2_nodes) {
  return {.log2_ranks = log2_ranks, .log2_nodes = log2_nodes};
}

TEST(SmallestRows, AreTheFewestGpusAndTheNextOnMoreNodes) {
  // 16 on 2 nodes, 8 on 1, 4 on 1, 8 on 2.
  const std::vector<Place> places{of(4, 1), of(3, 0), of(2, 0), of(3, 1)};
  EXPECT_EQ(smallest_rows(places, 0), Numbers{});
  EXPECT_EQ(smallest_rows(places, 1), Numbers{2});
  EXPECT_EQ(smallest_rows(places, 2), (Numbers{2, 3}));
}

TEST(SmallestRows, AreOnAsManyNodesWhereThereAreNoMore) {
  EXPECT_EQ(smallest_rows(std::vector{of(3, 0), of(1, 0), of(2, 0)}, 2), (Numbers{1, 2}));
  // As many GPUs on more nodes are no next number of GPUs.
  EXPECT_EQ(smallest_rows(std::vector{of(2, 0), of(2, 1), of(3, 0)}, 2), (Numbers{0, 2}));
}

TEST(SmallestRows, AreTheFirstOfThoseAlike) {
  EXPECT_EQ(smallest_rows(std::vector{of(3, 1), of(2, 1), of(2, 1)}, 1), Numbers{1});
  EXPECT_EQ(smallest_rows(std::vector{of(2, 1), of(2, 1), of(2, 1)}, 2), (Numbers{0, 1}));
}

TEST(SmallestRows, LeaveSomethingToPredict) {
  EXPECT_EQ(smallest_rows(std::vector{of(1, 0)}, 1), Numbers{});
  EXPECT_EQ(smallest_rows(std::vector{of(1, 0), of(2, 0)}, 2), Numbers{});
  EXPECT_EQ(smallest_rows({}, 0), Numbers{});
  EXPECT_DEATH((void)smallest_rows({}, 3), "contract broken");
}

}  // namespace
}  // namespace paceline::uncertain
