// What must hold of every strategy when launches cost something.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/training/strategies.h"
#include "sim/folded/predicted_point.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

constexpr Seconds micro(double value) { return Seconds(value * 1e-6); }

// Enough for every kind of launch to take time, and for each to be alone.
const std::vector<HostCosts> host_grid{host_costs(micro(300), {}, {}),
                                       host_costs({}, micro(300), {}),
                                       host_costs({}, {}, micro(300)),
                                       host_costs(micro(5e3), {}, micro(1)),
                                       host_costs(micro(1), micro(5e3), {}),
                                       host_costs(micro(1), {}, micro(5e3)),
                                       host_costs(micro(20), micro(5), {}),
                                       host_costs(micro(4e3), micro(4e3), {}),
                                       host_costs(micro(2e4), micro(2e4), micro(2e4))};

// An engine decides at run time what it reduces together: with one cycle for all of them alike.
Told alike_for(const Strategy& strategy, std::uint32_t nodes) {
  Told told{{}, {}, 2, nodes};
  if (&strategy == &horovod_strategy) told.values["cycle_time"] = Seconds(1);
  return told;
}

Seconds closed_step(const Strategy& strategy, const Told& told) {
  return sim::predict_folded(point_of(strategy, two_layers(), told)).totals.step;
}

// One node where a strategy is of one only.
std::vector<std::uint32_t> nodes_for(const Strategy& strategy) {
  return strategy.name == "data_parallel" ? std::vector{1U} : std::vector{1U, 2U};
}

TEST(HostCostsOfAll, MakeNoStrategyFaster) {
  for (const Strategy* strategy : of_gradients()) {
    for (const std::uint32_t nodes : nodes_for(*strategy)) {
      for (const bool holds : {false, true}) {
        Told told = alike_for(*strategy, nodes);
        told.common.calls_hold_host = holds;
        const Seconds before = closed_step(*strategy, told);
        for (const HostCosts& host : host_grid) {
          for (const bool computes : {false, true}) {
            told.common.host = host;
            told.common.host.launches.take_turns = computes;
            EXPECT_GE(closed_step(*strategy, told).value(), before.value() * (1 - 1e-12))
                << strategy->name << " on " << nodes << " nodes";
          }
        }
      }
    }
  }
}

// Five launches of 20 ms: two layers both ways and the optimizer.
TEST(HostCostsOfAll, BindEveryStepThatTheyAreLongerThan) {
  for (const Strategy* strategy : of_gradients()) {
    Told told = alike_for(*strategy, 1);
    told.common.host = host_costs(Seconds(20e-3), {}, {});
    EXPECT_GT(closed_step(*strategy, told), Seconds(100e-3)) << strategy->name;
  }
}

TEST(HostCostsOfAll, LeaveProgramsAsTheyAreWhereTheyAreNothing) {
  for (const Strategy* strategy : of_gradients()) {
    const StepProgram before = build(*strategy, two_layers(), alike_for(*strategy, 1));
    Told told = alike_for(*strategy, 1);
    told.common.host.launches.take_turns = true;
    const StepProgram after = build(*strategy, two_layers(), told);
    EXPECT_EQ(after.lanes.size(), before.lanes.size()) << strategy->name;
    EXPECT_TRUE(are_alike(before, after, Seconds(1e-15))) << strategy->name;
    for (const Operation& operation : after.operations) {
      EXPECT_NE(operation.kind, OperationKind::launch) << strategy->name;
    }
  }
}

TEST(HostCostsOfAll, AreOneLaunchACall) {
  for (const Strategy* strategy : of_gradients()) {
    Told told = alike_for(*strategy, 1);
    told.common.host = host_costs({}, {}, micro(10));
    std::size_t calls = 0, launches = 0;
    for (const Operation& operation : build(*strategy, two_layers(), told).operations) {
      calls += call_of(operation) != nullptr ? 1U : 0U;
      launches += operation.kind == OperationKind::launch ? 1U : 0U;
    }
    EXPECT_GT(calls, 0U) << strategy->name;
    EXPECT_EQ(launches, calls) << strategy->name;
  }
}

// Two layers of one tensor each: one hook each, or none, as the key's meaning says.
TEST(HostCostsOfAll, AreOneHookAGradientWhereThereAreHooks) {
  for (const Strategy* strategy : of_gradients()) {
    Told told = alike_for(*strategy, 1);
    told.common.host = host_costs({}, micro(10), {});
    Seconds hooks;
    for (const Operation& operation : build(*strategy, two_layers(), told).operations) {
      if (operation.kind == OperationKind::launch) hooks += std::get<Seconds>(operation.work);
    }
    const auto keys = common_keys();
    const auto key = std::ranges::find(keys, "host.per_gradient", &settings::Key::name);
    const bool has_hooks = key->meaning.find(strategy->name) != std::string_view::npos;
    EXPECT_NEAR(hooks.value(), has_hooks ? 20e-6 : 0, 1e-15) << strategy->name;
  }
}

// Alone: forward a launched by 2 ms, 2-3, b 4-8, backward 8-15, optimizer 17; without launches 14.
TEST(HostCostsOfAll, AreInTheStepOfOneGpu) {
  const auto workload = two_layers();
  const topology::Cluster cluster = cluster_of({{}, {}, 1});
  const settings::Settings settings(bulk_synchronous_strategy.keys);
  CommonSettings common;
  EXPECT_EQ(plain_step_time({workload, cluster, settings, common}), workload.one_gpu_step(1));
  common.host = host_costs(Seconds(2e-3), {}, {});
  EXPECT_NEAR(plain_step_time({workload, cluster, settings, common}).value(), 17e-3, 1e-12);
  common.host.launches.take_turns = true;  // five launches in line
  EXPECT_NEAR(plain_step_time({workload, cluster, settings, common}).value(), 24e-3, 1e-12);
}

// The step of one GPU is what the scheduler makes of its program, with any number of passes, where
// kernels, launches or both in turn bound it, and with layers that the host does not launch.
TEST(HostCostsOfAll, MakeTheStepOfOneGpuThatOfItsProgram) {
  auto workload = two_layers();
  workload.input = Seconds(1e-3);
  workload.layers.push_back({"view", Seconds(0.5e-3), {}, {}, {}, {}, false});
  workload.layers.push_back({"block", Seconds(0.1e-3), Seconds(9e-3), {}, {}, {}, true, 3});
  const topology::Cluster cluster = cluster_of({{}, {}, 1});
  const settings::Settings settings(bulk_synchronous_strategy.keys);
  for (const double forward : {0.0, 0.3, 1.0, 2.5, 7.0}) {
    for (const double backward : {0.0, 0.3, 3.0, 8.0}) {
      for (const std::uint32_t passes : {1U, 2U, 3U, 4U, 9U}) {
        CommonSettings common;
        common.gradient_accumulation = passes;
        common.host.launches = {Seconds(forward * 1e-3), Seconds(backward * 1e-3), Seconds(4e-3)};
        const auto ends = ends_without_calls(plain_step({workload, cluster, settings, common}));
        EXPECT_NEAR(workload.one_gpu_step(passes, common.host.launches).value(),
                    std::ranges::max(ends).value(), 1e-12)
            << forward << " " << backward << " " << passes;
      }
    }
  }
}

// A layer without parameters is launched too, in the order of the pass.
TEST(HostCostsOfAll, AreOneLaunchALayerWithOrWithoutParameters) {
  auto workload = two_layers();
  workload.layers.insert(workload.layers.begin() + 1,
                         {"pool", Seconds(1e-3), Seconds(1e-3), {}, {}});
  Told told{{}, {}, 2};
  told.common.host = host_costs(Seconds(3e-3), {}, {});
  const auto program = build(bulk_synchronous_strategy, workload, told);
  std::vector<std::string> launched;
  for (const Operation& operation : program.operations) {
    if (operation.kind == OperationKind::launch) launched.push_back(operation.name);
  }
  EXPECT_EQ(launched, (std::vector<std::string>{"a launch", "pool launch", "b launch", "b launch",
                                                "pool launch", "a launch", "optimizer launch"}));
}

}  // namespace
}  // namespace paceline::training
