
#include <gtest/gtest.h>

#include "models/training/strategies.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using collectives::Collective;

std::vector<std::string> names_of(const StepProgram& program) {
  std::vector<std::string> names;
  for (const Operation& operation : program.operations) names.push_back(operation.name);
  return names;
}

TEST(DataParallel, GoesByWayOfTheFirstGpu) {
  const auto program = build(data_parallel_strategy, two_layers(), {{}, {}, 3});
  EXPECT_EQ(names_of(program),
            (std::vector<std::string>{"scatter inputs", "flatten", "parameters", "forward",
                                      "gather outputs", "scatter gradients of outputs", "backward",
                                      "flatten", "gradients", "optimizer"}));
  for (OperationId id = 1; id < program.operations.size(); ++id) {
    EXPECT_EQ(program.operations[id].after, Ids{id - 1});
  }
  const std::vector<double> first{1, 0, 0}, all;
  EXPECT_EQ(program.operations[1].rank_parts, first);  // GPU 0 flattens parameters,
  EXPECT_EQ(program.operations[7].rank_parts, all);    // each its gradients,
  EXPECT_EQ(program.operations[9].rank_parts, first);  // and only GPU 0 has the optimizer
}

// 4 samples on each of 3 GPUs, of 588 KiB and 4,000 B, as floats.
TEST(DataParallel, SendsSamplesOfAllGpus) {
  const auto program = build(data_parallel_strategy, two_layers(), {{}, {}, 3});
  const auto scatters = calls_of(program, Collective::scatter);
  ASSERT_EQ(scatters.size(), 2U);
  EXPECT_EQ(scatters[0].count, 12U * 588 * 256);
  EXPECT_EQ(scatters[1].count, 12U * 1000);
  EXPECT_EQ(calls_of(program, Collective::gather).at(0).count, 12U * 1000);
}

// 10 MiB are 2,621,440 floats: the first two tensors close a buffer, the third is one alone, which
// needs no copy. Buffers of BatchNorm follow in one of their own.
TEST(DataParallel, CoalescesInBuffersOfTenMebibytes) {
  auto workload = workload_of({layer_of("a", 1, 1, 2'000'000), layer_of("b", 1, 1, 1'000'000),
                               layer_of("c", 1, 1, 500'000)});
  workload.layers[1].buffers = {{ElementCount(64)}, {ElementCount(64)}};
  const auto program = build(data_parallel_strategy, workload, {{}, {}, 2});
  const auto broadcasts = calls_of(program, Collective::broadcast);
  ASSERT_EQ(broadcasts.size(), 3U);
  EXPECT_EQ(broadcasts[0].count, 3'000'000U);
  EXPECT_EQ(broadcasts[1].count, 500'000U);
  EXPECT_EQ(broadcasts[2].count, 128U);
  const auto reductions = calls_of(program, Collective::reduce);
  ASSERT_EQ(reductions.size(), 2U);
  EXPECT_EQ(reductions[1].count, 500'000U);
  EXPECT_EQ(program.operations[reductions[1].id - 1].name, "gradients");
}

// DataParallel has no no_sync: all of it once a pass, and one optimizer.
TEST(DataParallel, ReplicatesAndReducesInEveryPass) {
  Told told{{}, {}, 2};
  told.common.gradient_accumulation = 3;
  const auto program = build(data_parallel_strategy, two_layers(), told);
  EXPECT_EQ(calls_of(program, Collective::broadcast).size(), 3U);
  EXPECT_EQ(calls_of(program, Collective::reduce).size(), 3U);
  EXPECT_EQ(program.operations.size(), 3 * 9U + 1);
}

TEST(DataParallel, IsRefusedOnSeveralNodes) {
  const settings::Settings settings(data_parallel_strategy.keys);
  const workload::Workload workload = two_layers();
  CommonSettings common;
  topology::Cluster cluster = cluster_of({{}, {}, 4});
  const auto refused = [&] {
    const auto refusal = data_parallel_strategy.refuse({workload, cluster, settings, common});
    return refusal ? refusal->what : "";
  };
  EXPECT_EQ(refused(), "");
  common.wire_type = workload::DataType::float16;
  EXPECT_EQ(refused(), "reduces gradients in their own type");
  cluster.nodes = 2;
  EXPECT_EQ(refused(), "is one process on one node, and the cluster has 2");
}

}  // namespace
}  // namespace paceline::training
