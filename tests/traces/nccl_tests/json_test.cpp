#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/traces/collective_log/fixture.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using nlohmann::json;
using test::error_of;
using test::fixture;
using test::only_log;
using test::skipped_why;
using test::times_us;
using Times = std::vector<double>;

json report() { return json::parse(fixture("report.json")); }

// The report with one result, of 1 MiB in 50 us at 20.97152 GB/s in both halves, but for `change`.
template <class Change>
CollectiveLog with_half(const Change& change) {
  json in = report();
  json half{{"time", 50}, {"alg_bw", 20.97152}, {"bus_bw", 36.70016}, {"nwrong", 0}};
  json result = in["results"][0];
  result["out_of_place"] = result["in_place"] = half;
  change(result["in_place"]);
  in["results"] = json::array({result});
  return only_log(in.dump());
}

TEST(NcclTestsJson, HasSizesTimesAndTheGroup) {
  const auto log = only_log(fixture("report.json"));
  EXPECT_EQ(log.collective, Collective::all_reduce);  // not the program in -J's file name
  EXPECT_EQ(log.ranks, 8U);                           // two processes with four GPUs each
  EXPECT_EQ(log.nodes, 2U);
  EXPECT_EQ(log.release, "2.28.9");
  EXPECT_EQ(log.devices, std::set<std::string>{"NVIDIA A100-SXM4-40GB"});
  EXPECT_TRUE(log.skipped.empty());
  ASSERT_EQ(log.rows.size(), 3U);
  EXPECT_EQ(log.rows[1].line, 2U);
  EXPECT_EQ(log.rows[1].size, Bytes(8388608));
  EXPECT_EQ(times_us(log.rows[1]), (Times{160.25, 158.75}));
  EXPECT_EQ(times_us(log.rows[2]), Times{700.5});
}

// 29.360128 / 16.777216 = 1.75 = 2 * 7/8.
TEST(NcclTestsJson, TellsTheCollectiveByItsBandwidthsWhereNoProgramIsNamed) {
  json in = report();
  in.erase("args");
  EXPECT_EQ(only_log(in.dump()).collective, Collective::all_reduce);
  in["args"] = {"./sendrecv_perf"};
  EXPECT_FALSE(only_log(in.dump()).collective);
}

TEST(NcclTestsJson, SkipsResultsThatAreNoMeasurementAndSaysWhy) {
  EXPECT_EQ(times_us(with_half([](json&) {}).rows.at(0)), (Times{50, 50}));
  const auto why = [](const char* key, const json& value) {
    return skipped_why(with_half([&](json& half) { half[key] = value; }));
  };
  EXPECT_EQ(why("time", "nan"), "has no time");
  EXPECT_EQ(why("time", 0), "a time of 0 us");
  EXPECT_EQ(why("time", -3.5), "a time of -3.5 us");
  EXPECT_EQ(why("nwrong", 7), "its results are wrong: 7");
  EXPECT_EQ(why("nwrong", "nan"), "its results are wrong");
  EXPECT_EQ(why("alg_bw", 2), "algbw is 2 GB/s where size and time give 20.97");
  EXPECT_EQ(why("alg_bw", "nan"), "has no bandwidths");
  EXPECT_EQ(why("cpu_time", 4.5), "the time of the CPU's call, not of the collective");
  EXPECT_EQ(skipped_why(with_half([](json& half) { half = 3; })), "has no time");
  EXPECT_EQ(with_half([](json& half) { half["nwrong"] = nullptr; }).rows.size(), 1U);
}

TEST(NcclTestsJson, SkipsResultsWithoutASize) {
  for (const json& size : {json(), json(-8), json("8"), json(8.5), json(~std::uint64_t{0})}) {
    json in = report();
    in["results"][1]["size"] = size;
    const auto log = only_log(in.dump());
    EXPECT_EQ(log.rows.size(), 2U);
    ASSERT_EQ(log.skipped.size(), 1U);
    EXPECT_EQ(log.skipped[0].line, 2U);
    EXPECT_EQ(log.skipped[0].why, "has no size");
  }
}

TEST(NcclTestsJson, WithoutResultsIsAnError) {
  for (const json& results : {json(), json::array(), json("many"), json::object()}) {
    json in = report();
    in["results"] = results;
    EXPECT_STREQ(error_of(in.dump()).what(), "has no results");
  }
  json in = report();
  for (json& result : in["results"]) result["size"] = 0;
  EXPECT_STREQ(error_of(in.dump()).what(), "has no results");
}

TEST(NcclTestsJson, ThatBreaksOffIsAnErrorThatNamesTheLine) {
  const std::string text = fixture("report.json");
  EXPECT_EQ(error_of(text.substr(0, text.find("\"results\"") + 11)).line(), 6U);
}

// Everywhere in the tree: what a program with another idea of the format may write.
void replace_each(json& in, json& at, int& replaced) {
  const json before = at;
  for (const json& value : {json(), json(true), json(-1), json(1e300), json(~std::uint64_t{0}),
                            json("nan"), json::array({1}), json::object({{"a", 1}})}) {
    at = value;
    ++replaced;
    try {
      (void)read_collective_logs(in.dump());
    } catch (const FormatError&) {
    }
  }
  at = before;
  if (!at.is_structured()) return;
  for (json& part : at) replace_each(in, part, replaced);
}

TEST(NcclTestsJson, WithWrongTypesAnywhereIsTablesOrAFormatError) {
  json in = report();
  int replaced = 0;
  for (json& part : in) replace_each(in, part, replaced);
  EXPECT_GT(replaced, 500);
}

TEST(NcclTestsJson, WithNumbersBeyondAllBoundsIsAnError) {
  std::string text = fixture("report.json");
  text.replace(text.find("62.500000"), 9, "1e99999");
  EXPECT_NE(std::string(error_of(text).what()).find("beyond all bounds"), std::string::npos);
}

TEST(NcclTestsJson, NestedDeeplyIsRefused) {
  constexpr std::size_t deep = 1'000'000;
  std::string text = fixture("report.json");
  text.replace(text.find("\"version\":2"), 11,
               "\"version\":" + std::string(deep, '[') + std::string(deep, ']'));
  EXPECT_STREQ(error_of(text).what(), "is nested too deeply");
}

// Then the rows do: 1.75 is 2 * 7/8.
TEST(NcclTestsJson, TellsNoNodesWhereDevicesContradictEachOther) {
  const auto told = [](const char* key, const json& value) {
    json in = report();
    in["config"]["devices"][1][key] = value;
    const auto log = only_log(in.dump());
    return std::pair(log.ranks, log.nodes);
  };
  using Told = std::pair<std::uint32_t, std::uint32_t>;
  EXPECT_EQ(told("rank", 4), Told(8, 2));
  EXPECT_EQ(told("rank", 0), Told(8, 0));  // on another host
  EXPECT_EQ(told("rank", -1), Told(8, 0));
  EXPECT_EQ(told("rank", 4000000000U), Told(8, 0));
  EXPECT_EQ(told("group", 1), Told(8, 0));  // two groups beside each other
  json in = report();
  in["config"]["ngpus"] = in["config"]["nthreads"] = ~std::uint64_t{0};
  EXPECT_EQ(only_log(in.dump()).nodes, 0U);
}

}  // namespace
}  // namespace paceline::traces
