// What launching costs a host's thread: two-layer steps derived by hand, in all simulations.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/training/ddp.h"
#include "models/training/parameter_server.h"
#include "models/training/strategies.h"
#include "tests/models/training/two_layers.h"
#include "tests/sim/executors.h"

namespace paceline::sim {
namespace {

using training::HostCosts;
using training::two_layers;

// In milliseconds.
HostCosts host_of(double operation, double gradient, double call) {
  return training::host_costs(Seconds(operation * 1e-3), Seconds(gradient * 1e-3),
                              Seconds(call * 1e-3));
}

const HostCosts quick_host = host_of(0.5, 0.25, 0.25), slow_host = host_of(2, 1, 0.5),
                slowest_host = host_of(10, 1, 0.5);

// On two ranks of a node, where calls of 4 and 2 MB take 4 and 2 ms.
ResolvedPoint with_host(const training::Strategy& strategy, const HostCosts& host,
                        std::map<std::string, settings::Value> values = {}) {
  training::Told told{std::move(values), {}, 2};
  told.common.host = host;
  return point_of(strategy, two_layers(), told);
}

// Without launches a bucket each: forward 5, backward b 5-11, a 11-12; b is reduced 11-15, a 15-17;
// optimizer 19.
//
// 0.5 ms each: only the first is waited for: 19.5. 2 ms each, 1 a hook, 0.5 a call: forward a is
// launched 0-2 and runs 2-3, b is launched at 4 and runs 4-8, and from there on compute is behind:
// backward b 8-14, a 14-15, reductions 14-18 and 18-20; optimizer 22. 10 ms each: forwards are
// launched by 10 and 20, backward b by 30, its hook by 31, its call by 31.5, backward a by 41.5,
// its hook 42.5, its call 43, and the optimizer by 53, which runs until 55.
TEST(HostCosts, HoldDdpUpWhereLaunchesTakeLongerThanKernels) {
  expect_step(with_host(training::ddp_strategy, quick_host), 19.5e-3);
  expect_step(with_host(training::ddp_strategy, slow_host), 22e-3);
  expect_step(with_host(training::ddp_strategy, slowest_host), 55e-3);
}

// The same, tensor by tensor.
TEST(HostCosts, HoldWaitFreeUpLikewise) {
  expect_step(with_host(training::wait_free_strategy, quick_host), 19.5e-3);
  expect_step(with_host(training::wait_free_strategy, slow_host), 22e-3);
  expect_step(with_host(training::wait_free_strategy, slowest_host), 55e-3);
}

// It has no hooks. Compute ends at 12.5, 15 or, launched by 40, at 41; then one call of 6 ms and
// the optimizer of 2: that is launched by 50.5 in the last of the cases.
TEST(HostCosts, HoldBulkSynchronousUpWithoutHooks) {
  expect_step(with_host(training::bulk_synchronous_strategy, quick_host), 20.5e-3);
  expect_step(with_host(training::bulk_synchronous_strategy, slow_host), 23e-3);
  expect_step(with_host(training::bulk_synchronous_strategy, slowest_host), 52.5e-3);
}

// Calls are launched by the engine, once a cycle of 3 ms, so that the last gradient waits half a
// cycle; the optimizer is launched when all are done.
//
// 0.5 ms each: gradients at 11.5 and 12.5; the wake at 14 launches by 14.25 what takes 6 ms;
// optimizer 20.75-22.75. 2 ms each: gradients at 14 and 15, the wake at 16.5, the call 17-23,
// optimizer 25-27. 10 ms each: hooks by 31 and, behind backward a's launch at 41, by 42; gradients
// at 36 and 42. The wake at 37.5 finds b, reduced 38-42, the one at 43.5 a, reduced 44-46;
// optimizer 56-58.
TEST(HostCosts, AreTheEnginesForHorovodsCalls) {
  const auto step = [](const HostCosts& host) {
    return with_host(training::horovod_strategy, host, {{"cycle_time", Seconds(3e-3)}});
  };
  expect_step(step(quick_host), 22.75e-3);
  expect_step(step(slow_host), 27e-3);
  expect_step(step(slowest_host), 58e-3);
}

// Launches of 1 ms, hooks of 10: forward 1-6, backward b, launched by 3, 6-12, its hook by 13;
// backward a, launched by 14, until 15, its hook by 24. The wake at 13.5 finds b, reduced until
// 17.5, the one at 25.5 a, until 27.5; optimizer 28.5-30.5.
TEST(HostCosts, HoldGradientsBackInTheirHooks) {
  const HostCosts hooks = host_of(1, 10, 0);
  expect_step(with_host(training::horovod_strategy, hooks, {{"cycle_time", Seconds(3e-3)}}),
              30.5e-3);
}

// Where ranks compute on the host, launches and compute take turns. Launches 2, hooks 1, calls 0.5:
// forward a 2-3, b 5-9, backward b 11-17, hook 18, call launched 18.5, until 22.5; backward a
// 20.5-21.5, hook 22.5, call launched 23, until 25; the optimizer is launched then: 27-29.
//
// GPUs with such calls: 22 ms as above, but that the optimizer is launched when they are done,
// at 20: 24.
TEST(HostCosts, TakeTurnsWithComputeOnCpus) {
  training::Told told{{}, {}, 2};
  told.common.host = slow_host;
  told.common.calls_hold_host = true;
  expect_step(point_of(training::ddp_strategy, two_layers(), told), 24e-3);
  told.common.host.launches.take_turns = true;
  expect_step(point_of(training::ddp_strategy, two_layers(), told), 29e-3);
}

// Launches take turns with compute, calls are launched by the engine: gradient b is there, with its
// hook, at 18, a at 22, and both half a cycle of 12 ms after that, 28. Each alone: b is launched by
// 28.5 and reduced until 32.5. An engine that waits for that launches a by 33, reduced until 35,
// another by 29, reduced 32.5-34.5. Then the host launches the optimizer for 2 ms, which takes 2.
TEST(HostCosts, HoldAnEngineUpBetweenCallsThatItWaitsFor) {
  const auto step = [](bool waits) {
    training::Told told{{{"cycle_time", Seconds(12e-3)}, {"fusion", false}}, {}, 2};
    told.common.host = slow_host;
    told.common.calls_hold_host = waits;
    told.common.host.launches.take_turns = true;
    return point_of(training::horovod_strategy, two_layers(), told);
  };
  expect_step(step(true), 39e-3);
  expect_step(step(false), 38.5e-3);
}

// Two passes: launches of 2 ms are ahead from forward b on. Forward 2-3, 4-8, backward 8-15,
// forward 15-20, backward 20-27, call 33, optimizer 35.
TEST(HostCosts, LaunchEveryPass) {
  training::Told told{{}, {}, 2};
  told.common.host = slow_host;
  told.common.gradient_accumulation = 2;
  expect_step(point_of(training::bulk_synchronous_strategy, two_layers(), told), 35e-3);
}

// The first launch comes after 3 ms of input.
TEST(HostCosts, WaitForTheInput) {
  auto workload = two_layers();
  workload.input = Seconds(3e-3);
  training::Told told{{}, {}, 2};
  told.common.host = slow_host;
  expect_step(point_of(training::bulk_synchronous_strategy, workload, told), 26e-3);
}

// Rank 1 computes half as fast: backward b 30-42, a, launched by 40, 42-44, the call until 50. The
// optimizer, launched by 50.5 on either rank, takes it 4 ms.
TEST(HostCosts, DoNotGrowWithASlowGpu) {
  ResolvedPoint point = with_host(training::bulk_synchronous_strategy, slowest_host);
  point.slowdown = {1, 2};
  expect_step(point, 54.5e-3);
}

// Gather a, launched by 0.5, 0.5-1.5; forward a, launched by 2.5, 2.5-3.5. Gather b, launched by 3,
// 3-5; forward b, launched by 5, 5-9. From there on compute is behind: b was gathered again by 7.5;
// backward b 9-15, a 15-16; scatter b 15-17, a 17-18; half the optimizer 19.
TEST(HostCosts, HoldFsdpUpUntilComputeIsBehind) {
  expect_step(with_host(training::fsdp_strategy, slow_host), 19e-3);
}

// One bucket, copied and divided behind the backward that ends at 15; 6 ms, half the optimizer 1,
// all parameters 3 ms. With 10 ms each: backward a is launched by 40 and the hooks of both by 42,
// or, by stage 2, a by 41 and its hook by 42; the call 42.5, and the optimizer 52.5.
TEST(HostCosts, HoldDeepspeedUpWithItsHooks) {
  const auto step = [](const HostCosts& host, std::uint64_t stage) {
    return with_host(training::deepspeed_zero_strategy, host, {{"stage", stage}});
  };
  expect_step(step(slow_host, 1), 25e-3);
  expect_step(step(slowest_host, 1), 56.5e-3);
  expect_step(step(slowest_host, 2), 56.5e-3);
}

// One server of its own for two nodes, tensors whole: each push and pull of b takes 8 ms at its
// NIC, of a 4. Backward b ends at 14; its push is launched by the thread of its connection,
// 14-14.5, and runs until 22.5, the push of a 23-27; pulls 23-31 and 31.5-35.5. The host launches
// the optimizer then, 37.5-39.5.
TEST(HostCosts, AreThoseOfConnectionsForServers) {
  training::Told told{{{"servers", std::uint64_t{1}}, {"partition", Bytes(4'000'000)}}, {}, 1, 2};
  told.common.host = slow_host;
  expect_step(point_of(training::parameter_server_strategy, two_layers(), told), 39.5e-3);
}

}  // namespace
}  // namespace paceline::sim
