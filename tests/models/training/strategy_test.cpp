#include "models/training/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "models/training/buckets.h"
#include "models/training/ddp.h"
#include "models/training/parameter_server.h"
#include "models/training/strategies.h"
#include "tests/models/training/built_step.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using workload::BufferTensor;
using workload::ParameterTensor;
using workload::TimedLayer;
using workload::Workload;

constexpr Seconds milliseconds(double value) { return Seconds(value * 1e-3); }
constexpr Seconds microseconds(double value) { return Seconds(value * 1e-6); }

ParameterTensor tensor(const char* name, std::uint64_t count, DataType type = DataType::float32) {
  return {name, ElementCount(count), type};
}

// Four layers, the second without parameters. Gradients become ready as head.weight (120 B),
// body.bias (100 B), body.weight (800 B), stem.weight (200 B).
//
// A kernel moves 0.5 GB/s and takes 1 us at least: reading and writing 120 B would take 0.48 us and
// takes 1 us; body.weight's 1,600 B take 3.2 us.
Workload four_layers() {
  Workload workload;
  workload.name = "four layers";
  workload.layers = {
      {"stem",
       milliseconds(1),
       milliseconds(2),
       {tensor("stem.weight", 50)},
       {{ElementCount(300), DataType::float32}, {ElementCount(1), DataType::int64}}},
      {"pool", milliseconds(0.5), milliseconds(0.25), {}, {}},
      {"body",
       milliseconds(2),
       milliseconds(4),
       {tensor("body.weight", 200), tensor("body.bias", 25)},
       {{ElementCount(20), DataType::float32}, {ElementCount(1), DataType::int64}}},
      {"head", milliseconds(1), milliseconds(1), {tensor("head.weight", 30)}, {}},
  };
  workload.optimizer = milliseconds(3);
  workload.device.memory_bandwidth = BytesPerSecond(1e9);
  workload.device.attained_memory = 0.5;
  workload.device.small_kernel_time = microseconds(1);
  return workload;
}

// First bucket 100 B, cap 850 B: buckets {head.weight}, {body.bias, body.weight}, {stem.weight}.
Told three_buckets() { return {{{"first_bucket", Bytes(100)}, {"bucket_cap", Bytes(850)}}, {}, 5}; }

std::vector<OperationId> ids_of(const StepProgram& program, OperationKind kind) {
  std::vector<OperationId> ids;
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    if (program.operations[id].kind == kind) ids.push_back(id);
  }
  return ids;
}

Seconds time_of(const StepProgram& program, OperationKind kind) {
  Seconds sum;
  for (const OperationId id : ids_of(program, kind)) sum += time_of(program, id);
  return sum;
}

void expect_time(Seconds actual, Seconds expected) {
  EXPECT_NEAR(actual.value(), expected.value(), expected.value() * 1e-12);
}

std::vector<OperationKind> kinds_of(const StepProgram& program) {
  std::vector<OperationKind> kinds;
  for (const Operation& operation : program.operations) kinds.push_back(operation.kind);
  return kinds;
}

// All operations that must be done before `id` starts, by `after` and by lanes with one operation
// at a time.
std::set<OperationId> done_before(const StepProgram& program, OperationId id) {
  std::vector<std::set<OperationId>> before(id + 1);
  std::vector<Ids> lane(program.lanes.size());
  for (OperationId i = 0; i <= id; ++i) {
    const Operation& operation = program.operations[i];
    const auto join = [&](OperationId earlier) {
      before[i].insert(earlier);
      before[i].insert(before[earlier].begin(), before[earlier].end());
    };
    for (const OperationId earlier : operation.after) join(earlier);
    Ids& of_lane = lane[operation.lane];
    const std::size_t in_flight = program.lanes[operation.lane].in_flight;
    if (of_lane.size() >= in_flight) {
      for (std::size_t k = 0; k + in_flight <= of_lane.size(); ++k) join(of_lane[k]);
    }
    of_lane.push_back(i);
  }
  return before[id];
}

// Those that cast gradients for the wire as they are told.
std::vector<const Strategy*> of_any_wire_type() {
  return {&ddp_strategy, &bulk_synchronous_strategy, &merged_gradient_strategy,
          &wait_free_strategy};
}

// Those that keep gradients whole on each rank, and so can add up passes there.
std::vector<const Strategy*> of_whole_gradients() {
  auto found = of_any_wire_type();
  found.push_back(&apex_ddp_strategy);
  return found;
}

// --- What holds for every strategy ---

TEST(Strategies, AreFoundByName) {
  std::set<std::string_view> names;
  for (const Strategy* strategy : strategies()) {
    EXPECT_TRUE(names.insert(strategy->name).second);
    EXPECT_EQ(find_strategy(strategy->name), strategy);
    EXPECT_FALSE(strategy->summary.empty());
  }
  EXPECT_EQ(find_strategy("no such strategy"), nullptr);
}

TEST(Strategies, MakeProgramsWithoutFaultOnceAlgorithmsAreNamed) {
  for (const Strategy* strategy : of_gradients()) {
    for (const bool unused : {false, true}) {
      Told settings = three_buckets();
      settings.values["find_unused_parameters"] = unused;
      const StepProgram program = build(*strategy, four_layers(), settings);
      EXPECT_NE(find_fault(program), std::nullopt) << strategy->name;
      EXPECT_EQ(find_fault(with_algorithms_named(program)), std::nullopt) << strategy->name;
    }
  }
  EXPECT_EQ(find_fault(build_plain(four_layers(), {})), std::nullopt);
}

// Forward 1 + 0.5 + 2 + 1 = 4.5 ms, backward 2 + 0.25 + 4 + 1 = 7.25 ms, optimizer 3 or 3/5 ms.
TEST(Strategies, KeepTheWorkloadsCompute) {
  for (const Strategy* strategy : of_gradients()) {
    const StepProgram program = build(*strategy, four_layers(), three_buckets());
    expect_time(time_of(program, OperationKind::forward), milliseconds(4.5));
    expect_time(time_of(program, OperationKind::backward), milliseconds(7.25));
    const bool is_whole = strategy != &fsdp_strategy && strategy != &deepspeed_zero_strategy;
    expect_time(time_of(program, OperationKind::optimizer), milliseconds(is_whole ? 3 : 0.6));
    EXPECT_TRUE(ids_of(program, OperationKind::input).empty()) << strategy->name;
  }
}

// 50 + 200 + 25 + 30 = 305 gradients of 4 B.
TEST(Strategies, ReduceEveryGradientOnce) {
  for (const Strategy* strategy : of_gradients()) {
    std::uint64_t gradients = 0;
    const auto program = build(*strategy, four_layers(), three_buckets());
    for (const Call& call : reductions_of(program)) {
      EXPECT_EQ(call.element_size, 4U);
      gradients += call.count;
    }
    EXPECT_EQ(gradients, 305U) << strategy->name;
  }
}

TEST(Strategies, ReduceAGradientOnlyAfterItsBackward) {
  for (const Strategy* strategy : of_gradients()) {
    const auto program = build(*strategy, four_layers(), three_buckets());
    const auto backward = ids_of(program, OperationKind::backward);
    for (const Call& call : reductions_of(program)) {
      ASSERT_FALSE(call.after.empty()) << strategy->name;
      // Whatever is reduced first, the backward of the head comes before it.
      EXPECT_TRUE(done_before(program, call.id).contains(backward.front())) << strategy->name;
    }
    // The last all-reduce holds the stem's gradient, so it waits for the whole backward.
    const auto last = reductions_of(program).back();
    EXPECT_TRUE(done_before(program, last.id).contains(backward.back())) << strategy->name;
  }
}

TEST(Strategies, EndWithTheOptimizerAfterEverythingElse) {
  for (const Strategy* strategy : of_gradients()) {
    for (const bool view : {false, true}) {
      for (const std::uint32_t in_flight : {1U, 2U}) {
        Told settings = three_buckets();
        settings.values["gradient_as_bucket_view"] = view;
        settings.values["find_unused_parameters"] = view;
        settings.common.collectives_in_flight = in_flight;
        const auto program = without_last_gather(build(*strategy, four_layers(), settings));
        const auto last = static_cast<OperationId>(program.operations.size() - 1);
        EXPECT_EQ(program.operations[last].kind, OperationKind::optimizer) << strategy->name;
        EXPECT_EQ(done_before(program, last).size(), program.operations.size() - 1)
            << strategy->name;
      }
    }
  }
}

TEST(Strategies, UseOneComputeAndOneCommunicationLane) {
  for (const Strategy* strategy : of_gradients()) {
    // Those have kernels on streams of their own, an engine, and connections to every server.
    if (strategy == &apex_ddp_strategy || strategy == &horovod_strategy) continue;
    if (strategy == &parameter_server_strategy) continue;
    Told settings = three_buckets();
    settings.common.collectives_in_flight = 2;
    const StepProgram program = build(*strategy, four_layers(), settings);
    ASSERT_EQ(program.lanes.size(), 2U) << strategy->name;
    EXPECT_EQ(program.lanes[0].kind, LaneKind::compute);
    EXPECT_EQ(program.lanes[0].in_flight, 1U);
    EXPECT_EQ(program.lanes[1].kind, LaneKind::communication);
    EXPECT_EQ(program.lanes[1].in_flight, 2U);
    for (const Operation& operation : program.operations) {
      const bool is_call = std::holds_alternative<CollectiveCall>(operation.work);
      EXPECT_EQ(operation.lane, is_call ? 1U : 0U) << strategy->name << ": " << operation.name;
      EXPECT_EQ(operation.kind == OperationKind::collective, is_call) << operation.name;
    }
  }
}

// Three passes of 4.5 + 7.25 ms come before the one that reduces.
TEST(Strategies, ReduceOnlyInTheLastPassWhenGradientsAccumulate) {
  for (const Strategy* strategy : of_whole_gradients()) {
    Told settings = three_buckets();
    const auto once = build(*strategy, four_layers(), settings);
    settings.common.gradient_accumulation = 4;
    const auto four_times = build(*strategy, four_layers(), settings);
    EXPECT_EQ(calls_of(four_times, Collective::all_reduce).size(),
              calls_of(once, Collective::all_reduce).size());
    expect_time(
        time_of(four_times, OperationKind::forward) + time_of(four_times, OperationKind::backward),
        milliseconds(4 * (4.5 + 7.25)));
    expect_time(time_of(four_times, OperationKind::optimizer), milliseconds(3));
    expect_time(time_of(four_times, OperationKind::copy), time_of(once, OperationKind::copy));
    // The first thing reduced waits for the three passes.
    const auto first = calls_of(four_times, Collective::all_reduce).front();
    const auto forward = ids_of(four_times, OperationKind::forward);
    ASSERT_EQ(forward.size(), 2U);
    expect_time(time_of(four_times, forward[0]), milliseconds(3 * (4.5 + 7.25)));
    EXPECT_TRUE(done_before(four_times, first.id).contains(forward[0]));
  }
}

TEST(Strategies, TakeTheirInputBeforeTheForward) {
  for (const Strategy* strategy : of_gradients()) {
    Workload workload = four_layers();
    workload.input = milliseconds(5);
    const auto program = build(*strategy, workload, three_buckets());
    const auto input = ids_of(program, OperationKind::input);
    ASSERT_EQ(input.size(), 1U);
    expect_time(time_of(program, input[0]), milliseconds(5));
    const auto forward = ids_of(program, OperationKind::forward);
    EXPECT_TRUE(done_before(program, forward[0]).contains(input[0]));
  }
}

// Half the bytes; the counts stay. Each tensor travels in its own type.
TEST(Strategies, SendGradientsInTheTypeOfTheirParameters) {
  for (const Strategy* strategy : of_gradients()) {
    Workload workload = four_layers();
    for (auto& layer : workload.layers) {
      for (auto& parameter : layer.parameters) parameter.type = DataType::bfloat16;
    }
    workload.layers[3].parameters = {tensor("head.weight", 30, DataType::int64)};
    const Told settings = three_buckets();
    std::uint64_t of_2_bytes = 0, of_8_bytes = 0;
    for (const Call& call : reductions_of(build(*strategy, workload, settings))) {
      if (call.element_size == 2) of_2_bytes += call.count;
      if (call.element_size == 8) of_8_bytes += call.count;
    }
    EXPECT_EQ(of_2_bytes, 275U) << strategy->name;  // 50 + 200 + 25
    EXPECT_EQ(of_8_bytes, 30U) << strategy->name;
  }
}

// Buckets are those of the 4-byte parameters, but 2 bytes an element travel. A cast reads 4 bytes
// and writes 2, at 0.5 GB/s and in 1 us at least: one a call before it, one after.
TEST(Strategies, CastGradientsAroundTheirReductionWhenTheWireHasAnotherType) {
  for (const Strategy* strategy : of_any_wire_type()) {
    Told settings = three_buckets();
    const StepProgram plain = build(*strategy, four_layers(), settings);
    settings.common.wire_type = DataType::float16;
    const StepProgram cast = build(*strategy, four_layers(), settings);
    const auto calls = calls_of(cast, Collective::all_reduce);
    const auto before = calls_of(plain, Collective::all_reduce);
    ASSERT_EQ(calls.size(), before.size()) << strategy->name;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(calls[i].count, before[i].count) << strategy->name;
      EXPECT_EQ(calls[i].element_size, 2U) << strategy->name;
    }
    Seconds casts;
    for (const Call& call : calls) {
      casts +=
          2.0 * std::max(microseconds(1), Seconds(static_cast<double>(6 * call.count) / 0.5e9));
    }
    expect_time(time_of(cast, OperationKind::copy), time_of(plain, OperationKind::copy) + casts);
    settings.common.wire_type = DataType::float32;  // the type they have
    EXPECT_EQ(kinds_of(build(*strategy, four_layers(), settings)), kinds_of(plain));
  }
}

TEST(PlainStep, HasNoCommunication) {
  Workload workload = four_layers();
  workload.input = milliseconds(5);
  const StepProgram program = build_plain(workload, {});
  Seconds sum;
  for (const Operation& operation : program.operations) {
    ASSERT_TRUE(std::holds_alternative<Seconds>(operation.work)) << operation.name;
    EXPECT_NE(operation.kind, OperationKind::copy);
    sum += std::get<Seconds>(operation.work);
  }
  expect_time(sum, workload.one_gpu_step(1));
  expect_time(sum, milliseconds(5 + 4.5 + 7.25 + 3));
}

TEST(PlainStep, RepeatsForwardAndBackwardWhenGradientsAccumulate) {
  Told settings;
  settings.common.gradient_accumulation = 4;
  const StepProgram program = build_plain(four_layers(), settings);
  Seconds sum;
  for (const Operation& operation : program.operations) sum += std::get<Seconds>(operation.work);
  expect_time(sum, four_layers().one_gpu_step(4));
  expect_time(sum, milliseconds(4 * (4.5 + 7.25) + 3));
}

// --- ddp ---

// Per layer with parameters: backward, copy to the bucket, and where that fills the bucket, its
// all-reduce. The pool's backward joins the stem's.
TEST(Ddp, OverlapsBucketsWithTheBackward) {
  Told settings = three_buckets();
  settings.values["broadcast_buffers"] = false;
  const StepProgram program = build(ddp_strategy, four_layers(), settings);
  using enum OperationKind;
  const std::vector expected{forward,                     // 0
                             backward, copy, collective,  // 1-3: head, bucket 0
                             backward, copy, collective,  // 4-6: body, bucket 1
                             backward, copy, collective,  // 7-9: pool and stem, bucket 2
                             copy,     copy, copy,       optimizer};  // 10-13
  ASSERT_EQ(kinds_of(program), expected);
  expect_time(time_of(program, 1), milliseconds(1));
  expect_time(time_of(program, 4), milliseconds(4));
  expect_time(time_of(program, 7), milliseconds(2.25));
  const auto calls = calls_of(program, Collective::all_reduce);
  EXPECT_EQ(calls[0].count, 30U);
  EXPECT_EQ(calls[1].count, 225U);
  EXPECT_EQ(calls[2].count, 50U);
  EXPECT_EQ(calls[0].after, Ids{2});
  EXPECT_EQ(calls[1].after, Ids{5});
  EXPECT_EQ(calls[2].after, Ids{8});
  EXPECT_EQ(program.operations[10].after, Ids{3});
  EXPECT_EQ(program.operations[11].after, Ids{6});
  EXPECT_EQ(program.operations[12].after, Ids{9});
  EXPECT_EQ(program.operations[13].after, (Ids{3, 6, 9}));
}

// One kernel a tensor reads the gradient and writes the bucket: head 1 us, body 3.2 + 1 us, stem 1
// us (200 B twice are 0.8 us of traffic). The same again for the way back.
TEST(Ddp, CopiesIntoTheBucketsAndBack) {
  Told settings = three_buckets();
  settings.values["broadcast_buffers"] = false;
  const StepProgram program = build(ddp_strategy, four_layers(), settings);
  const auto copies = ids_of(program, OperationKind::copy);
  ASSERT_EQ(copies.size(), 6U);
  const std::vector<double> expected_us{1, 4.2, 1, 1, 4.2, 1};
  for (std::size_t i = 0; i < copies.size(); ++i) {
    expect_time(time_of(program, copies[i]), microseconds(expected_us[i]));
  }
}

// The division in place reads and writes as much; nothing is copied back.
TEST(Ddp, OnlyDividesWhenGradientsAreViewsOfTheBuckets) {
  Told settings = three_buckets();
  settings.values["broadcast_buffers"] = false;
  settings.values["gradient_as_bucket_view"] = true;
  const StepProgram program = build(ddp_strategy, four_layers(), settings);
  using enum OperationKind;
  const std::vector expected{forward,    backward, copy, collective, backward, copy,
                             collective, backward, copy, collective, optimizer};
  ASSERT_EQ(kinds_of(program), expected);
  expect_time(time_of(program, OperationKind::copy), microseconds(1 + 4.2 + 1));
  EXPECT_EQ(program.operations.back().after, (Ids{3, 6, 9}));
}

// Float16 body, float32 head and stem, no bucket ever full: {head, stem} and {body}, in the order
// of their first gradient. The body is ready first, but waits for the bucket before it.
TEST(Ddp, LaunchesBucketsStrictlyInOrder) {
  Workload workload = four_layers();
  workload.layers[2].parameters = {tensor("body.weight", 200, DataType::float16),
                                   tensor("body.bias", 25, DataType::float16)};
  Told settings;
  settings.values["broadcast_buffers"] = false;
  const StepProgram program = build(ddp_strategy, workload, settings);
  using enum OperationKind;
  const std::vector expected{forward, backward,   copy,       backward, copy, backward,
                             copy,    collective, collective, copy,     copy, optimizer};
  ASSERT_EQ(kinds_of(program), expected);
  const auto calls = calls_of(program, Collective::all_reduce);
  EXPECT_EQ(calls[0].count, 80U);  // head and stem
  EXPECT_EQ(calls[0].element_size, 4U);
  EXPECT_EQ(calls[1].count, 225U);
  EXPECT_EQ(calls[1].element_size, 2U);
  EXPECT_EQ(calls[0].after, Ids{6});  // both are launched by the copy of the stem
  EXPECT_EQ(calls[1].after, Ids{6});
}

// 300 + 20 float32 and 1 + 1 int64 in one broadcast each; then a kernel a buffer: 300 * 4 * 2 B
// take 4.8 us, the others 1 us each.
TEST(Ddp, BroadcastsBuffersBeforeTheForward) {
  const StepProgram program = build(ddp_strategy, four_layers(), three_buckets());
  const auto broadcasts = calls_of(program, Collective::broadcast);
  ASSERT_EQ(broadcasts.size(), 2U);
  EXPECT_EQ(broadcasts[0].count, 320U);
  EXPECT_EQ(broadcasts[0].element_size, 4U);
  EXPECT_EQ(broadcasts[1].count, 2U);
  EXPECT_EQ(broadcasts[1].element_size, 8U);
  const OperationId copies = ids_of(program, OperationKind::copy).front();
  EXPECT_EQ(program.operations[copies].after, (Ids{broadcasts[0].id, broadcasts[1].id}));
  expect_time(time_of(program, copies), microseconds(4.8 + 3 * 1));
  const OperationId forward = ids_of(program, OperationKind::forward).front();
  EXPECT_EQ(program.operations[forward].after, Ids{copies});
  EXPECT_LT(copies, forward);
}

TEST(Ddp, BroadcastsNothingWithoutBuffersOrWhenTold) {
  Told settings = three_buckets();
  Workload bare = four_layers();
  for (TimedLayer& layer : bare.layers) layer.buffers.clear();
  EXPECT_TRUE(calls_of(build(ddp_strategy, bare, settings), Collective::broadcast).empty());
  settings.values["broadcast_buffers"] = false;
  EXPECT_TRUE(
      calls_of(build(ddp_strategy, four_layers(), settings), Collective::broadcast).empty());
}

// The map has an int32 a parameter tensor and is reduced after the last bucket.
TEST(Ddp, ReducesTheMapOfUsedParametersWhenItLooksForUnusedOnes) {
  Told settings = three_buckets();
  settings.values["find_unused_parameters"] = true;
  const StepProgram program = build(ddp_strategy, four_layers(), settings);
  const auto calls = calls_of(program, Collective::all_reduce);
  // Limits 100 and 850 B over the definition: stem (200 B), body (900 B), head; then reversed.
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls[0].count, 30U);
  EXPECT_EQ(calls[1].count, 225U);
  EXPECT_EQ(calls[2].count, 50U);
  EXPECT_EQ(calls[3].count, 4U);
  EXPECT_EQ(calls[3].element_size, 4U);
  const auto& optimizer = program.operations.back();
  EXPECT_EQ(optimizer.after, (Ids{calls[0].id, calls[1].id, calls[2].id, calls[3].id}));

  settings.values["static_graph"] = true;
  EXPECT_EQ(calls_of(build(ddp_strategy, four_layers(), settings), Collective::all_reduce).size(),
            3U);
}

TEST(Ddp, ReducesOnceAtTheEndInItsFirstIteration) {
  Told settings = three_buckets();
  settings.values["iteration"] = std::uint64_t{1};
  const StepProgram program = build(ddp_strategy, four_layers(), settings);
  const auto calls = calls_of(program, Collective::all_reduce);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].count, 305U);
  EXPECT_GT(calls[0].id, ids_of(program, OperationKind::backward).back());
}

// Two passes of 4.5 + 7.25 ms, each with three buckets and their copies; the forward of the second
// waits for the buckets of the first.
TEST(Ddp, ReducesInEveryPassWithoutNoSync) {
  Told settings = three_buckets();
  settings.values["broadcast_buffers"] = false;
  const auto once = build(ddp_strategy, four_layers(), settings);
  settings.values["no_sync"] = false;
  settings.common.gradient_accumulation = 2;
  const auto twice = build(ddp_strategy, four_layers(), settings);
  const auto calls = calls_of(twice, Collective::all_reduce);
  ASSERT_EQ(calls.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(calls[i].count, calls[3 + i].count);
  expect_time(time_of(twice, OperationKind::forward), milliseconds(2 * 4.5));
  expect_time(time_of(twice, OperationKind::backward), milliseconds(2 * 7.25));
  expect_time(time_of(twice, OperationKind::copy), 2.0 * time_of(once, OperationKind::copy));
  expect_time(time_of(twice, OperationKind::optimizer), milliseconds(3));
  const auto forward = ids_of(twice, OperationKind::forward);
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_EQ(twice.operations[forward[1]].after, (Ids{calls[0].id, calls[1].id, calls[2].id}));
  EXPECT_EQ(twice.operations.back().after, (Ids{calls[3].id, calls[4].id, calls[5].id}));
}

// Buffers of two types: before the first of the passes in no_sync, or before each of those that
// reduce.
TEST(Ddp, BroadcastsBuffersAfterAPassThatReduced) {
  Told settings = three_buckets();
  settings.common.gradient_accumulation = 3;
  const auto accumulated = build(ddp_strategy, four_layers(), settings);
  EXPECT_EQ(calls_of(accumulated, Collective::broadcast).size(), 2U);
  const auto passes = ids_of(accumulated, OperationKind::forward);
  const auto copied = ids_of(accumulated, OperationKind::copy).front();
  EXPECT_EQ(accumulated.operations[passes[0]].after, Ids{copied});
  EXPECT_EQ(accumulated.operations[passes[1]].after, Ids{});

  settings.values["no_sync"] = false;
  const auto reduced = build(ddp_strategy, four_layers(), settings);
  const auto broadcasts = calls_of(reduced, Collective::broadcast);
  ASSERT_EQ(broadcasts.size(), 6U);
  EXPECT_EQ(broadcasts[1].after, Ids{});
  EXPECT_EQ(broadcasts[2].after.size(), 3U);  // the buckets of the pass before
}

// Four parameters, each 10 us.
TEST(Ddp, SearchesForUnusedParametersBetweenForwardAndBackward) {
  Told settings = three_buckets();
  settings.values["broadcast_buffers"] = false;
  settings.values["unused_search_time"] = microseconds(10);
  EXPECT_EQ(kinds_of(build(ddp_strategy, four_layers(), settings))[1], OperationKind::backward);
  settings.values["find_unused_parameters"] = true;
  const auto program = build(ddp_strategy, four_layers(), settings);
  EXPECT_EQ(program.operations[1].name, "search for unused parameters");
  expect_time(time_of(program, 1), microseconds(40));
  EXPECT_EQ(program.operations[2].kind, OperationKind::backward);
}

// --- bulk_synchronous ---

// Flat copies in (1 + 3.2 + 1 + 1 us, a kernel a tensor), all-reduce, divide and copy back.
TEST(BulkSynchronous, ReducesAllGradientsOfATypeInOneCallAfterTheBackward) {
  const StepProgram program = build(bulk_synchronous_strategy, four_layers(), {});
  using enum OperationKind;
  const std::vector expected{forward, backward,   backward, backward,
                             copy,    collective, copy,     optimizer};
  ASSERT_EQ(kinds_of(program), expected);
  EXPECT_EQ(calls_of(program, Collective::all_reduce)[0].count, 305U);
  EXPECT_EQ(program.operations[5].after, Ids{4});
  EXPECT_EQ(program.operations[6].after, Ids{5});
  expect_time(time_of(program, 4), microseconds(6.2));
  expect_time(time_of(program, 6), microseconds(6.2));
}

TEST(BulkSynchronous, ReducesEachTypeByItself) {
  Workload workload = four_layers();
  workload.layers[2].parameters[0].type = DataType::float16;
  const StepProgram program = build(bulk_synchronous_strategy, workload, {});
  const auto calls = calls_of(program, Collective::all_reduce);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].count * calls[0].element_size, 105U * 4);
  EXPECT_EQ(calls[1].count * calls[1].element_size, 200U * 2);
  EXPECT_EQ(calls[0].after, calls[1].after);
  const OperationId back = ids_of(program, OperationKind::copy).back();
  EXPECT_EQ(program.operations[back].after, (Ids{calls[0].id, calls[1].id}));
}

// --- wait_free ---

TEST(WaitFree, ReducesTensorByTensorFromTheLastToTheFirst) {
  const StepProgram program = build(wait_free_strategy, four_layers(), {});
  using enum OperationKind;
  const std::vector expected{forward,  backward,   collective,              // head
                             backward, collective, collective,              // body
                             backward, collective, copy,       optimizer};  // pool and stem
  ASSERT_EQ(kinds_of(program), expected);
  const auto calls = calls_of(program, Collective::all_reduce);
  const std::vector<std::uint64_t> counts{30, 25, 200, 50};
  const std::vector<Ids> after{{1}, {3}, {3}, {6}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(calls[i].count, counts[i]);
    EXPECT_EQ(calls[i].after, after[i]);
  }
  EXPECT_EQ(program.operations[8].after, (Ids{2, 4, 5, 7}));
  expect_time(time_of(program, 8), microseconds(1 + 1 + 3.2 + 1));  // the division, in place
}

// Layers without parameters at the front: their backward comes after the last gradient.
TEST(Strategies, RunTheBackwardOfTheFirstLayersAfterTheLastGradient) {
  Workload workload = four_layers();
  workload.layers[0].parameters.clear();
  const StepProgram program = build(wait_free_strategy, workload, {});
  const auto backward = ids_of(program, OperationKind::backward);
  ASSERT_EQ(backward.size(), 3U);
  EXPECT_GT(backward[2], calls_of(program, Collective::all_reduce).back().id);
  expect_time(time_of(program, backward[2]), milliseconds(2.25));
}

}  // namespace
}  // namespace paceline::training
