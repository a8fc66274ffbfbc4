#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/process.h"
#include "traces/device_trace/readers.h"
#include "traces/formats/formats.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using State = TracedCollective::State;

constexpr TraceTime ms = 1'000'000;

std::string dump(const std::string& name) {
  const std::string text =
      paceline::test::text_of(PACELINE_SOURCE_DIR "/tests/fixtures/flight_recorder/" + name);
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

FormatError error_of_dump(const std::string& text) {
  try {
    (void)read_flight_recorder(text);
  } catch (const FormatError& error) {
    return error;
  }
  ADD_FAILURE() << "is read: " << text.substr(0, 200);
  return {0, "", ""};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(FlightRecorder, HasCollectivesWithTheirStates) {
  const DeviceTrace trace = read_flight_recorder(dump("rank_0.json"));
  EXPECT_EQ(trace.rank, std::nullopt);
  EXPECT_EQ(trace.world_size, 3U);
  EXPECT_EQ(trace.events, 6U);
  EXPECT_EQ(trace.skipped, 0U);
  EXPECT_EQ(trace.since_epoch, 1'700'000'000'000'000'000);
  ASSERT_EQ(trace.collectives.size(), 6U);
  const TracedCollective& first = trace.collectives[0];
  EXPECT_EQ(first.kind, "all_reduce");
  EXPECT_EQ(first.collective, Collective::all_reduce);
  EXPECT_EQ(first.count, ElementCount(1000));
  EXPECT_EQ(first.element_size, ElementSize(4));
  EXPECT_EQ(first.group, "0 default_pg (ranks 0, 1, 2)");
  EXPECT_EQ(first.group_size, 3U);
  EXPECT_EQ(first.sequence, 1U);
  EXPECT_EQ(first.state, State::completed);
  const TracedCollective& gathered = trace.collectives[2];
  EXPECT_EQ(gathered.collective, Collective::all_gather);
  EXPECT_EQ(gathered.group, "1 shards (ranks 0, 1)");
  EXPECT_EQ(gathered.element_size, ElementSize(2));
  EXPECT_EQ(trace.collectives[3].kind, "send 0->1");
  EXPECT_EQ(trace.collectives[3].collective, std::nullopt);
  EXPECT_EQ(trace.collectives[4].state, State::started);
  EXPECT_EQ(trace.collectives[4].device, std::nullopt);
  EXPECT_EQ(trace.collectives[5].state, State::scheduled);
}

// Called at 0 and seen to have ended after 100 ms, it took 12.
TEST(FlightRecorder, HasTimesOnTheDeviceByTheirLengths) {
  const DeviceTrace trace = read_flight_recorder(dump("rank_0.json"));
  ASSERT_TRUE(trace.collectives[0].device);
  EXPECT_EQ(trace.collectives[0].device->start, 88 * ms);
  EXPECT_EQ(trace.collectives[0].device->end, 100 * ms);
  EXPECT_EQ(trace.collectives[1].called, 200 * ms);
  EXPECT_TRUE(trace.has_late_ends);
}

// Keys sorted, 0 for times that were not, no lengths.
TEST(FlightRecorder, ReadsWhatTorchWritesAsJson) {
  const DeviceTrace trace = read_flight_recorder(dump("json_2_7.json"));
  ASSERT_EQ(trace.collectives.size(), 3U);
  EXPECT_EQ(trace.world_size, 2U);
  EXPECT_EQ(trace.collectives[0].count, ElementCount(6));
  EXPECT_EQ(trace.collectives[0].device, std::nullopt);
  EXPECT_EQ(trace.collectives[2].state, State::scheduled);
}

// PyTorch 2.2 had one number, and no names of groups.
TEST(FlightRecorder, ReadsTheFirstVersions) {
  const DeviceTrace trace = read_flight_recorder(
      R"({"version": "1.1", "entries": [{"record_id": 0, "pg_id": 0, "seq_id": 7, )"
      R"("profiling_name": "nccl:broadcast", "time_created_ns": 1700000000000000000, )"
      R"("input_sizes": [[8, 2]], "output_sizes": [[8, 2]], "state": "scheduled"}]})");
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives[0].sequence, 7U);
  EXPECT_EQ(trace.collectives[0].group, "0");
  EXPECT_EQ(trace.collectives[0].count, ElementCount(16));
}

TEST(FlightRecorder, CountsEntriesThatAreBroken) {
  const std::string text = dump("rank_0.json");
  const DeviceTrace trace = read_flight_recorder(replaced(
      replaced(text, "\"time_created_ns\": 1700000000000000000", "\"time_created_ns\": -1"),
      "\"entries\": [", "\"entries\": [7, "));
  EXPECT_EQ(trace.events, 7U);
  EXPECT_EQ(trace.skipped, 2U);
  EXPECT_EQ(trace.skipped_for.at("no time"), 1U);
  EXPECT_EQ(trace.skipped_for.at("no object"), 1U);
  EXPECT_EQ(trace.collectives.size(), 5U);
}

TEST(FlightRecorder, RefusesWhatIsCutOff) {
  const std::string text = dump("rank_0.json");
  for (std::size_t size = 1; size + 3 < text.size(); size += 7) {
    EXPECT_NE(*error_of_dump(text.substr(0, size)).what(), '\0');
  }
}

TEST(FlightRecorder, RefusesGroupsThatNoRunHas) {
  std::string ranks = "\"[0";
  for (int i = 1; i <= 65'536; ++i) ranks += ", 1";
  const FormatError error =
      error_of_dump(replaced(dump("rank_0.json"), "\"[0, 1, 2]\"", ranks + "]\""));
  EXPECT_STREQ(error.what(), "a group's ranks are 65537, more than the 65536 that a run may have");
}

// As torch's Pickler begins: protocol 2, a dictionary, a text.
TEST(FlightRecorder, OfAPickleSaysHowToWriteItAsJson) {
  const std::string pickle("\x80\x02}(X\x09\x00\x00\x00pg_config}X\x07\x00\x00\x00version", 31);
  EXPECT_TRUE(is_flight_recorder(pickle));
  const FormatError error = error_of_dump(pickle);
  EXPECT_STREQ(error.what(), "is a pickle of PyTorch's flight recorder, which is read as JSON");
  EXPECT_NE(error.hint().find("python3 -c 'import json, pickle, sys;"), std::string::npos);
  EXPECT_FALSE(is_flight_recorder(std::string("\x80\x02}(X\x05\x00\x00\x00modelu.", 16)));
}

TEST(FlightRecorder, IsOfNoOtherFormat) {
  for (const char* name : {"rank_0.json", "rank_1.json", "json_2_7.json"}) {
    for (const DeviceTraceFormat& format : device_trace_formats()) {
      EXPECT_EQ(format.is_one(dump(name)), format.name == "flight recorder")
          << name << " as " << format.name;
    }
  }
  const std::string kineto =
      paceline::test::text_of(PACELINE_SOURCE_DIR "/tests/fixtures/kineto/torch_2_4.json");
  EXPECT_FALSE(is_flight_recorder(kineto));
  EXPECT_FALSE(is_flight_recorder("{}"));
}

}  // namespace
}  // namespace paceline::traces
