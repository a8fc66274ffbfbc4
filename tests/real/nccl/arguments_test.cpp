#include "real/nccl/arguments.h"

#include <gtest/gtest.h>

#include <set>

namespace paceline::test {
namespace {

using namespace real::nccl;

TEST(NcclArguments, FindsTwoRanksOnOneDevice) {
  EXPECT_FALSE(find_shared_device({}));
  EXPECT_FALSE(find_shared_device({"a 0", "a 1", "b 0"}));
  const auto shared = find_shared_device({"a 0", "a 1", "b 0", "a 1"});
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->first, Rank(1));
  EXPECT_EQ(shared->second, Rank(3));
}

// As NCCL's own hash of the host does.
TEST(NcclArguments, TakesTheGivenHostForTheMachine) {
  EXPECT_EQ(place_of("boot", {}, "0:1"), place_of("boot", {}, "0:1"));
  EXPECT_NE(place_of("boot", {}, "0:1"), place_of("boot", {}, "0:2"));
  EXPECT_NE(place_of("boot", {}, "0:1"), place_of("other", {}, "0:1"));
  EXPECT_NE(place_of("boot", "0", "0:1"), place_of("boot", "1", "0:1"));
  EXPECT_EQ(place_of("boot", "", "0:1"), place_of("other", "", "0:1"));
}

// Successive calls 6 and 7 of four channels: eight streams, eight lanes.
TEST(NcclArguments, KeepsSuccessiveCallsAndTheirChannelsOnDifferentLanes) {
  std::set<std::size_t> used;
  for (real::Stream call = 6; call <= 7; ++call) {
    for (real::Stream channel = 0; channel < lane_channels; ++channel) {
      const auto lane = lane_of(call * real::streams_a_call + channel);
      ASSERT_TRUE(lane);
      EXPECT_LT(*lane, lanes);
      used.insert(*lane);
    }
  }
  EXPECT_EQ(used.size(), lanes);
  EXPECT_FALSE(lane_of(lane_channels));
}

}  // namespace
}  // namespace paceline::test
