#include "traces/chakra/write_chakra.h"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/traces/chakra/chakra_fixture.h"
#include "tests/traces/learn/spans.h"
#include "traces/chakra/node.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using training::OperationKind;

// Two gradients' buckets; the optimizer waits for the second. Rank 2 starts 0.25 ms later.
StepTrace step() {
  std::vector<TracedSpan> spans{compute("forward", OperationKind::forward, 0, 1000.0004),
                                compute("backward b", OperationKind::backward, 1000.0004, 3000),
                                call(Collective::all_reduce, 4096, 3000, 4500, "bucket 0"),
                                compute("backward a", OperationKind::backward, 3000, 5000),
                                call(Collective::all_gather, 1000, 5000, 7123.456, "bucket 1"),
                                compute("optimizer", OperationKind::optimizer, 7123.456, 8000)};
  std::vector<TracedSpan> late = spans;
  late.front().start = Seconds(0.25e-3);
  StepTrace trace = trace_of({spans, late});
  trace.classes[0].ranks = {Rank(0), Rank(1)};
  trace.classes[1].ranks = {Rank(2)};
  return trace;
}

std::string written(const StepTrace& trace, Rank rank) {
  std::ostringstream out;
  write_chakra(out, trace, rank);
  return out.str();
}

TEST(WriteChakra, IsReadAsWhatWasWritten) {
  const StepTrace trace = step();
  const std::string bytes = written(trace, Rank(2));
  ASSERT_TRUE(is_chakra(bytes));
  const DeviceTrace read = read_chakra(bytes);
  EXPECT_EQ(read.rank, Rank(2));
  EXPECT_EQ(read.world_size, 3U);
  std::size_t task = 0, call = 0;
  for (const Span& span : spans_of(trace, trace.classes[1])) {
    // To the nanosecond; the first starts at 250,000 of them, not at 0.
    const TraceTime start = std::llround(span.start().value() * 1e9),
                    end = std::llround(span.end().value() * 1e9);
    const std::string& name = span.operation.name;
    if (span.call() == nullptr) {
      const DeviceTrace::Task& one = read.tasks.at(task++);
      EXPECT_EQ(read.names.at(one.name), name);
      EXPECT_EQ(one.start, start) << name;
      EXPECT_EQ(one.end, end) << name;
      EXPECT_EQ(one.stream, span.operation.lane);
      continue;
    }
    const TracedCollective& one = read.collectives.at(call++);
    EXPECT_EQ(one.name, name);
    EXPECT_EQ(one.collective, span.call()->collective);
    EXPECT_EQ(*one.count * *one.element_size, span.size()) << name;
    EXPECT_EQ(one.element_size, span.call()->element_size);
    EXPECT_EQ(one.algorithm, span.algorithm());
    EXPECT_EQ(one.group_size, 3U);
    ASSERT_TRUE(one.device);
    EXPECT_EQ(one.device->start, start) << name;
    EXPECT_EQ(one.device->end, end) << name;
  }
  EXPECT_EQ(task, read.tasks.size());
  EXPECT_EQ(call, read.collectives.size());
}

TEST(WriteChakra, NodesWaitForTheirLaneForGradientsAndForWhatTheOptimizerNeeds) {
  const chakra::File file = chakra::parse_file(written(step(), Rank(0)));
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> waits;
  for (const chakra::Node& node : file.nodes) {
    waits.emplace_back(file.names.at(node.name), node.data_deps);
  }
  // By start, of the same start the shorter first: forward is 1, backward b 2, bucket 0 3, backward
  // a 4, bucket 1 5.
  EXPECT_EQ(waits, (std::vector<std::pair<std::string, std::vector<std::uint64_t>>>{
                       {"forward", {}},
                       {"backward b", {1}},
                       {"bucket 0", {2}},
                       {"backward a", {2}},
                       {"bucket 1", {3, 4}},
                       {"optimizer", {3, 4, 5}}}));
}

// Nothing in this step waits for anything else: who has only durations and dependencies finds the
// same times.
TEST(WriteChakra, HasTheDependenciesThatMakeItsTimes) {
  chakra::File file = chakra::parse_file(written(step(), Rank(0)));
  std::vector<TraceTime> told;
  for (chakra::Node& node : file.nodes) {
    told.push_back(node.start);
    node.start = 0;
  }
  chakra::schedule(file);
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(file.nodes[i].start, told[i]) << i;
}

TEST(WriteChakra, SpansWithoutLengthDoNotWaitForEachOther) {
  const StepTrace trace = trace_of(
      {{compute("a", OperationKind::backward, 0, 0), call(Collective::all_reduce, 4, 0, 0, "b"),
        compute("c", OperationKind::optimizer, 0, 0)}});
  const chakra::File file = chakra::parse_file(written(trace, Rank(0)));
  for (const chakra::Node& node : file.nodes) {
    for (const std::uint64_t id : node.data_deps) EXPECT_LT(id, node.id);
  }
  EXPECT_EQ(file.nodes.at(2).data_deps, (std::vector<std::uint64_t>{1, 2}));
}

TEST(WriteChakra, HasNoRankThatTheTraceLacks) {
  EXPECT_THROW(written(step(), Rank(3)), std::invalid_argument);
}

}  // namespace
}  // namespace paceline::traces
