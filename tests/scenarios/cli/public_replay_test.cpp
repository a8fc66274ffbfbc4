// Steps of public traces, replayed as they were. The traces are no part of the project: where their
// folder does not stand beside the checkout, nothing is tested.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace public_replay_test {

using nlohmann::json;

const std::filesystem::path public_traces =
    std::filesystem::path(PACELINE_SOURCE_DIR) / "../shared/data/traces";

class PublicReplay : public testing::TestWithParam<const char*> {};

// What of that must hold by the way a step is taken apart, and what need not: with one rank only
// that calls behind one another, and waits for them, come out as they were; with the eight of
// dlrm_kineto also that each rank's waiting does.
TEST_P(PublicReplay, TakesWhatTheStepTook) {
  const auto path = public_traces / GetParam();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Ended ended = paceline({"replay", path.string(), "--json", "-"}, Folder().path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json point = json::parse(ended.out)["points"].at(0);
  const double replayed = point["predicted"]["step_s"], traced = point["measured"]["step_s"];
  EXPECT_LT(std::abs(replayed / traced - 1), 0.01);
  EXPECT_GT(traced, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Traces, PublicReplay,
    testing::Values("hta/nccl_parser_config_nccl_data.json.gz",
                    "hta/ns_resolution_trace_rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
                    "hta/trace_diff_control_control.json.gz",
                    "hta/trace_filter_sampled_rank-0.json.gz",
                    "hta/trace_filter_sampled_rank-1.json.gz",
                    "hta/amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz", "param/dlrm_kineto",
                    "param/resnet_kineto.json.gz"));

// Clocks at which ranks end a collective together say when each began: the slowest of eight ranks'
// waiting is that of the trace, 20.82 ms from the first rank's start to the last one's end.
TEST(PublicStep, IsThatOfAllEightRanks) {
  const auto path = public_traces / "param/dlrm_kineto";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Ended ended = paceline({"replay", path.string(), "--json", "-"}, Folder().path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json point = json::parse(ended.out)["points"].at(0);
  EXPECT_EQ(point["gpus"], 8);
  EXPECT_NEAR(point["measured"]["step_s"], 20.82e-3, 0.01e-3);
}

}  // namespace public_replay_test
}  // namespace paceline::test
