// `paceline collective --measure` with NCCL on devices that are not there.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/real/worker/programs/measured.h"

namespace paceline::test {
namespace {

using nlohmann::json;

Ended measured(std::vector<std::string> options, const std::string& fault) {
  std::vector<std::string> command{std::string(PACELINE_STAND_IN) + "/bin/paceline",
                                   "collective",
                                   "--measure",
                                   "--gpus",
                                   "2",
                                   "--timeout",
                                   "2s"};
  command.insert(command.end(), options.begin(), options.end());
  const Variables variables{{"PACELINE_STAND_IN_DEVICES", "2"}, {"PACELINE_STAND_IN_FAULT", fault}};
  return Program({command, variables}).end();
}

json rows(std::vector<std::string> options, const std::string& fault, int exit_code) {
  options.insert(options.end(),
                 {"--iterations", "3", "--min", "4KiB", "--max", "4KiB", "--json", "-"});
  const Ended ended = measured(std::move(options), fault);
  EXPECT_EQ(ended.exit_code, exit_code) << ended.err;
  return json::parse(ended.out).at("rows");
}

void expect_device_time(const json& way) {
  EXPECT_EQ(way.at("wrong_elements"), 0);
  EXPECT_GT(way.at("time_s"), 0);
  EXPECT_GT(way.at("device_s"), 0);
  EXPECT_GT(way.at("alone_s"), 0);
}

TEST(NcclCollective, HasBothWaysAndTheDevicesTime) {
  for (const char* collective :
       {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce"}) {
    const json row = rows({"--collective", collective}, "", 0).at(0);
    expect_device_time(row.at("out_of_place"));
    expect_device_time(row.at("in_place"));
  }
  for (const auto& [collective, way, other] : {std::tuple("all_to_all", "out_of_place", "in_place"),
                                               {"scatter", "in_place", "out_of_place"}}) {
    const json row = rows({"--collective", collective}, "", 0).at(0);
    expect_device_time(row.at(way));
    EXPECT_TRUE(row.at(other).is_null()) << collective;
  }
}

TEST(NcclCollective, SumsEveryType) {
  for (const char* type : {"half", "bfloat16", "double", "int32", "int64"}) {
    const json row = rows({"--type", type}, "", 0).at(0);
    expect_device_time(row.at("out_of_place"));
    expect_device_time(row.at("in_place"));
  }
}

TEST(NcclCollective, PrintsATable) {
  const Ended ended = measured({"--min", "8KiB", "--max", "8KiB", "--type", "bfloat16"}, "");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const std::string number = " +[0-9.]+";
  const std::string half = number + number + number + " +0";
  const std::regex row("\n +8192 +4096 +bfloat16 +sum +-1" + half + half + number + number +
                       number + number + "\n");
  EXPECT_TRUE(std::regex_search(ended.out, row)) << ended.out;
}

// Plans are messages, which take no device's time.
TEST(NcclCollective, RunsPlans) {
  const json row = rows({"--mode", "plan", "--algorithm", "recursive_doubling"}, "", 0).at(0);
  EXPECT_TRUE(row.at("out_of_place").is_null());
  EXPECT_EQ(row.at("in_place").at("wrong_elements"), 0);
  EXPECT_TRUE(row.at("in_place").at("device_s").is_null());
}

// The seventh sum is that of the call that is checked: three are timed and three waited for. It
// goes to both ranks.
TEST(NcclCollective, AWrongSumShows) {
  const json row = rows({"--warmup", "0"}, "nccl-sum:7@0", 1).at(0);
  EXPECT_EQ(row.at("out_of_place").at("wrong_elements"), 2);
  EXPECT_EQ(row.at("in_place").at("wrong_elements"), 0);
}

struct Fault {
  const char *name, *fault, *said;
};

std::ostream& operator<<(std::ostream& out, const Fault& one) { return out << one.name; }

class NcclCollectiveFails : public testing::TestWithParam<Fault> {};

TEST_P(NcclCollectiveFails, InOneLine) {
  const auto& [name, fault, said] = GetParam();
  const Ended ended = measured({"--max", "2KiB"}, fault);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(lines_of(ended.err).size(), 1U) << ended.err;
  EXPECT_NE(ended.err.find(said), std::string::npos) << ended.err;
}

INSTANTIATE_TEST_SUITE_P(
    StandIn, NcclCollectiveFails,
    testing::Values(
        Fault{"Peer", "nccl-async:9@1", "remote process exited or there was a network error"},
        Fault{"Clock", "elapsed:1@1", "nccl: rank 1: cudaEventElapsedTime: unknown error"},
        Fault{"Event", "event:10@1", "nccl: rank 1: cudaEventCreateWithFlags"}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace paceline::test
