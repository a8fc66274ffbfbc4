#include <gtest/gtest.h>

#include "models/training/buckets.h"
#include "models/training/strategies.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using workload::DataType;
using workload::ParameterTensor;

std::vector<ParameterTensor> tensors_of(const std::vector<std::uint64_t>& counts) {
  std::vector<ParameterTensor> tensors;
  for (const std::uint64_t count : counts) tensors.push_back({"tensor", ElementCount(count)});
  return tensors;
}

// Gradients come from the last to the first: 30, then 20 makes 50 and closes, 10 and 60 make 70 and
// close, 40 is left.
TEST(ApexBuckets, CloseAtTheirLeastNumberOfElements) {
  EXPECT_EQ(apex_buckets(tensors_of({40, 60, 10, 20, 30}), ElementCount(50)),
            (std::vector<Bucket>{{4, 3}, {2, 1}, {0}}));
}

TEST(ApexBuckets, CountElementsWhateverTheirSize) {
  auto tensors = tensors_of({40, 60, 10, 20, 30});
  for (ParameterTensor& tensor : tensors) tensor.type = DataType::float16;
  EXPECT_EQ(apex_buckets(tensors, ElementCount(50)), (std::vector<Bucket>{{4, 3}, {2, 1}, {0}}));
}

TEST(ApexBuckets, HoldOneTensorEachWhereAnyIsEnough) {
  EXPECT_EQ(apex_buckets(tensors_of({1, 1, 1}), ElementCount(1)),
            (std::vector<Bucket>{{2}, {1}, {0}}));
}

// fp32 30 + 40 close; of what is left fp16 comes before fp32 and fp64, though its gradient is last.
TEST(ApexBuckets, KeepTypesApartAndLeaveTheOpenOnesInTheirOrder) {
  auto tensors = tensors_of({5, 7, 9, 40, 30});
  tensors[0].type = DataType::float16;
  tensors[2].type = DataType::float64;
  EXPECT_EQ(apex_buckets(tensors, ElementCount(50)), (std::vector<Bucket>{{4, 3}, {0}, {1}, {2}}));
}

// two_layers on a device that moves 8 GB/s: reading and writing the 4 MB of b takes 1 ms, and the
// 2 MB of a half of that.
workload::Workload with_slow_memory(DataType type = DataType::float32) {
  auto workload = two_layers();
  workload.device.memory_bandwidth = BytesPerSecond(8e9);
  for (auto& layer : workload.layers) layer.parameters.front().type = type;
  return workload;
}

double milliseconds_of(const StepProgram& program, OperationId id) {
  return time_of(program, id).value() * 1e3;
}

using Values = std::map<std::string, settings::Value>;

StepProgram program_of(Values values, const workload::Workload& workload = with_slow_memory()) {
  values.try_emplace("message_size", std::uint64_t{1});
  return build(apex_ddp_strategy, workload, {std::move(values), {}, 2});
}

// Forward 0, backward b 1, flatten 2, all-reduce 3, average and unflatten 4; backward a 5, flatten
// 6, all-reduce 7, which waits for the stream, average and unflatten 8; optimizer 9.
TEST(ApexDdp, HasItsKernelsOnAReductionStream) {
  const auto program = program_of({});
  ASSERT_EQ(program.lanes.size(), 3U);
  EXPECT_EQ(program.lanes[1].in_flight, 1U);
  EXPECT_EQ(program.lanes[2].kind, LaneKind::compute);
  ASSERT_EQ(program.operations.size(), 10U);
  const std::vector<LaneId> lanes{0, 0, 0, 1, 2, 0, 0, 1, 2, 0};
  for (OperationId id = 0; id < lanes.size(); ++id) {
    EXPECT_EQ(program.operations[id].lane, lanes[id]) << id;
  }
  EXPECT_EQ(program.operations[3].after, Ids{2});
  EXPECT_EQ(program.operations[4].after, Ids{3});
  EXPECT_EQ(program.operations[7].after, (Ids{6, 4}));
  EXPECT_EQ(program.operations[9].after, Ids{8});
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 2), 1);
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 4), 1 + 1);
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 6), 0.5);
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 8), 0.5 + 0.5);
}

TEST(ApexDdp, CopiesNothingBackFromBuffersThatAreKept) {
  const auto program = program_of({{"retain_allreduce_buffers", true}});
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 4), 1);
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 8), 0.5);
}

// Before each all-reduce: backward b 1, flatten 2, divide 3.
TEST(ApexDdp, DividesBeforeTheAllReduceWhereThatIsAskedFor) {
  const auto program = program_of({{"gradient_predivide_factor", 2.0}});
  ASSERT_EQ(program.operations.size(), 12U);
  EXPECT_EQ(program.operations[3].lane, 2U);
  EXPECT_EQ(program.operations[3].after, Ids{2});
  EXPECT_EQ(program.operations[4].after, Ids{3});
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 3), 1);
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 5), 1 + 1);
}

// Of b's 1,000,000 halves: flatten 2 + 2 MB, 0.5 ms; cast 2 + 4 MB, 0.75 ms; average 1 ms; cast
// back 0.75 ms; unflatten 0.5 ms.
TEST(ApexDdp, CastsHalvesToFp32) {
  const auto halves = with_slow_memory(DataType::float16);
  const auto plain = program_of({}, halves);
  for (const Call& call : calls_of(plain, Collective::all_reduce)) {
    EXPECT_EQ(call.element_size, 2U);
  }
  const auto program = program_of({{"allreduce_always_fp32", true}}, halves);
  for (const Call& call : calls_of(program, Collective::all_reduce)) {
    EXPECT_EQ(call.element_size, 4U);
  }
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 2), 0.5);
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 3), 0.75);
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 5), 1 + 0.75 + 0.5);
  // fp32 is fp32 already.
  EXPECT_EQ(program_of({{"allreduce_always_fp32", true}}).operations.size(),
            program_of({}).operations.size());
}

// Buckets c, b, a: c and b on streams of their own, a behind c on the first.
TEST(ApexDdp, DealsBucketsToItsStreamsInTurn) {
  const auto three = workload_of(
      {layer_of("a", 1, 1, 1'000), layer_of("b", 1, 1, 1'000), layer_of("c", 1, 1, 1'000)});
  const auto program = program_of({{"num_allreduce_streams", std::uint64_t{2}}}, three);
  ASSERT_EQ(program.lanes.size(), 4U);
  EXPECT_EQ(program.lanes[1].in_flight, 2U);
  const auto calls = calls_of(program, Collective::all_reduce);
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].after.size(), 1U);
  EXPECT_EQ(calls[1].after.size(), 1U);
  ASSERT_EQ(calls[2].after.size(), 2U);
  EXPECT_EQ(program.operations[calls[2].after[1]].name, "bucket 0 average and unflatten");
  EXPECT_EQ(program.operations.back().after.size(), 2U);
}

// All on the compute stream: forward 0, backward 1 and 2, flatten 3, all-reduce 4, average and
// unflatten 5, optimizer 6. Another type is another buffer, one behind the other.
TEST(ApexDdp, ReducesOneBufferOfATypeAfterTheBackwardWhenDelayed) {
  const auto program = program_of({{"delay_allreduce", true}});
  ASSERT_EQ(program.operations.size(), 7U);
  EXPECT_EQ(program.lanes.size(), 2U);
  EXPECT_EQ(calls_of(program, Collective::all_reduce).at(0).count, 1'500'000U);
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 3), 1.5);
  EXPECT_DOUBLE_EQ(milliseconds_of(program, 5), 1.5 + 1.5);

  auto mixed = with_slow_memory();
  mixed.layers[0].parameters[0].type = DataType::float16;
  const auto calls =
      calls_of(program_of({{"delay_allreduce", true}}, mixed), Collective::all_reduce);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].element_size, 2U);
  EXPECT_EQ(calls[1].element_size, 4U);
}

TEST(ApexDdp, IsRefusedWhatApexRefuses) {
  workload::Workload workload = two_layers();
  CommonSettings common;
  settings::Settings settings(apex_ddp_strategy.keys);
  const auto refused = [&] {
    const auto refusal =
        apex_ddp_strategy.refuse({workload, cluster_of({{}, {}, 2}), settings, common});
    return refusal ? refusal->what : "";
  };
  EXPECT_EQ(refused(), "");
  settings.set("num_allreduce_streams", std::uint64_t{2});
  EXPECT_EQ(refused(), "");
  settings.set("delay_allreduce", true);
  EXPECT_EQ(
      refused(),
      "runs all-reduces after the backward with delay_allreduce, without streams of their own");
  settings.set("num_allreduce_streams", std::uint64_t{1});
  EXPECT_EQ(refused(), "");
  workload.layers[1].parameters[0].type = DataType::bfloat16;
  EXPECT_EQ(refused(), "reduces fp16, fp32 and fp64 only, and b.weight is bfloat16");
  common.wire_type = DataType::float16;
  EXPECT_EQ(refused(), "reduces gradients in their own type or in fp32");
}

}  // namespace
}  // namespace paceline::training
