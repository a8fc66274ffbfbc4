
#include <gtest/gtest.h>

#include "models/training/ddp.h"
#include "models/training/strategies.h"
#include "sim/folded/predicted_point.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using collectives::Collective;

// 5 to the first of three ranks, 4 and 3 to the others, a 3 to the third's 3, 2 to the second's 4.
TEST(ZeroRedundancy, GivesTheLargestToTheRankThatHasTheFewest) {
  const auto workload =
      workload_of({layer_of("a", 1, 1, 3), layer_of("b", 1, 1, 5), layer_of("c", 1, 1, 2),
                   layer_of("d", 1, 1, 4), layer_of("e", 1, 1, 3)});
  const auto tensors = gradient_tensors(workload);
  EXPECT_EQ(partition_parameters(tensors, RankCount(3)),
            (std::vector<Bucket>{{1}, {3, 2}, {0, 4}}));
  EXPECT_EQ(partition_parameters(tensors, RankCount(6)),
            (std::vector<Bucket>{{1}, {3}, {0}, {4}, {2}, {}}));
}

std::vector<Call> broadcasts(bool are_views, std::uint32_t ranks) {
  auto workload =
      workload_of({layer_of("a", 1, 1, 3), layer_of("b", 1, 1, 5), layer_of("c", 1, 1, 2)});
  return calls_of(
      build(ddp_strategy, workload,
            {{{"zero_redundancy_optimizer", true}, {"parameters_as_bucket_view", are_views}},
             {},
             ranks}),
      Collective::broadcast);
}

std::vector<std::uint64_t> counts_of(const std::vector<Call>& calls) {
  std::vector<std::uint64_t> counts;
  for (const Call& call : calls) counts.push_back(call.count);
  return counts;
}

TEST(ZeroRedundancy, SendsParametersOrTheBucketOfEachRank) {
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(counts_of(broadcasts(false, 2)), (Counts{5, 3, 2}));
  EXPECT_EQ(counts_of(broadcasts(true, 2)), (Counts{5, 5}));
  EXPECT_EQ(counts_of(broadcasts(true, 4)), (Counts{5, 3, 2}));  // one has none
}

// On two ranks as without it until 17 ms: b is reduced 11-15, a 15-17. One of them owns b, two
// thirds of the parameters: of the optimizer's 2 ms 4/3. Then b 4 ms and a 2.
TEST(ZeroRedundancy, TakesItsTwoLayers) {
  const auto point =
      point_of(ddp_strategy, two_layers(), {{{"zero_redundancy_optimizer", true}}, {}, 2});
  EXPECT_NEAR(sim::predict_folded(point).totals.step.value() * 1e3, 17 + 4.0 / 3 + 6, 1e-9);
}

}  // namespace
}  // namespace paceline::training
