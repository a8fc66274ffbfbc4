// What crosses between processes of a measurement: settings, progress, intervals, its result.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "traces/json/protocol.h"

namespace paceline::traces {
namespace {

using nlohmann::json;
using training::OperationKind;

Result measured_result() {
  Result result;
  result.id = 3;
  result.fidelity = Fidelity::measured;
  result.totals = {Seconds(0.4), Seconds(0.3), Seconds(0.2), Seconds(0.1)};
  result.trace.classes = {{{Rank(0)}, {}}};  // of a program without operations
  result.notes = {"compute: timed waits"};
  result.measurement = Measurement{
      "gloo", CollectiveMode::plan, {Seconds(0.4), Seconds(1.0 / 3)}, Seconds(0.37), Seconds(0.01),
      0.25,   Seconds(3e-5)};
  return result;
}

TEST(MeasuredResults, CarryEveryField) {
  const std::string line = to_line(Reply(measured_result()));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto got = std::get<Result>(reply_from_line(line, {}));
  EXPECT_EQ(got.fidelity, Fidelity::measured);
  EXPECT_EQ(got.notes, measured_result().notes);
  ASSERT_TRUE(got.measurement);
  EXPECT_EQ(got.measurement->backend, "gloo");
  EXPECT_EQ(got.measurement->mode, CollectiveMode::plan);
  EXPECT_EQ(got.measurement->steps, measured_result().measurement->steps);
  EXPECT_EQ(got.measurement->median, Seconds(0.37));
  EXPECT_EQ(got.measurement->mad, Seconds(0.01));
  EXPECT_EQ(got.measurement->cpu_busy, 0.25);
  EXPECT_EQ(got.measurement->clock_error, Seconds(3e-5));
  EXPECT_EQ(to_line(Reply(got)), line);
}

TEST(MeasuredResults, CarryTimesOfRepeatedCalls) {
  Result result = measured_result();
  RepeatedTimes times;
  result.measurement->calls = times;  // of a call that has neither way
  const auto carried = [&] {
    return std::get<Result>(reply_from_line(to_line(Reply(result)), {})).measurement->calls;
  };
  EXPECT_EQ(carried(), times);
  times.in_place = {Seconds(1e-5), Seconds(0.9e-5), Seconds(2e-5), 3};
  times.out_of_place = {Seconds(1.0 / 3), std::nullopt, Seconds(0.5), 0};
  result.measurement->calls = times;
  EXPECT_EQ(carried(), times);
}

TEST(MeasuredResults, RefuseImpossibleTimesOfRepeatedCalls) {
  Result result = measured_result();
  result.measurement->calls =
      RepeatedTimes{RepeatedTime{Seconds(1), Seconds(1), Seconds(1), 0}, std::nullopt};
  const json good = json::parse(to_line(Reply(result)));
  for (const char* key : {"time_s", "device_s", "alone_s", "wrong"}) {
    for (const json& bad : {json("x"), json(nullptr), json(true)}) {
      json changed = good;
      changed["measurement"]["calls"]["out_of_place"][key] = bad;
      EXPECT_THROW((void)reply_from_line(changed.dump(), {}), std::runtime_error) << key << bad;
    }
  }
}

TEST(MeasuredResults, NeedNoMeasurement) {
  Result predicted = measured_result();
  predicted.measurement.reset();
  EXPECT_FALSE(std::get<Result>(reply_from_line(to_line(Reply(predicted)), {})).measurement);
}

// Each rank is in one class.
TEST(Results, HaveEachRankOnce) {
  const auto of_classes = [](std::vector<std::vector<std::uint32_t>> all) {
    Result result = measured_result();
    result.trace.classes.clear();
    for (const auto& ranks : all) {
      RankClass& members = result.trace.classes.emplace_back();
      for (const std::uint32_t rank : ranks) members.ranks.emplace_back(rank);
    }
    return to_line(Reply(result));
  };
  EXPECT_NO_THROW((void)reply_from_line(of_classes({{0, 2}, {1}}), {}));
  for (const auto& bad :
       {of_classes({{}}), of_classes({{0}, {0}}), of_classes({{0, 2}}), of_classes({{1}})}) {
    EXPECT_THROW((void)reply_from_line(bad, {}), std::runtime_error) << bad;
  }
}

TEST(MeasuredResults, AreRefusedInEveryField) {
  const json good = json::parse(to_line(Reply(measured_result())));
  for (const auto& [key, value] : good.at("measurement").items()) {
    for (const json& bad : {json(json::object()), json(nullptr), json("no such word")}) {
      if (bad.is_string() && key == "backend") continue;
      json changed = good;
      changed["measurement"][key] = bad;
      EXPECT_THROW((void)reply_from_line(changed.dump(), {}), std::runtime_error)
          << key << ": " << bad;
    }
    json without = good;
    without["measurement"].erase(key);
    EXPECT_THROW((void)reply_from_line(without.dump(), {}), std::runtime_error) << key;
  }
}

ResolvedPoint point_to_measure() {
  ResolvedPoint point;
  point.id = 9;
  const auto lane = point.program.add_lane({"compute", training::LaneKind::compute});
  point.program.add({"forward", OperationKind::forward, lane, {}, Seconds(0.1)});
  point.measure = MeasureSettings{CollectiveMode::plan, 4, 12};
  return point;
}

TEST(MeasureSettingsOfAPoint, AreCarried) {
  const std::string line = to_line(point_to_measure());
  EXPECT_EQ(point_from_line(line).measure, point_to_measure().measure);
  EXPECT_EQ(to_line(point_from_line(line)), line);
  ResolvedPoint predicted = point_to_measure();
  predicted.measure.reset();
  EXPECT_FALSE(point_from_line(to_line(predicted)).measure);
}

TEST(MeasureSettingsOfAPoint, MayRepeatACall) {
  ResolvedPoint point = point_to_measure();
  point.measure->calls = {DataType::bfloat16, 7};
  const std::string line = to_line(point);
  EXPECT_EQ(point_from_line(line).measure, point.measure);
  for (const auto& [key, bad] : {std::pair("type", json("float8")), {"iterations", json(-1)}}) {
    json changed = json::parse(line);
    changed["measure"]["calls"][key] = bad;
    EXPECT_THROW((void)point_from_line(changed.dump()), std::runtime_error) << key;
  }
}

TEST(MeasureSettingsOfAPoint, AreRefusedInEveryField) {
  const json good = json::parse(to_line(point_to_measure()));
  for (const auto& [key, value] : good.at("measure").items()) {
    for (const json& bad : {json("no such word"), json(nullptr), json(-1), json(1.5)}) {
      json changed = good;
      changed["measure"][key] = bad;
      EXPECT_THROW((void)point_from_line(changed.dump()), std::runtime_error) << key << ": " << bad;
    }
  }
}

TEST(ProgressLines, AreToldFromReplies) {
  const auto got = progress_from_line(to_line(Progress{7, 3, Seconds(0.25)}));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->id, 7U);
  EXPECT_EQ(got->step, 3U);
  EXPECT_EQ(got->duration, Seconds(0.25));
  EXPECT_FALSE(progress_from_line(to_line(Reply(measured_result()))));
  EXPECT_FALSE(progress_from_line(to_line(Reply(Failure{1, "a rank died"}))));
  EXPECT_THROW((void)progress_from_line("{"), std::runtime_error);
  EXPECT_THROW((void)progress_from_line(R"({"id": 1, "step": -1, "duration_s": 1})"),
               std::runtime_error);
  EXPECT_THROW((void)progress_from_line(R"({"id": 1, "step": 1, "duration_s": "x"})"),
               std::runtime_error);
}

TEST(Intervals, TravelAlone) {
  const std::vector<training::Interval> intervals{{Seconds(0), Seconds(1.0 / 7)},
                                                  {Seconds(0.2), Seconds(0.4), 0},
                                                  {Seconds(0.4), Seconds(1e-300), 4'294'967'295}};
  EXPECT_EQ(intervals_from_text(to_text(intervals)), intervals);
  EXPECT_TRUE(intervals_from_text(to_text(std::vector<training::Interval>{})).empty());
  for (const char* bad : {"", "{", "3", "[3]", "[[1, 2]]", "[[1, 2, -1]]", R"([[1, "2", null]])"}) {
    EXPECT_THROW((void)intervals_from_text(bad), std::runtime_error) << bad;
  }
}

}  // namespace
}  // namespace paceline::traces
