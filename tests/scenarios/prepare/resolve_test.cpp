#include "scenarios/prepare/resolve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/loader/scenario_file.h"

namespace paceline {
namespace resolve_test {

// Two nodes of eight GPUs.
Scenario scenario_of(const std::vector<std::pair<const char*, const char*>>& settings) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx1-v100";
  values.by_path["gpus"] = "16";
  for (const auto& [path, value] : settings) values.by_path[path] = value;
  return scenario_of_options(values, {});
}

TEST(AlgorithmOptions, AreThoseOfTheScenarioInEveryCall) {
  const Scenario scenario = scenario_of({{"collective.algorithm", "hierarchical"},
                                         {"collective.channels", "3"},
                                         {"collective.chunk_size", "64KiB"},
                                         {"collective.inner", "direct"},
                                         {"collective.outer", "recursive_doubling"}});
  collectives::AlgorithmOptions expected;
  expected.channels = 3;
  expected.chunk_size = Bytes(64 << 10);
  expected.inner = "direct";
  expected.outer = "recursive_doubling";
  const PreparedPoint prepared = resolve(scenario, 0, nullptr);
  std::size_t calls = 0;
  for (const auto& operation : prepared.point.program.operations) {
    const auto* call = std::get_if<training::CollectiveCall>(&operation.work);
    if (call == nullptr) continue;
    ++calls;
    ASSERT_NE(call->options(), nullptr);
    EXPECT_EQ(*call->options(), expected);
  }
  EXPECT_GT(calls, 0U);
}

TEST(AlgorithmOptions, AreLeftToTheAlgorithmWhenAuto) {
  const Scenario scenario = scenario_of({{"collective.channels", "auto"},
                                         {"collective.chunk_size", "auto"},
                                         {"collective.servers", "auto"}});
  EXPECT_EQ(scenario.collective.options, collectives::AlgorithmOptions{});
}

std::uint32_t servers_of(const std::vector<std::pair<const char*, const char*>>& settings) {
  return resolve(scenario_of(settings), 0, nullptr).point.cluster.servers;
}

// One a node unless the scenario says how many, and no more than GPUs. Where the user does not ask
// for servers of their own, or no plan has any, there are none.
TEST(Servers, AreMachinesOfTheClusterWhenTheyAreSeparate) {
  const std::pair<const char*, const char*> algorithm{"collective.algorithm", "parameter_server"};
  const std::pair<const char*, const char*> separate{"collective.server_placement", "separate"};
  EXPECT_EQ(servers_of({algorithm, separate}), 2U);
  EXPECT_EQ(servers_of({algorithm, separate, {"collective.servers", "3"}}), 3U);
  EXPECT_EQ(servers_of({algorithm, separate, {"collective.servers", "99"}}), 16U);
  EXPECT_EQ(servers_of({algorithm, {"collective.servers", "3"}}), 0U);
}

// Of a sharded step's calls some are of a node's ranks and some across nodes: all have the same
// servers.
TEST(Servers, ServeCallsOfAPartOfTheRanks) {
  const PreparedPoint prepared = resolve(scenario_of({{"collective.algorithm", "parameter_server"},
                                                      {"collective.server_placement", "separate"},
                                                      {"training.strategy", "fsdp"},
                                                      {"training.sharding", "hybrid"}}),
                                         0, nullptr);
  EXPECT_EQ(prepared.point.cluster.servers, 2U);
  EXPECT_EQ(find_fault(prepared.point), std::nullopt);
}

// Of the compute lane of one rank, by whether the copies of its wrapper are counted.
Seconds compute_of(const training::StepProgram& program, bool with_copies) {
  Seconds sum;
  for (const training::Operation& operation : program.operations) {
    const auto* time = std::get_if<Seconds>(&operation.work);
    const bool is_copy = operation.kind == training::OperationKind::copy;
    if (time != nullptr && (with_copies || !is_copy)) sum += *time;
  }
  return sum;
}

// 32 images at 400 a second: 80 ms. A step of two GPUs has as much compute where the row of one
// GPU has the copies in it; where it has not, 161 gradients into buckets and back are more, each 5
// us at least.
TEST(WrappedOneGpu, HasItsCopiesInTheMeasuredStep) {
  const auto program = [](const char* wrapped, const char* gpus) {
    return resolve(scenario_of({{"workload.batch_per_gpu", "32"},
                                {"workload.single_gpu_throughput", "400 samples/s"},
                                {"workload.single_gpu_wrapped", wrapped},
                                {"gpus", gpus}}),
                   0, nullptr)
        .point.program;
  };
  EXPECT_NEAR(compute_of(program("false", "2"), false).value(), 0.08, 1e-12);
  EXPECT_GT(compute_of(program("false", "2"), true).value(), 0.08 + 2 * 161 * 5e-6);
  EXPECT_NEAR(compute_of(program("true", "2"), true).value(), 0.08, 1e-12);
  EXPECT_NEAR(compute_of(program("true", "16"), true).value(), 0.08, 1e-12);
  for (const char* wrapped : {"false", "true"}) {
    EXPECT_NEAR(compute_of(program(wrapped, "1"), true).value(), 0.08, 1e-12);
  }
}

// What one GPU takes is as measured, whatever is in it.
TEST(WrappedOneGpu, TakesAsLongAsMeasured) {
  const auto prepared = resolve(scenario_of({{"workload.single_gpu_throughput", "20 samples/s"},
                                             {"workload.single_gpu_wrapped", "true"}}),
                                0, nullptr);
  EXPECT_NEAR(prepared.one_gpu_step.value(), 0.05, 1e-12);
}

// ResNet-50 has 161 gradients. Where launches take all of the step, hooks of 17 us that take 20 us
// more, or nothing, change it by that; where kernels take much longer nothing does.
TEST(LongerHooks, TakeWhatKernelsDoNotHide) {
  const auto moved = [](const char* batch, double place) {
    const Scenario scenario = scenario_of({{"workload.model", "resnet50"},
                                           {"workload.device", "h100-sxm5-80gb"},
                                           {"workload.precision", "amp"},
                                           {"workload.batch_per_gpu", batch}});
    return resolve(scenario, 0, nullptr).longer_hooks(place);
  };
  const double hooks = 161 * 17e-6, more = 161 * 20e-6;
  const double step = hooks / (1 - std::exp(moved("1", -1.7)));
  EXPECT_NEAR(std::exp(moved("1", 2)), 1 + more / step, 1e-3);
  EXPECT_GT(step, 30e-3);
  EXPECT_NEAR(moved("512", 2), 0, 0.01);
  EXPECT_EQ(moved("512", -1.7), 0);
}

}  // namespace resolve_test
}  // namespace paceline
