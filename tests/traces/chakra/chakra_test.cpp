#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/traces/chakra/chakra_fixture.h"
#include "tests/traces/formats/only_trace.h"
#include "traces/device_trace/readers.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using test::chakra_error;
using test::chakra_fixture;
using test::framed;
using Work = DeviceTrace::Work;

constexpr TraceTime us = 1000;

// PROVENANCE.md beside the fixtures tells what they hold.
TEST(Chakra, WithStartsKeepsThemFromTheEarliestOn) {
  const DeviceTrace trace = read_chakra(chakra_fixture("with_starts.et"));
  EXPECT_TRUE(trace.has_times);
  EXPECT_EQ(trace.events, 6U);
  ASSERT_EQ(trace.tasks.size(), 3U);
  EXPECT_EQ(trace.names.at(trace.tasks[0].name), "COMP_1");
  EXPECT_EQ(trace.tasks[0].start, 0);
  EXPECT_EQ(trace.tasks[0].end, 200 * us);
  EXPECT_EQ(trace.tasks[0].work, Work::kernel);
  EXPECT_FALSE(trace.tasks[0].launched) << "there is no host";
  EXPECT_EQ(trace.tasks[1].work, Work::copy);
  EXPECT_EQ(trace.tasks[1].start, 230 * us);
  EXPECT_EQ(trace.tasks[2].work, Work::set);
  EXPECT_EQ(trace.tasks[2].stream, 20U);
  ASSERT_EQ(trace.collectives.size(), 3U);
  const TracedCollective& gathered = trace.collectives[0];
  EXPECT_EQ(gathered.kind, "all_gather");
  EXPECT_EQ(gathered.collective, Collective::all_gather);
  EXPECT_EQ(gathered.group, "1");
  EXPECT_FALSE(gathered.count) << "512 bytes are one rank's part of an unknown number";
  ASSERT_TRUE(gathered.device);
  EXPECT_EQ(gathered.device->start, 200 * us);
  EXPECT_EQ(gathered.device->end, 240 * us);
  EXPECT_EQ(trace.collectives[1].collective, Collective::reduce_scatter);
  EXPECT_EQ(trace.collectives[1].count, ElementCount(2048));
  EXPECT_EQ(trace.collectives[1].element_size, ElementSize(1));
  EXPECT_EQ(trace.collectives[2].kind, "send");
  EXPECT_FALSE(trace.collectives[2].collective);
}

// On the host 10 takes 0-20 us, 13 then 20-25, 15 then 25-35: its caller 16 waits for it. On stream
// 7, 12 runs 20-120 when 10 is done, and 14 behind it, though 13 was done at 25. The all-reduce
// waits for 12, and the copy for the all-reduce.
TEST(Chakra, WithoutStartsHasThoseOfItsDependenciesAndStreams) {
  const DeviceTrace trace = read_chakra(chakra_fixture("without_starts.et"));
  ASSERT_EQ(trace.tasks.size(), 3U);
  const auto expect = [&](std::size_t i, const char* name, TraceTime start, TraceTime end,
                          TraceTime launched) {
    EXPECT_EQ(trace.names.at(trace.tasks[i].name), name);
    EXPECT_EQ(trace.tasks[i].start, start) << name;
    EXPECT_EQ(trace.tasks[i].end, end) << name;
    EXPECT_EQ(trace.tasks[i].launched, launched) << name;
    EXPECT_EQ(trace.tasks[i].stream, 7U) << name;
  };
  expect(0, "gemm", 20 * us, 120 * us, 0);
  expect(1, "gelu", 120 * us, 150 * us, 20 * us);
  expect(2, "Memcpy DtoD (Device -> Device)", 170 * us, 174 * us, 25 * us);
  EXPECT_EQ(trace.tasks[2].work, Work::copy);
  ASSERT_EQ(trace.collectives.size(), 1U);  // the host's call of it is none
  const TracedCollective& reduced = trace.collectives[0];
  EXPECT_EQ(reduced.collective, Collective::all_reduce);
  EXPECT_EQ(reduced.count, ElementCount(4000));
  EXPECT_EQ(reduced.algorithm, "RING_LL");
  EXPECT_EQ(reduced.group, "0");
  EXPECT_EQ(reduced.called, 25 * us);
  ASSERT_TRUE(reduced.device);
  EXPECT_EQ(reduced.device->start, 120 * us);
  EXPECT_EQ(reduced.device->end, 170 * us);
}

TEST(Chakra, WhoseDataCannotComeNamesTheNodes) {
  EXPECT_EQ(chakra_error(chakra_fixture("cycle.et")),
            "has nodes that wait for each other: 2 (second), 4 (fourth), 3 (third)");
  // Field 1: id 1; field 2: "a"; field 5: waits for node 9.
  EXPECT_EQ(chakra_error(framed("\x0a\x01v") + framed("\x08\x01\x12\x01"
                                                      "a\x2a\x01\x09")),
            "node 1 (a) waits for the data of node 9, which is not there");
}

TEST(Chakra, ThatCannotBeReadSaysWhichByteOrNode) {
  const std::string head = framed("\x0a\x01v"), node = framed(
                                                    "\x08\x07\x12\x01"
                                                    "a");
  EXPECT_EQ(read_chakra(head).events, 0U);
  EXPECT_EQ(read_chakra(head + node).events, 1U);
  EXPECT_EQ(chakra_error(""), "has no metadata of Chakra, at byte 0");
  EXPECT_EQ(chakra_error(head + node + node), "node 7 is there twice");
  EXPECT_EQ(chakra_error(head + framed("\x18\x04")), "has a node without id and name, at byte 4");
  EXPECT_EQ(chakra_error(head + framed("\x08")), "has a message that is no node, at byte 4");
  EXPECT_EQ(chakra_error(head + node.substr(0, 3)), "is cut off in a message, at byte 4");
  EXPECT_EQ(chakra_error(head + "\xff"), "is cut off in the length of a message, at byte 4");
  EXPECT_EQ(chakra_error(head + "\xff\xff\xff\x7f"),
            "has a message of more than 64 MiB, at byte 4");
  EXPECT_EQ(chakra_error(head + std::string(10, '\xff')),
            "has a length of more than 64 bits, at byte 4");
  // A duration (field 7) of 2^63 us.
  EXPECT_EQ(chakra_error(head + framed("\x08\x07\x38\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")),
            "node 7 ends later than a trace can be");
}

TEST(Chakra, InJsonIsRefusedAsWhatItIs) {
  const std::string graph = R"({ "workload_graph": [{"Id": 216, "NodeType": 4}]})";
  EXPECT_TRUE(is_chakra(graph));
  EXPECT_EQ(chakra_error(graph), "is a Chakra graph in JSON, which is not read");
}

TEST(Chakra, IsToldFromOthersByItsContent) {
  for (const char* name : {"with_starts.et", "without_starts.et", "cycle.et"}) {
    EXPECT_TRUE(is_chakra(chakra_fixture(name))) << name;
  }
  EXPECT_EQ(only_trace(chakra_fixture("with_starts.et")).events, 6U);
  for (const char* text : {"", "{\"nodes\": []}", "x\nand more lines of what is no trace at all",
                           "\n\n\n\n", "\x02\x0a", "\x01\x0a"}) {
    EXPECT_FALSE(is_chakra(text)) << text;
  }
  EXPECT_FALSE(is_chakra(std::string(100, '\0')));
}

}  // namespace
}  // namespace paceline::traces
