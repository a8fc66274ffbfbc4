#include <gtest/gtest.h>

#include "traces/formats/formats.h"

namespace paceline::traces {
namespace {

TEST(DeviceTraceFormats, FindTheRankInAFilesName) {
  EXPECT_EQ(rank_of_file_name("rank_0"), Rank(0));
  EXPECT_EQ(rank_of_file_name("/dumps/2/nccl_trace_rank_12.json"), Rank(12));
  EXPECT_EQ(rank_of_file_name("comm_lib_trace_rank_3"), Rank(3));
  EXPECT_EQ(rank_of_file_name("rank7.json"), Rank(7));
  EXPECT_EQ(rank_of_file_name("trace_5.json"), Rank(5));
  EXPECT_EQ(rank_of_file_name("dumps.tar:rank_1.json"), Rank(1));
}

TEST(DeviceTraceFormats, FindNoRankWhereAFilesNameHasNone) {
  EXPECT_EQ(rank_of_file_name(""), std::nullopt);
  EXPECT_EQ(rank_of_file_name("rank_4/dump.json"), std::nullopt);
  EXPECT_EQ(rank_of_file_name("rank_.json"), std::nullopt);
  EXPECT_EQ(rank_of_file_name("rank_65536"), std::nullopt);
  EXPECT_EQ(rank_of_file_name("rank_99999999999999999999"), std::nullopt);
}

}  // namespace
}  // namespace paceline::traces
