// Files that end in the middle: of a job that was killed, or a disk that was full.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/traces/kineto/kineto_fixture.h"
#include "traces/json/on_demand.h"
#include "traces/learn/step_profile.h"

namespace paceline::traces {
namespace {

using test::kineto_error;
using test::kineto_fixture;

TEST(CutJson, IsClosedBehindItsLastWholeValue) {
  EXPECT_EQ(closed_where_cut(R"({"a": [{}, {"b": 1)", 2), R"({"a": [{}]})");
  EXPECT_EQ(closed_where_cut(R"({"a": [{"b": [1, 2]}, {"b": [1])", 2), R"({"a": [{"b": [1, 2]}]})");
  EXPECT_EQ(closed_where_cut(R"([{"b": "]}\"{"}, {"b)", 1), R"([{"b": "]}\"{"}])");
  EXPECT_EQ(closed_where_cut(R"({"a": [{}], "c": "d)", 2), R"({"a": [{}]})");
  // Nothing whole; whole; wrong.
  for (const char* text : {"", "{", R"({"a": [{"b)", R"({"a": [{}]})", R"({"a": [{]}, {)"}) {
    EXPECT_EQ(closed_where_cut(text, 2), std::nullopt) << text;
  }
}

// Of a text cut at any byte every whole event is read, or the text is refused where none is.
TEST(CutKineto, IsReadUpToItsLastWholeEvent) {
  for (const char* name : {"with_metadata.json", "without_metadata.json", "odd.json"}) {
    std::string text = kineto_fixture(name);
    while (text.back() == '\n') text.pop_back();
    const std::uint64_t all = read_kineto(text).events;
    std::uint64_t before = 0;
    for (std::size_t end = 0; end < text.size(); ++end) {
      const std::string cut = text.substr(0, end);
      try {
        const DeviceTrace trace = read_kineto(cut);
        EXPECT_TRUE(trace.is_cut) << name << " to " << end;
        EXPECT_GE(trace.events, std::max<std::uint64_t>(before, 1)) << name << " to " << end;
        EXPECT_LE(trace.events, all) << name << " to " << end;
        before = trace.events;
      } catch (const FormatError& error) {
        EXPECT_EQ(before, 0U) << name << " to " << end;
        EXPECT_FALSE(error.hint().empty()) << name << " to " << end;
      }
    }
    EXPECT_EQ(before, all) << name;
  }
  EXPECT_FALSE(read_kineto(kineto_fixture("with_metadata.json")).is_cut);
}

// Three steps of 10 ms: of the third only the forward pass is left, so that it has no length.
TEST(CutKineto, HasNoLengthOfTheStepInWhichItEnds) {
  const std::string text = kineto_fixture("one_rank_of_eight.json");
  const std::size_t third = text.find("ProfilerStep#5");
  const std::size_t cut = text.find("gemm_bwd", third);
  ASSERT_NE(cut, std::string::npos);
  const auto steps = profile_steps(read_kineto(text.substr(0, cut)));
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_FALSE(steps[0].length);
  ASSERT_TRUE(steps[1].length);
  EXPECT_NEAR(steps[1].length->value(), 10e-3, 1e-9);
  EXPECT_FALSE(steps[2].length);
}

TEST(CutKineto, WithoutAWholeEventSaysThatItIsCut) {
  const auto error = kineto_error(R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "na)");
  EXPECT_NE(std::string(error.what()).find("cut off"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace paceline::traces
