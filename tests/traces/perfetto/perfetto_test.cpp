#include "traces/perfetto/perfetto.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace paceline::traces {
namespace {

using nlohmann::json;
using training::LaneKind;
using training::OperationKind;

// An operation and when it ran.
struct Did {
  training::Operation operation;
  training::Interval ran;
};

training::Interval interval(double start_us, double end_us) {
  return {Seconds(start_us * 1e-6), Seconds(end_us * 1e-6)};
}

Did compute(const char* name, double start_us, double end_us) {
  return {{name, OperationKind::backward, 0, {}, Seconds(0)}, interval(start_us, end_us)};
}

Did collective(const char* name, double start_us, double end_us,
               std::vector<training::OperationId> after = {}) {
  training::CollectiveCall call{collectives::Collective::all_reduce, ElementCount(1024),
                                ElementSize(4), Rank(0), training::SimulatedCall{"ring"}};
  return {{name, OperationKind::collective, 1, std::move(after), call}, interval(start_us, end_us)};
}

StepTrace trace_of(std::vector<Rank> ranks, const std::vector<Did>& all) {
  StepTrace trace;
  trace.program.lanes = {{"compute", LaneKind::compute},
                         {"communication", LaneKind::communication, 2}};
  trace.classes = {{std::move(ranks), {}}};
  for (const Did& one : all) {
    trace.program.add(one.operation);
    trace.classes[0].intervals.push_back(one.ran);
  }
  return trace;
}

json events_of(const std::vector<TraceRun>& runs, std::size_t ranks_max = 64) {
  std::ostringstream out;
  write_perfetto(out, runs, ranks_max);
  return json::parse(out.str()).at("traceEvents");
}

json event(const json& events, const std::string& name) {
  for (const json& candidate : events) {
    if (candidate.at("name") == name) return candidate;
  }
  return nullptr;
}

TEST(Perfetto, WritesSpansInMicroseconds) {
  const auto events =
      events_of({{"run", Origin::predicted,
                  trace_of({Rank(0)}, {compute("b", 1, 4), collective("a", 4, 9)})}});
  const json span = event(events, "b");
  EXPECT_EQ(span.at("ph"), "X");
  EXPECT_EQ(span.at("cat"), "backward");
  EXPECT_NEAR(span.at("ts"), 1, 1e-9);
  EXPECT_NEAR(span.at("dur"), 3, 1e-9);
  EXPECT_FALSE(span.contains("args"));
  EXPECT_EQ(event(events, "a").at("args"), json({{"bytes", 4096}, {"algorithm", "ring"}}));
}

// 0..4 and 2..6 overlap; 4..5 fits behind the first, 6..7 behind it as well.
TEST(Perfetto, PutsOverlappingSpansOfALaneOnTracksOfTheirOwn) {
  const auto events =
      events_of({{"run", Origin::predicted,
                  trace_of({Rank(0)}, {collective("w", 0, 4), collective("x", 2, 6),
                                       collective("y", 4, 5), collective("z", 6, 7)})}});
  EXPECT_EQ(event(events, "w").at("tid"), event(events, "y").at("tid"));
  EXPECT_EQ(event(events, "w").at("tid"), event(events, "z").at("tid"));
  EXPECT_NE(event(events, "w").at("tid"), event(events, "x").at("tid"));
}

// Ranks of a class share its spans, and come in their own order.
TEST(Perfetto, WritesAProcessForEachRankInOrder) {
  StepTrace trace = trace_of({Rank(0), Rank(2)}, {compute("b", 0, 1)});
  trace.classes.push_back({{Rank(1)}, {interval(0, 2)}});
  std::map<int, double> durations;
  for (const json& candidate : events_of({{"run", Origin::predicted, trace}})) {
    if (candidate.at("ph") == "X") durations[candidate.at("pid")] = candidate.at("dur");
  }
  EXPECT_EQ(durations, (std::map<int, double>{{0, 1}, {1, 2}, {2, 1}}));
}

TEST(Perfetto, WritesTheFirstRanksOfEachRunOnly) {
  std::vector<Rank> many;
  for (int r = 0; r < 100; ++r) many.emplace_back(r);
  const StepTrace trace = trace_of(many, {compute("b", 0, 1)});
  const auto events =
      events_of({{"one", Origin::predicted, trace}, {"two", Origin::measured, trace}}, 8);
  std::set<int> processes;
  for (const json& candidate : events) processes.insert(candidate.at("pid").get<int>());
  EXPECT_EQ(processes.size(), 16U);
  EXPECT_EQ(*processes.rbegin(), 15);
}

TEST(Perfetto, NamesProcessesByRunOriginAndRank) {
  const StepTrace trace = trace_of({Rank(3)}, {compute("b", 0, 1)});
  const auto events =
      events_of({{"8 GPUs", Origin::predicted, trace}, {"8 GPUs", Origin::imported, trace}});
  std::vector<std::string> names;
  for (const json& candidate : events) {
    if (candidate.at("name") == "process_name") names.push_back(candidate.at("args").at("name"));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"8 GPUs, predicted, rank 3", "8 GPUs, imported, rank 3"}));
}

// The slice that a viewer binds an arrow's end to: of its thread, under way at its time.
std::string slice_at(const json& events, const json& arrow) {
  std::string found;
  for (const json& slice : events) {
    if (slice.at("ph") != "X" || slice.at("pid") != arrow.at("pid")) continue;
    if (slice.at("tid") != arrow.at("tid")) continue;
    const double at = arrow.at("ts"), start = slice.at("ts");
    if (at < start || at >= start + slice.at("dur").get<double>()) continue;
    EXPECT_EQ(found, "") << "two slices of one thread overlap";
    found = slice.at("name");
  }
  return found;
}

// Names of the slices that arrows join, by rank. Checks that each has one start and one end.
std::multimap<int, std::string> arrows_of(const json& events) {
  std::map<int, std::pair<json, json>> ends;
  for (const json& candidate : events) {
    if (candidate.at("ph") != "s" && candidate.at("ph") != "f") continue;
    auto& [from, to] = ends[candidate.at("id")];
    json& end = candidate.at("ph") == "s" ? from : to;
    EXPECT_TRUE(end.is_null()) << "an id is used twice";
    end = candidate;
  }
  std::multimap<int, std::string> arrows;
  for (const auto& [id, both] : ends) {
    const auto& [from, to] = both;
    if (from.is_null() || to.is_null()) {
      ADD_FAILURE() << "arrow " << id << " has one end";
      continue;
    }
    EXPECT_EQ(from.at("pid"), to.at("pid"));
    EXPECT_EQ(to.at("bp"), "e");
    EXPECT_LE(from.at("ts"), to.at("ts"));
    arrows.emplace(from.at("pid"), slice_at(events, from) + " > " + slice_at(events, to));
  }
  return arrows;
}

// Ready at 4, but the lane is free at 9: not from what ended at 8, which it did not wait for.
TEST(Perfetto, LeadsArrowsFromTheComputeThatMakesACollectiveReady) {
  const StepTrace trace =
      trace_of({Rank(0), Rank(1)}, {collective("first", 0, 9), compute("a", 0, 2),
                                    compute("b", 2, 4), collective("second", 9, 12, {1, 2}),
                                    compute("c", 4, 8), collective("third", 12, 13, {4, 3})});
  const auto arrows =
      arrows_of(events_of({{"x", Origin::predicted, trace}, {"y", Origin::measured, trace}}));
  std::multimap<int, std::string> expected;
  for (int process = 0; process < 4; ++process) {
    expected.emplace(process, "b > second");
    expected.emplace(process, "c > third");
  }
  EXPECT_EQ(arrows, expected);
}

// Viewers round to nanoseconds: such a slice has no inside.
TEST(Perfetto, LeadsNoArrowsToSlicesOfNoTime) {
  const auto events =
      events_of({{"run", Origin::predicted,
                  trace_of({Rank(0)}, {compute("a", 0, 2), collective("x", 2, 2, {0}),
                                       compute("b", 3, 3.001), collective("y", 4, 5, {2})})}});
  EXPECT_TRUE(arrows_of(events).empty());
}

TEST(Perfetto, KnowsItsOwnTimelines) {
  std::ostringstream out;
  write_perfetto(out, {{"run", Origin::predicted, StepTrace{}}}, 64);
  EXPECT_TRUE(is_own_timeline(out.str()));
  EXPECT_FALSE(is_own_timeline(R"({"traceEvents": [{"name": "paceline.timeline/1"}]})"));
  EXPECT_FALSE(is_own_timeline("paceline.timeline/1"));
  EXPECT_FALSE(is_own_timeline(""));
}

TEST(Perfetto, WritesNoEventsForNoRuns) {
  EXPECT_TRUE(events_of({}).empty());
  EXPECT_TRUE(events_of({{"run", Origin::predicted, StepTrace{}}}).empty());
}

}  // namespace
}  // namespace paceline::traces
