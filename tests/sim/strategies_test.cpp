// Two-layer models whose steps are derived by hand, in all simulations.

#include <gtest/gtest.h>

#include "models/training/data_parallel.h"
#include "models/training/fsdp.h"
#include "tests/models/training/two_layers.h"
#include "tests/sim/executors.h"

namespace paceline::sim {
namespace {

using training::two_layers;

// Of 2 and 4 MB each call moves (p-1)/p: on two ranks 1 and 2 ms. Gather a 0-1, b 1-3; forward
// a 1-2, b 3-7; gather b again 3-5; backward b 7-13, a 13-14; scatter b 13-15, a 15-16; half the
// optimizer 16-17. On four ranks the calls take 1.5 and 3 ms: forward b 4.5-8.5, backward
// b 8.5-14.5, scatter b 14.5-17.5, a 17.5-19, a quarter of the optimizer.
TEST(Strategies, FsdpTakesItsTwoLayers) {
  expect_step(point_of(training::fsdp_strategy, two_layers(), {{}, {}, 2}), 17e-3);
  expect_step(point_of(training::fsdp_strategy, two_layers(), {{}, {}, 4}), 19.5e-3);
}

// Two nodes of two: within a node as on two ranks above, but that the shards of b, 2 MB, are
// reduced across nodes 15-17 and those of a, 1 MB, behind them 17-18; half the optimizer 18-19.
TEST(Strategies, FsdpShardsWithinNodesAndReducesAcross) {
  const training::Told hybrid{{{"sharding", std::uint64_t{1}}}, {}, 2, 2};
  expect_step(point_of(training::fsdp_strategy, two_layers(), hybrid), 19e-3);
}

// Eight samples of 1 MB in and 0.5 MB out on two ranks: scatter of half of them 4 ms; 6 MB of
// parameters 6; forward 5; gather 2; scatter 2; backward 7; reduction 6; optimizer 2.
//
// Sixteen samples on four ranks: scatter of three quarters 12; parameters along two levels of a
// tree 12; forward 5; gather 6; scatter 6; backward 7; reduction 12; optimizer 2.
TEST(Strategies, DataParallelTakesItsTwoLayers) {
  const auto step = [](std::uint32_t ranks) {
    return point_of(
        training::data_parallel_strategy, two_layers(),
        {{{"input_size", Bytes(1'000'000)}, {"output_size", Bytes(500'000)}}, {}, ranks});
  };
  expect_step(step(2), 34e-3);
  expect_step(step(4), 62e-3);
}

}  // namespace
}  // namespace paceline::sim
