#include "traces/replay/replay.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "models/cost/closed_step.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using training::LaneKind;
using training::OperationKind;

Span compute(const char* name, OperationKind kind, double from_us, double to_us,
             std::vector<ElementCount> gradients = {}) {
  Span span{name, kind, 0, Seconds(from_us * 1e-6), Seconds(to_us * 1e-6), Bytes(0), ""};
  span.gradients = std::move(gradients);
  return span;
}

Span call(Collective collective, std::uint64_t bytes, double from_us, double to_us) {
  return {"call",
          OperationKind::collective,
          1,
          Seconds(from_us * 1e-6),
          Seconds(to_us * 1e-6),
          Bytes(bytes),
          "RING_LL",
          collective,
          ElementSize(4)};
}

StepTrace trace_of(std::vector<std::vector<Span>> ranks) {
  StepTrace trace{{{"compute", LaneKind::compute}, {"communication", LaneKind::communication}}, {}};
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    trace.classes.push_back({{Rank(r)}, std::move(ranks[r])});
  }
  return trace;
}

// Rank 0 is ready after 60 and 80 us, rank 1 after 70 and 95. The first bucket takes 20 us from
// the last to join, the second 15; the optimizer 10.
StepTrace two_buckets() {
  const auto rank = [](double first, double second) {
    return std::vector{compute("a", OperationKind::backward, 0, first, {ElementCount(30)}),
                       call(Collective::all_reduce, 120, first, 90),
                       compute("b", OperationKind::backward, first, second, {ElementCount(10)}),
                       call(Collective::all_reduce, 40, std::max(second, 90.0), 110),
                       compute("optimizer", OperationKind::optimizer, 110, 120)};
  };
  return trace_of({rank(60, 80), rank(70, 95)});
}

// On one node, where calls of known times cross no links.
double replayed_us(const training::StepProgram& program, std::uint32_t ranks) {
  ResolvedPoint point;
  point.fidelity = Fidelity::closed;
  point.cluster.gpus_per_node = ranks;
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);
  point.program = program;
  return cost::predict_closed(std::move(point)).totals.step.value() * 1e6;
}

TEST(TracedProgram, TakesWhatTheStepTook) {
  const auto program = traced_program(two_buckets()).program;
  EXPECT_EQ(find_fault(program), std::nullopt);
  EXPECT_NEAR(replayed_us(program, 2), 120, 1e-9);
}

// With calls of 40 and 30 us: 70 + 40 = 110, behind it 110 + 30 = 140, optimizer 150.
TEST(TracedProgram, TellsWaitingFromTransfer) {
  auto program = traced_program(two_buckets()).program;
  for (auto& operation : program.operations) {
    auto* call = std::get_if<training::CollectiveCall>(&operation.work);
    if (call == nullptr) continue;
    EXPECT_NEAR(call->known_time->value() * 1e6, call->count == ElementCount(30) ? 20 : 15, 1e-9);
    call->known_time = *call->known_time * 2;
  }
  EXPECT_NEAR(replayed_us(program, 2), 150, 1e-9);
}

// Measured compute begins when it is due, and ends when its rank has woken: at 11 and 21 instead of
// 10 and 20 us. What it takes is counted once.
TEST(TracedProgram, CountsComputeThatOverlapsOnce) {
  const auto program = traced_program(trace_of({{compute("a", OperationKind::forward, 0, 11),
                                                 compute("b", OperationKind::backward, 10, 21),
                                                 call(Collective::all_reduce, 40, 21, 25),
                                                 compute("c", OperationKind::optimizer, 25, 30)}}))
                           .program;
  EXPECT_NEAR(replayed_us(program, 1), 30, 1e-9);
  EXPECT_NEAR(std::get<Seconds>(program.operations[1].work).value() * 1e6, 10, 1e-9);
}

// The optimizer waits for both buckets, the second backward for none, though the first call had
// ended when it began on no rank, and had it: backward makes a gradient ready.
TEST(TracedProgram, LetsBackwardPassAllReduces) {
  const auto rank = std::vector{compute("a", OperationKind::backward, 0, 10, {ElementCount(30)}),
                                call(Collective::all_reduce, 120, 10, 20),
                                compute("b", OperationKind::backward, 20, 40, {ElementCount(10)}),
                                call(Collective::all_reduce, 40, 40, 50),
                                compute("optimizer", OperationKind::optimizer, 50, 60)};
  const auto program = traced_program(trace_of({rank})).program;
  EXPECT_TRUE(program.operations[2].after.empty());
  EXPECT_EQ(program.operations[4].after, (std::vector<training::OperationId>{1, 3}));
}

// Compute after an all-to-all that had ended on both ranks waits for it; where one rank went on
// before it ended, it does not.
TEST(TracedProgram, WaitsForWhatHadEndedOnEveryRank) {
  const auto rank = [](double goes_on) {
    return std::vector{
        compute("a", OperationKind::forward, 0, 10), call(Collective::all_to_all, 400, 10, 20),
        compute("b", OperationKind::forward, goes_on, 40),
        call(Collective::all_to_all, 400, 40, 50), compute("c", OperationKind::optimizer, 50, 60)};
  };
  const auto waits = traced_program(trace_of({rank(20), rank(25)})).program;
  EXPECT_EQ(waits.operations[2].after, (std::vector<training::OperationId>{1}));
  const auto passes = traced_program(trace_of({rank(20), rank(15)})).program;
  EXPECT_TRUE(passes.operations[2].after.empty());
}

TEST(TracedProgram, KeepsTimesOfCallsThatTheTraceDoesNotTell) {
  auto untold = call(Collective::all_reduce, 0, 10, 35);
  untold.collective.reset();
  const auto program =
      traced_program(trace_of({{compute("a", OperationKind::forward, 0, 10), untold,
                                compute("b", OperationKind::optimizer, 35, 40)}}));
  EXPECT_EQ(program.untold_calls, 1U);
  EXPECT_NEAR(replayed_us(program.program, 1), 40, 1e-9);
}

// Rank 1's compute is 95 + 10 of 105 us, rank 0's 80 + 10: the median of two is the lower.
TEST(TracedCompute, TakesOneRankApartByGradients) {
  const auto made = traced_compute(two_buckets());
  EXPECT_EQ(made.gradients, 2U);
  const auto& layers = made.workload.layers;
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_NEAR(layers[0].forward.value(), 60e-6, 1e-15);
  EXPECT_EQ(layers[1].parameters.at(0).count, ElementCount(10));
  EXPECT_NEAR(layers[1].backward.value(), 20e-6, 1e-15);
  EXPECT_EQ(layers[2].parameters.at(0).count, ElementCount(30));
  EXPECT_EQ(layers[2].backward, Seconds(0));
  EXPECT_NEAR(made.workload.optimizer.value(), 10e-6, 1e-15);
  ASSERT_EQ(made.slowdown.size(), 2U);
  EXPECT_NEAR(made.slowdown[0], 1, 1e-12);
  EXPECT_NEAR(made.slowdown[1], 105.0 / 90, 1e-12);
}

TEST(TracedCompute, KeepsBuffersThatAreBroadcast) {
  auto trace = two_buckets();
  for (RankClass& members : trace.classes) {
    members.spans.insert(members.spans.begin(), call(Collective::broadcast, 4000, 0, 0));
  }
  const auto made = traced_compute(trace);
  ASSERT_EQ(made.workload.layers[0].buffers.size(), 1U);
  EXPECT_EQ(made.workload.layers[0].buffers[0].count, ElementCount(1000));
}

TEST(TracedCompute, KnowsNoGradientsWhenOneHasNoSize) {
  auto trace = two_buckets();
  trace.classes[0].spans[2].gradients = {ElementCount(0)};
  EXPECT_EQ(traced_compute(trace).gradients, 0U);
}

}  // namespace
}  // namespace paceline::traces
