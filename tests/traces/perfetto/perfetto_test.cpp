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

Span compute(const char* name, double start_us, double end_us) {
  return {
      name, OperationKind::backward, 0, Seconds(start_us * 1e-6), Seconds(end_us * 1e-6), Bytes(0),
      ""};
}

Span collective(const char* name, double start_us, double end_us) {
  return {name,
          OperationKind::collective,
          1,
          Seconds(start_us * 1e-6),
          Seconds(end_us * 1e-6),
          Bytes(4096),
          "ring"};
}

StepTrace trace_of(std::vector<RankClass> classes) {
  return {{{"compute", LaneKind::compute}, {"communication", LaneKind::communication, 2}},
          std::move(classes)};
}

json events_of(const std::vector<NamedTrace>& runs, std::size_t ranks_max = 64) {
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
      events_of({{"run", trace_of({{{Rank(0)}, {compute("b", 1, 4), collective("a", 4, 9)}}})}});
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
      events_of({{"run", trace_of({{{Rank(0)},
                                    {collective("w", 0, 4), collective("x", 2, 6),
                                     collective("y", 4, 5), collective("z", 6, 7)}}})}});
  EXPECT_EQ(event(events, "w").at("tid"), event(events, "y").at("tid"));
  EXPECT_EQ(event(events, "w").at("tid"), event(events, "z").at("tid"));
  EXPECT_NE(event(events, "w").at("tid"), event(events, "x").at("tid"));
}

// Ranks of a class share its spans, and come in their own order.
TEST(Perfetto, WritesAProcessForEachRankInOrder) {
  const auto events = events_of({{"run", trace_of({{{Rank(0), Rank(2)}, {compute("even", 0, 1)}},
                                                   {{Rank(1)}, {compute("odd", 0, 2)}}})}});
  std::map<int, std::string> names;
  for (const json& candidate : events) {
    if (candidate.at("ph") == "X") names[candidate.at("pid")] = candidate.at("name");
  }
  EXPECT_EQ(names, (std::map<int, std::string>{{0, "even"}, {1, "odd"}, {2, "even"}}));
}

TEST(Perfetto, WritesTheFirstRanksOfEachRunOnly) {
  std::vector<Rank> many;
  for (int r = 0; r < 100; ++r) many.emplace_back(r);
  const StepTrace trace = trace_of({{many, {compute("b", 0, 1)}}});
  const auto events = events_of({{"one", trace}, {"two", trace}}, 8);
  std::set<int> processes;
  for (const json& candidate : events) processes.insert(candidate.at("pid").get<int>());
  EXPECT_EQ(processes.size(), 16U);
  EXPECT_EQ(*processes.rbegin(), 15);
}

TEST(Perfetto, WritesNoEventsForNoRuns) {
  EXPECT_TRUE(events_of({}).empty());
  EXPECT_TRUE(events_of({{"run", trace_of({})}}).empty());
}

}  // namespace
}  // namespace paceline::traces
