// Whether compute waits for a collective, pattern by pattern: what a step takes when its calls take
// longer shows what waits for what.

#include <gtest/gtest.h>

#include "tests/traces/learn/replayed.h"
#include "tests/traces/learn/traced.h"
#include "traces/learn/traced_step.h"

namespace paceline::traces {
namespace {

// The last step, with each collective taking so many times as long.
double with_calls(double times, const Traced& traced) {
  auto program = learned({traced.trace}).trace.program;
  for (training::Operation& operation : program.operations) {
    if (auto* call = call_of(operation)) {
      auto& known = std::get<training::KnownCall>(call->how);
      known.time = known.time * times;
    }
  }
  return replayed_us(program, 1);
}

std::vector<std::string> assumed(const Traced& traced) {
  return learned({traced.trace}).assumptions.sentences();
}

enum class Events { none, before_each_call, behind_all };

// Two steps of four blocks: 100 us of compute, then 50 us of an all-reduce that the next one waits
// for. The host launches all of a step within 40 us.
Traced blocks(Events events) {
  Traced made;
  for (int i = 0; i < 2; ++i) {
    const TraceTime t = 600 * i;
    made.step(i + 1, t, t + 600);
    for (int block = 0; block < 4; ++block) {
      const TraceTime launched = t + 1 + 8 * block, start = t + 150 * block;
      made.kernel(launched, start, start + 100);
      if (events == Events::before_each_call) made.gradient(launched + 2);
      made.call("allreduce", launched + 5, start + 100, start + 150);
      if (events == Events::behind_all && block == 3) made.gradient(launched + 6);
    }
  }
  return made;
}

// One device timeline is one step, wherever gradients are marked: 4 x 100 + 4 x 50, or 4 x 100.
TEST(Waits, AreThoseOfTheDeviceWhereverGradientsStand) {
  for (const Events events : {Events::none, Events::before_each_call, Events::behind_all}) {
    const Traced traced = blocks(events);
    EXPECT_NEAR(with_calls(1, traced), 600, 1e-6);
    EXPECT_NEAR(with_calls(2, traced), 800, 1e-6);
    EXPECT_TRUE(assumed(traced).empty());
  }
}

// Two buckets of 40 us behind backward passes of 100 us each, which go on: the second call ends 40
// us behind them. With calls of 80 us only that one shows; with 160 us it queues behind the first.
TEST(Waits, AreNoneForBucketsBesideBackward) {
  Traced made;
  for (int i = 0; i < 2; ++i) {
    const TraceTime t = 350 * i;
    made.step(i + 1, t, t + 350);
    made.kernel(t + 1, t, t + 100);
    made.kernel(t + 2, t + 100, t + 200);
    made.gradient(t + 3);
    made.call("allreduce", t + 4, t + 200, t + 240);
    made.kernel(t + 8, t + 200, t + 300);
    made.gradient(t + 9);
    made.call("allreduce", t + 10, t + 300, t + 340);
    made.kernel(t + 20, t + 340, t + 350);
  }
  EXPECT_NEAR(with_calls(1, made), 350, 1e-6);
  EXPECT_NEAR(with_calls(2, made), 300 + 80 + 10, 1e-6);
  EXPECT_NEAR(with_calls(4, made), 200 + 160 + 160 + 10, 1e-6);
}

// SyncBatchNorm in backward: 30 us that the pass waits for, between buckets that it does not.
TEST(Waits, TellSyncBatchNormFromBuckets) {
  Traced made;
  for (int i = 0; i < 2; ++i) {
    const TraceTime t = 400 * i;
    made.step(i + 1, t, t + 400);
    made.kernel(t + 1, t, t + 100);
    made.call("allreduce", t + 2, t + 100, t + 130);  // of statistics
    made.kernel(t + 6, t + 130, t + 200);
    made.gradient(t + 7);
    made.call("allreduce", t + 8, t + 200, t + 260);  // a bucket
    made.kernel(t + 12, t + 200, t + 300);
    made.gradient(t + 13);
    made.call("allreduce", t + 14, t + 300, t + 380);
    made.kernel(t + 20, t + 380, t + 400);
  }
  EXPECT_NEAR(with_calls(1, made), 400, 1e-6);
  // 100 + 60, 70 more, a bucket of 120 beside 100, then 160 behind its end at 350, and 20.
  EXPECT_NEAR(with_calls(2, made), 100 + 60 + 70 + 120 + 160 + 20, 1e-6);
}

// A host that launches backward only after the call is late, or has waited: the file cannot tell.
TEST(Waits, AreUnclearWhereTheHostMayHaveBeenLate) {
  Traced made;
  for (int i = 0; i < 2; ++i) {
    const TraceTime t = 300 * i;
    made.step(i + 1, t, t + 300);
    made.kernel(t + 1, t, t + 100);
    made.gradient(t + 2);
    made.call("allreduce", t + 3, t + 100, t + 150);
    made.kernel(t + 155, t + 160, t + 250);
    made.gradient(t + 156);
    made.call("allreduce", t + 157, t + 250, t + 290);
    made.kernel(t + 160, t + 290, t + 300);
  }
  EXPECT_NEAR(with_calls(1, made), 300, 1e-6);
  EXPECT_EQ(assumed(made),
            std::vector<std::string>{"waiting: 1 all-reduces ended while the GPU waited for its "
                                     "host; compute is assumed not to wait for them"});
}

// Recorded waits tell what device times cannot: here the device idles until each call has ended,
// and compute goes on right behind it.
Traced idling(std::optional<TraceTime> wait_after_call) {
  Traced made;
  for (int i = 0; i < 2; ++i) {
    const TraceTime t = 300 * i;
    made.step(i + 1, t, t + 300);
    made.kernel(t + 1, t, t + 100);
    made.gradient(t + 2);
    made.call("allreduce", t + 3, t + 100, t + 150).device->stream = 20;
    made.kernel(t + 10, t + 150, t + 250);
    made.gradient(t + 11);
    made.call("allreduce", t + 12, t + 250, t + 290).device->stream = 20;
    made.kernel(t + 30, t + 290, t + 300);
    if (wait_after_call) made.wait(t + 3 + *wait_after_call);
  }
  return made;
}

TEST(Waits, AreThoseThatTheHostMade) {
  EXPECT_NEAR(with_calls(2, idling(std::nullopt)), 100 + 100 + 100 + 80 + 10, 1e-6);
  EXPECT_NEAR(with_calls(2, idling(3)), 100 + 100 + 100 + 80 + 10, 1e-6);
  // Behind the backward pass, for both calls: the second kernel of it waits for nothing.
  EXPECT_NEAR(with_calls(2, idling(20)), 100 + 50 + 100 + 80 + 10, 1e-6);
  for (const auto& wait : {std::optional<TraceTime>(), std::optional<TraceTime>(3)}) {
    EXPECT_TRUE(assumed(idling(wait)).empty());
  }
}

// A host that was late has told the device to wait, or has not: the same times, and two answers.
TEST(Waits, TellLateHostsFromBlockedOnes) {
  for (const bool is_told : {false, true}) {
    Traced made;
    for (int i = 0; i < 2; ++i) {
      const TraceTime t = 300 * i;
      made.step(i + 1, t, t + 300);
      made.kernel(t + 1, t, t + 100);
      made.gradient(t + 2);
      made.call("allreduce", t + 3, t + 100, t + 150);
      if (is_told) made.wait(t + 5);
      made.kernel(t + 155, t + 160, t + 250);
      made.gradient(t + 156);
      made.call("allreduce", t + 157, t + 250, t + 290);
      made.wait(t + 159);
      made.kernel(t + 160, t + 290, t + 300);
    }
    EXPECT_NEAR(with_calls(3, made), is_told ? 100 + 150 + 100 + 120 + 10 : 250 + 120 + 10, 1e-6);
    EXPECT_TRUE(assumed(made).empty());
  }
}

// Waits that name their streams count for those, and work on the collective's stream needs none.
TEST(Waits, AreOfTheirStreams) {
  const auto last_kernel_waits = [](const auto& change) {
    Traced made = idling(std::nullopt);
    change(made);
    return with_calls(2, made) > 350 + 1;
  };
  const auto wait_for = [&](std::uint32_t of, std::optional<std::uint32_t> stream) {
    return last_kernel_waits([&](Traced& made) {
      for (int i = 0; i < 2; ++i) {
        made.wait(300 * i + 6, of, stream);
      }
    });
  };
  EXPECT_TRUE(wait_for(20, 7));
  EXPECT_TRUE(wait_for(20, std::nullopt));  // the host's
  EXPECT_FALSE(wait_for(21, 7));
  EXPECT_FALSE(wait_for(20, 8));
  EXPECT_TRUE(last_kernel_waits([](Traced& made) {
    made.wait(1, 99);
    for (auto& call : made.trace.collectives) call.device->stream = 7;
  }));
}

// Tensor-parallel blocks, recorded with their waits: forward and backward of two blocks, 50 us of
// compute and 20 us of an all-reduce each, then an optimizer of 10 us.
TEST(Waits, OfTensorParallelBlocksAddUp) {
  for (const bool is_told : {false, true}) {
    Traced made;
    for (int i = 0; i < 2; ++i) {
      const TraceTime t = 290 * i;
      made.step(i + 1, t, t + 290);
      for (int block = 0; block < 4; ++block) {
        made.kernel(t + 1 + 8 * block, t + 70 * block, t + 70 * block + 50);
        if (block >= 2) made.gradient(t + 2 + 8 * block);
        made.call("allreduce", t + 3 + 8 * block, t + 70 * block + 50, t + 70 * block + 70);
        if (is_told) made.wait(t + 5 + 8 * block);
      }
      made.kernel(t + 40, t + 280, t + 290);
    }
    for (const double times : {0.5, 1.0, 3.0}) {
      EXPECT_NEAR(with_calls(times, made), 4 * (50 + times * 20) + 10, 1e-6);
    }
  }
}

}  // namespace
}  // namespace paceline::traces
