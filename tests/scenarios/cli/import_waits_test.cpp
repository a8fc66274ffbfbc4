// `paceline import` of what tells of waits and hangs, through the built program.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace import_waits_test {

using nlohmann::json;

const std::string fixtures = PACELINE_SOURCE_DIR "/tests/fixtures/";

// Dumps of ranks 0 and 1 of 3. Rank 0 waits in its third all-reduce of all ranks, and has called a
// fourth; rank 1 has called two. On the device they took 12 and 5 ms, then 10 and 6.
TEST(ImportFlightRecorder, SaysFirstWhichRankHadNotCome) {
  const Ended ended =
      paceline({"import", "rank_0.json", "rank_1.json"}, fixtures + "flight_recorder");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(ended.out.starts_with(
      "not ended when the files were written:\n"
      "  rank 1 had not come to all_reduce 3 of 1000 elements in group 0 default_pg (ranks 0, 1, "
      "2), where rank 0 waited\n"
      "  behind it 1 more of the group was called and not ended\n"
      "  give the files of rank 2, too: they may be what is waited for\n"))
      << ended.out;
}

TEST(ImportFlightRecorder, PartsWaitingFromTransferByLengths) {
  const Ended ended = paceline({"import", "rank_1.json", "rank_0.json", "--json", "-"},
                               fixtures + "flight_recorder");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json all = json::parse(ended.out);
  EXPECT_EQ(all["traces"][1]["rank"], 1);
  ASSERT_EQ(all["matched"].size(), 3U);
  EXPECT_NEAR(all["matched"][0]["transfer_s"], 5e-3, 1e-12);
  EXPECT_NEAR(all["matched"][0]["skew_s"], 7e-3, 1e-12);
  EXPECT_NEAR(all["matched"][0]["ranks"][1]["late_s"], 7e-3, 1e-12);
  EXPECT_NEAR(all["matched"][1]["skew_s"], 4e-3, 1e-12);
  EXPECT_EQ(all["unfinished"][0]["lacking_traces"], json::array({1}));
  EXPECT_EQ(all["unfinished"][0]["ranks_not_given"], json::array({2}));
  // Rank 1 called them 7 and 4 ms behind rank 0, and 1 ms before it.
  ASSERT_EQ(all["called_late"].size(), 2U);
  EXPECT_EQ(all["called_late"][1]["was_last"], 2);
  EXPECT_NEAR(all["called_late"][1]["behind_median_s"], 4e-3, 1e-12);
}

TEST(ImportFlightRecorder, TellsHowToReadAPickle) {
  const Folder folder;
  folder.write("nccl_trace_rank_0",
               std::string("\x80\x02}(X\x09\x00\x00\x00pg_config}X\x07\x00\x00\x00version", 31));
  const Ended ended = paceline({"import", "nccl_trace_rank_0"}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("nccl_trace_rank_0: is a pickle of PyTorch's flight recorder"),
            std::string::npos)
      << ended.err;
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1);
}

TEST(ImportHorovodTimeline, PrintsWhatTheEngineDidAndItsKeys) {
  const Ended ended = paceline({"import", "release_0_19.json"}, fixtures + "horovod_timeline");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(ended.out.starts_with("release_0_19.json: Horovod's timeline of 3 ranks\n"))
      << ended.out;
  EXPECT_NE(ended.out.find("\n  training.cycle_time: 5ms\n"), std::string::npos) << ended.out;
}

}  // namespace import_waits_test
}  // namespace paceline::test
