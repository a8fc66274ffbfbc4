// Steps of one GPU that were measured in a strategy's wrapper.

#include <gtest/gtest.h>

#include "models/training/ddp.h"
#include "models/training/strategies.h"
#include "models/training/strategy.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

constexpr double millisecond = 1e-3;

// Two layers of 2 and 4 MB whose forward and backward take 12 ms, and the optimizer 2 ms. A kernel
// moves that many bytes a second.
workload::Workload copied_at(double bandwidth) {
  workload::Workload workload = two_layers();
  workload.device.memory_bandwidth = BytesPerSecond(bandwidth);
  return workload;
}

StepProgram ddp_without_copies(double bandwidth, bool is_view) {
  StepProgram program =
      build(ddp_strategy, copied_at(bandwidth), {{{"gradient_as_bucket_view", is_view}}, {}, 2});
  take_out_copies(program);
  return program;
}

Seconds sum_of(const StepProgram& program, OperationKind kind) {
  Seconds sum;
  for (const Operation& operation : program.operations) {
    if (operation.kind == kind) sum += std::get<Seconds>(operation.work);
  }
  return sum;
}

// Each gradient is read and written on its way into a bucket and again on its way back, at 20 GB/s:
// 2 x 2 x 6 MB take 1.2 ms, a tenth of 12 ms. Forward 1 + 4, backward 1 + 6 ms, each less a tenth.
TEST(TakeOutCopies, LeavesAsMuchComputeAsThePlainStepHas) {
  const StepProgram program = ddp_without_copies(20e9, false);
  EXPECT_NEAR(sum_of(program, OperationKind::copy).value(), 1.2 * millisecond, 1e-12);
  EXPECT_NEAR(sum_of(program, OperationKind::forward).value(), 4.5 * millisecond, 1e-12);
  EXPECT_NEAR(sum_of(program, OperationKind::backward).value(), 6.3 * millisecond, 1e-12);
  EXPECT_NEAR(sum_of(program, OperationKind::optimizer).value(), 2 * millisecond, 1e-12);
  const Seconds plain = copied_at(20e9).one_gpu_step(1);
  EXPECT_NEAR(plain.value(), 14 * millisecond, 1e-12);
  Seconds all;
  for (const OperationKind kind : {OperationKind::copy, OperationKind::forward,
                                   OperationKind::backward, OperationKind::optimizer}) {
    all += sum_of(program, kind);
  }
  EXPECT_NEAR(all.value(), plain.value(), 1e-12);
}

// Gradients that are views are divided where they are: 2 x 6 MB, 0.6 ms of 12.
TEST(TakeOutCopies, TakesOutWhatTheStrategyCopies) {
  const StepProgram program = ddp_without_copies(20e9, true);
  EXPECT_NEAR(sum_of(program, OperationKind::copy).value(), 0.6 * millisecond, 1e-12);
  EXPECT_NEAR(sum_of(program, OperationKind::forward).value(), 0.95 * 5 * millisecond, 1e-12);
  EXPECT_NEAR(sum_of(program, OperationKind::backward).value(), 0.95 * 7 * millisecond, 1e-12);
}

// At 1 GB/s copies take 24 ms: more than the 12 that there are.
TEST(TakeOutCopies, TakesOutNineTenthsAtMost) {
  const StepProgram program = ddp_without_copies(1e9, false);
  EXPECT_NEAR(sum_of(program, OperationKind::copy).value(), 24 * millisecond, 1e-12);
  EXPECT_NEAR(sum_of(program, OperationKind::forward).value(), 0.5 * millisecond, 1e-12);
  EXPECT_NEAR(sum_of(program, OperationKind::backward).value(), 0.7 * millisecond, 1e-12);
  EXPECT_NEAR(sum_of(program, OperationKind::optimizer).value(), 2 * millisecond, 1e-12);
}

// 1 ms of copies beside 4 + 6 ms; the 3 ms of the other lane are beside no compute, and the third
// has none.
TEST(TakeOutCopies, CountsThoseOfTheSameLane) {
  StepProgram program;
  const LaneId one = program.add_lane({"one", LaneKind::compute});
  const LaneId other = program.add_lane({"other", LaneKind::compute});
  const LaneId third = program.add_lane({"third", LaneKind::compute});
  const auto add = [&](OperationKind kind, LaneId lane, double time_ms) {
    return program.add({"operation", kind, lane, {}, Seconds(time_ms * millisecond)});
  };
  const OperationId forward = add(OperationKind::forward, one, 4);
  const OperationId backward = add(OperationKind::backward, one, 6);
  const OperationId launch = add(OperationKind::launch, one, 2);
  (void)add(OperationKind::copy, one, 1);
  const OperationId copy = add(OperationKind::copy, other, 3);
  const OperationId uncopied = add(OperationKind::backward, third, 5);
  take_out_copies(program);
  EXPECT_NEAR(time_of(program, forward).value(), 3.6 * millisecond, 1e-12);
  EXPECT_NEAR(time_of(program, backward).value(), 5.4 * millisecond, 1e-12);
  EXPECT_NEAR(time_of(program, launch).value(), 2 * millisecond, 1e-12);
  EXPECT_NEAR(time_of(program, copy).value(), 3 * millisecond, 1e-12);
  EXPECT_NEAR(time_of(program, uncopied).value(), 5 * millisecond, 1e-12);
}

}  // namespace
}  // namespace paceline::training
