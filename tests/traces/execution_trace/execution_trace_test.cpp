
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/traces/formats/only_trace.h"
#include "traces/device_trace/readers.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

std::string fixture(const std::string& name) {
  const std::string text =
      paceline::test::text_of(PACELINE_SOURCE_DIR "/tests/fixtures/execution_trace/" + name);
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

FormatError error_of(const std::string& text) {
  try {
    (void)read_execution_trace(text);
  } catch (const FormatError& error) {
    return error;
  }
  ADD_FAILURE() << "is read: " << text.substr(0, 200);
  return {0, "", ""};
}

// PROVENANCE.md beside the fixtures tells what they hold.
TEST(ExecutionTrace, WithAttributesTellsKindSizeGroupAndRanksOfEachCallOnce) {
  const DeviceTrace trace = read_execution_trace(fixture("with_attributes.json"));
  EXPECT_FALSE(trace.has_times);
  EXPECT_EQ(trace.events, 13U);
  EXPECT_EQ(trace.skipped, 0U);
  EXPECT_EQ(trace.world_size, 4U);
  EXPECT_TRUE(trace.tasks.empty() && trace.ranges.empty() && trace.gradients.empty());
  ASSERT_EQ(trace.collectives.size(), 3U);  // a wait is none
  const TracedCollective& sent = trace.collectives[0];
  EXPECT_EQ(sent.kind, "broadcast");
  EXPECT_EQ(sent.collective, Collective::broadcast);
  EXPECT_EQ(sent.count, ElementCount(500));
  EXPECT_EQ(sent.element_size, ElementSize(4));
  EXPECT_EQ(sent.group, "0");
  EXPECT_EQ(sent.group_size, 4U);
  EXPECT_EQ(sent.ranks, (std::vector<Rank>{Rank(0), Rank(1), Rank(2), Rank(3)}));
  EXPECT_EQ(sent.sequence, 33U);
  EXPECT_FALSE(sent.device);
  const TracedCollective& reduced = trace.collectives[1];
  EXPECT_EQ(reduced.collective, Collective::all_reduce);
  EXPECT_EQ(reduced.count, ElementCount(3000));
  EXPECT_EQ(reduced.element_size, ElementSize(2));
  // By id: 2, 3, 4, 10, 11, 12, 30, 40...
  EXPECT_EQ(sent.called, 3);
  EXPECT_EQ(sent.returned, 5);
  EXPECT_EQ(reduced.called, 7);
  EXPECT_EQ(trace.collectives[2].collective, Collective::all_reduce) << "which a barrier runs";
  EXPECT_EQ(trace.collectives[2].count, ElementCount(1));
}

TEST(ExecutionTrace, WithoutAttributesHasSizesOfTensors) {
  const DeviceTrace trace = read_execution_trace(fixture("without_attributes.json"));
  ASSERT_EQ(trace.collectives.size(), 2U);
  const TracedCollective& exchanged = trace.collectives[0];
  EXPECT_EQ(exchanged.kind, "all_to_allv");
  EXPECT_EQ(exchanged.collective, Collective::all_to_all);
  EXPECT_EQ(exchanged.count, ElementCount(120));  // received; 96 are sent
  EXPECT_EQ(exchanged.element_size, ElementSize(8));
  EXPECT_EQ(exchanged.group_size, 2U);  // as many as there are parts
  EXPECT_EQ(exchanged.group, "") << "a number of one process is no name";
  EXPECT_EQ(exchanged.sequence, 147U);
  const TracedCollective& reduced = trace.collectives[1];
  EXPECT_EQ(reduced.collective, Collective::all_reduce);
  EXPECT_EQ(reduced.count, ElementCount(600 + 10 * 10));  // of all its tensors
  EXPECT_EQ(reduced.element_size, ElementSize(4));
  EXPECT_EQ(reduced.group_size, 0U);
}

TEST(ExecutionTrace, OfAnyOrderAndWithBrokenNodesIsReadAsFarAsItGoes) {
  const DeviceTrace trace = read_execution_trace(fixture("odd.json"));
  EXPECT_EQ(trace.events, 12U);
  EXPECT_EQ(trace.skipped, 5U);  // no id, no name, no node, a negative id, an id twice
  EXPECT_EQ(trace.world_size, 8U);
  ASSERT_EQ(trace.collectives.size(), 5U);
  const TracedCollective& sent = trace.collectives[0];
  EXPECT_EQ(sent.kind, "send");
  EXPECT_FALSE(sent.collective);
  EXPECT_EQ(sent.count, ElementCount(11));
  const TracedCollective& gathered = trace.collectives[1];
  EXPECT_EQ(gathered.count, ElementCount(2));  // its output
  EXPECT_EQ(gathered.group, "3");              // which is number 777
  EXPECT_EQ(gathered.ranks, (std::vector<Rank>{Rank(4), Rank(6)}));
  EXPECT_EQ(gathered.group_size, 2U);
  EXPECT_FALSE(trace.collectives[2].count) << "of an all-gather of which only the input is told";
  EXPECT_EQ(trace.collectives[2].element_size, ElementSize(4));
  EXPECT_EQ(trace.collectives[3].count, ElementCount(2 * 3 + 1));
  const TracedCollective& scattered = trace.collectives[4];
  EXPECT_EQ(scattered.collective, Collective::reduce_scatter);
  EXPECT_EQ(scattered.count, ElementCount(64));
  EXPECT_EQ(scattered.element_size, ElementSize(2));
  EXPECT_EQ(scattered.group_size, 3U);
  EXPECT_EQ(scattered.sequence, 5U);
}

TEST(ExecutionTrace, IsToldFromOthersByItsContent) {
  for (const char* name : {"with_attributes.json", "without_attributes.json", "odd.json"}) {
    EXPECT_TRUE(is_execution_trace(fixture(name))) << name;
    EXPECT_FALSE(is_kineto(fixture(name))) << name;
    EXPECT_FALSE(only_trace(fixture(name)).has_times) << name;
  }
  EXPECT_FALSE(is_execution_trace(R"({"schemaVersion": 1, "traceEvents": []})"));
  EXPECT_FALSE(is_execution_trace(R"([{"nodes": [], "schema": "1.0.1"}])"));
  EXPECT_FALSE(is_execution_trace(""));
}

TEST(ExecutionTrace, ThatCannotBeReadSaysWhereAndWhy) {
  const std::string whole = fixture("with_attributes.json");
  EXPECT_STREQ(error_of("[]").what(), "is no object with nodes");
  EXPECT_STREQ(error_of("{\"schema\": \"1.0.1\", \"pid\": 1}").what(), "has no nodes");
  const FormatError cut = error_of(whole.substr(0, whole.size() / 2));
  EXPECT_EQ(std::string(cut.what()).rfind("is not JSON, or cut off", 0), 0U) << cut.what();
  const FormatError more = error_of(whole + "{}");
  EXPECT_NE(std::string(more.what()).find("more than one object"), std::string::npos);
  EXPECT_FALSE(more.hint().empty());
  EXPECT_EQ(read_execution_trace(R"({"id": 1, "nodes": []})").events, 0U);
}

// A call of every few bytes must not have thousands of ranks each.
TEST(ExecutionTrace, OfManyCallsInLargeGroupsKeepsWithinBounds) {
  std::string text = R"({"schema": "1.1.0-chakra.0.0.4", "nodes": [)";
  for (int id = 1; id <= 5000; ++id) {
    text +=
        R"({"id": )" + std::to_string(id) +
        R"(, "name": "record_param_comms", "attrs": [)"
        R"({"name": "collective_name", "value": "allreduce"}, {"name": "pg_size", "value": 4096},)"
        R"({"name": "global_rank_start", "value": 0},)"
        R"({"name": "global_rank_stride", "value": 1}]},)";
  }
  text.back() = ' ';
  const DeviceTrace trace = read_execution_trace(text + "]}");
  ASSERT_EQ(trace.collectives.size(), 5000U);
  EXPECT_EQ(trace.collectives[4095].ranks.size(), 4096U);  // 2^24 in all
  EXPECT_TRUE(trace.collectives[4096].ranks.empty());
  EXPECT_EQ(trace.collectives[4999].group_size, 4096U);
}

}  // namespace
}  // namespace paceline::traces
