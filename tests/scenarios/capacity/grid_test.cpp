#include "scenarios/capacity/grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "scenarios/capacity/search.h"
#include "scenarios/predict/evidence.h"
#include "tests/scenarios/loader/job/small_job.h"

namespace paceline::capacity {
namespace {

// Nodes of one V100 and of four, with 16 GB a GPU.
constexpr std::string_view ones_and_fours = R"(schema: paceline.catalogue/1
name: small
source: "made up"
date: 2026-11-26
machines:
  - {name: one, device: v100-sxm2-16gb, price: 1 USD/h, cluster: {preset: flat, network:
      {bandwidth: 10Gbps, latency: 25us, transport: tcp}}}
  - {name: four, price: 4 USD/h, cluster: {preset: aws-p3-8xlarge}, at_most: 2}
)";

struct Gridded {
  PlannedJob job;
  Grid grid;

  explicit Gridded(std::string_view rest, std::string_view model = "resnet50",
                   std::string_view strategy = "ddp")
      : job(test::job_of(std::string("schema: paceline.job/1\nname: grid\nworkload: {model: ") +
                             std::string(model) +
                             ", precision: amp}\namount: {samples: 1e8}\ntarget: {deadline: 9h}\n"
                             "bucket_caps: [25MiB]\ncatalogue: [small.yaml]\nstrategies: [" +
                             std::string(strategy) + "]\n" + std::string(rest),
                         ones_and_fours)),
        grid(grid_of(job, unconditioned_belief().priors())) {}

  // Batches of a GPU, and passes, on so many nodes of a machine.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> loads(
      std::size_t machine, std::uint32_t nodes) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const auto& [setup, bound] : grid.candidates) {
      if (setup.machine != machine || setup.nodes != nodes) continue;
      found.emplace_back(setup.batch, setup.passes);
    }
    return found;
  }
};

using Loads = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Of 8 vCPUs four cores decode 120 images/s each, and of a node's 4 GPUs with 32 images each, twice
// a step, come 256: 256 / 480 s. A disk of 10 MB/s reads as many of 50 kB in 1.28 s.
TEST(Grid, KnowsWhenANodeHasItsInput) {
  const auto input = [](std::string_view of_job, std::string_view of_machine) {
    const PlannedJob job = test::job_of(
        std::string(test::small_job) + std::string(of_job),
        test::changed(ones_and_fours, "at_most: 2", "at_most: 2" + std::string(of_machine)));
    return input_of(job, {1, 2, 0, 32, 2});
  };
  const std::string told = "input: {per_core: 120 samples/s, bytes: 50kB}\n";
  EXPECT_DOUBLE_EQ(input(told, ", vcpus: 8").within(0.99).value(), 256.0 / 480);
  EXPECT_DOUBLE_EQ(input(told, ", vcpus: 8, disk: 10MBps").within(0.01).value(), 1.28);
  EXPECT_DOUBLE_EQ(input(told, "").within(0.95).value(), 2.7 * 256 / (64 / 2.0 * 120));
  EXPECT_EQ(input("input: {kind: none}\n", ", vcpus: 8, disk: 10MBps").within(0.99), Seconds(0));
  EXPECT_DOUBLE_EQ(input("", ", vcpus: 8").within(0.95).value(), 2 * 256.0 / 800);
}

TEST(Grid, TriesAllNumbersOfNodesUpTo32) {
  EXPECT_EQ(node_counts(0), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(node_counts(1), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(node_counts(3), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(node_counts(32).size(), 32U);
}

// Beyond 32 by 32 / 16 = 2, beyond 64 by 4.
TEST(Grid, TriesNodesASixteenthApart) {
  const auto counts = node_counts(71);
  EXPECT_EQ(std::vector(counts.begin() + 31, counts.end()),
            (std::vector<std::uint32_t>{32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60,
                                        62, 64, 68}));
}

TEST(Grid, TriesAMillionNodesInFewSteps) {
  const auto counts = node_counts(1'000'000);
  EXPECT_LT(counts.size(), 290U);  // 32, and 16 for each of 15 doublings
  EXPECT_TRUE(std::ranges::is_sorted(counts, std::ranges::less_equal()) &&
              std::ranges::adjacent_find(counts) == counts.end());
  EXPECT_GT(counts.back(), 960'000U);
}

// At most 100 samples on one node of one GPU, 33 on three, 25 on each of four.
TEST(Grid, HasAllPowersOfTwo) {
  const Gridded made("global_batch: {at_most: 100}\nlimits: {nodes: 3}\n");
  EXPECT_EQ(made.loads(0, 1), (Loads{{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}, {32, 1}, {64, 1}}));
  EXPECT_EQ(made.loads(0, 3), (Loads{{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}, {32, 1}}));
  EXPECT_EQ(made.loads(1, 1), (Loads{{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}}));
}

// What lies between is no part of the grid, and may be asked about.
TEST(Grid, DescribesASetupBesideIt) {
  const Gridded made("global_batch: {at_most: 100}\nlimits: {nodes: 3}\n");
  const auto fits = [&](const capacity::Setup& setup) {
    return made.grid.candidate(setup).has_value();
  };
  EXPECT_TRUE(fits({0, 1, 0, 100, 1}));
  EXPECT_FALSE(fits({0, 1, 0, 101, 1}));  // too many samples,
  EXPECT_FALSE(fits({0, 1, 0, 33, 2}));   // passes,
  EXPECT_FALSE(fits({0, 4, 0, 16, 1}));   // nodes,
  EXPECT_FALSE(fits({0, 0, 0, 16, 1}));   // or none
}

TEST(Grid, HasTheBatchesThatOneGpuWasMeasuredWith) {
  const Gridded made(
      "batch_per_gpu: {at_most: 64}\nlimits: {nodes: 1}\n"
      "measured_on:\n"
      "  - {device: v100-sxm2-16gb, batch: 48, throughput: 300 samples/s}\n"
      "  - {device: v100-sxm2-16gb, batch: 32, throughput: 290 samples/s}\n"
      "  - {device: a100-sxm4-40gb, batch: 60, throughput: 700 samples/s}\n"
      "  - {device: v100-sxm2-16gb, batch: 100, throughput: 310 samples/s}\n");
  EXPECT_EQ(made.loads(0, 1),
            (Loads{{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}, {32, 1}, {48, 1}, {64, 1}}));
}

// 96 samples: a GPU takes them in as many passes as divide them; three GPUs 32 each, and 5 GPUs
// share them in no way.
TEST(Grid, SharesAnExactGlobalBatchAmongGpusAndPasses) {
  const Gridded made("global_batch: {exactly: 96}\nlimits: {nodes: 5}\n");
  EXPECT_EQ(made.loads(0, 1), (Loads{{1, 96},
                                     {2, 48},
                                     {3, 32},
                                     {4, 24},
                                     {6, 16},
                                     {8, 12},
                                     {12, 8},
                                     {16, 6},
                                     {24, 4},
                                     {32, 3},
                                     {48, 2},
                                     {96, 1}}));
  EXPECT_EQ(made.loads(0, 3), (Loads{{1, 32}, {2, 16}, {4, 8}, {8, 4}, {16, 2}, {32, 1}}));
  EXPECT_EQ(made.loads(0, 5), Loads{});
  for (const auto& [setup, bound] : made.grid.candidates) {
    EXPECT_EQ(samples_per_step(made.job, setup), 96);
  }
}

TEST(Grid, KeepsAnExactGlobalBatchWithinABatchOfAGpu) {
  const Gridded made(
      "global_batch: {exactly: 96}\nbatch_per_gpu: {at_most: 24}\nlimits: {nodes: 1}\n");
  EXPECT_EQ(
      made.loads(0, 1),
      (Loads{{1, 96}, {2, 48}, {3, 32}, {4, 24}, {6, 16}, {8, 12}, {12, 8}, {16, 6}, {24, 4}}));
}

// 8 samples a GPU; 7 GPUs make 56, and 4 of them twice 64. Passes: 1, 2 and 4 of up to 5.
TEST(Grid, TakesAnExactBatchOfAGpu) {
  const Gridded made(
      "global_batch: {at_most: 64}\nbatch_per_gpu: {exactly: 8}\n"
      "gradient_accumulation: {at_most: 5}\nlimits: {nodes: 9}\n");
  EXPECT_EQ(made.loads(0, 1), (Loads{{8, 1}, {8, 2}, {8, 4}}));
  EXPECT_EQ(made.loads(0, 4), (Loads{{8, 1}, {8, 2}}));
  EXPECT_EQ(made.loads(0, 7), (Loads{{8, 1}}));
  EXPECT_EQ(made.loads(0, 9), Loads{});
}

TEST(Grid, HasNoMoreNodesThanMachinesAndGpusAllow) {
  const auto most = [](const Gridded& made, std::size_t machine) {
    std::uint32_t nodes = 0;
    for (const auto& [setup, bound] : made.grid.candidates) {
      if (setup.machine == machine) nodes = std::max(nodes, setup.nodes);
    }
    return nodes;
  };
  const Gridded by_gpus("batch_per_gpu: {exactly: 8}\nlimits: {gpus: 7}\n");
  EXPECT_EQ(most(by_gpus, 0), 7U);
  EXPECT_EQ(most(by_gpus, 1), 1U);
  const Gridded by_machine("batch_per_gpu: {exactly: 8}\nlimits: {nodes: 12}\n");
  EXPECT_EQ(most(by_machine, 0), 12U);
  EXPECT_EQ(most(by_machine, 1), 2U);
  const Gridded unsaid("batch_per_gpu: {exactly: 8}\n");
  EXPECT_EQ(most(unsaid, 0), 32U);
}

// Also of 37, which lies between those that are tried. Of four there are two.
TEST(Grid, HasExactlyTheNodesAskedFor) {
  const Gridded made("batch_per_gpu: {exactly: 8}\nlimits: {nodes: {exactly: 37}}\n");
  EXPECT_EQ(made.loads(0, 37), (Loads{{8, 1}}));
  EXPECT_EQ(made.grid.candidates.size(), 1U);
  ASSERT_EQ(made.grid.left_out.size(), 1U);
  EXPECT_EQ(made.grid.left_out[0].why,
            "at most 2 of its nodes can be had, and limits.nodes asks for 37");
  EXPECT_TRUE(made.grid.candidate({0, 37, 0, 8, 1}));
  EXPECT_FALSE(made.grid.candidate({0, 36, 0, 8, 1}));
}

// A V100 has 16 GB: of 256, 512, ... at the most one is the largest within nine tenths, and twice
// that is not.
TEST(Grid, FillsNineTenthsOfAGpusMemoryAtMost) {
  const Gridded made("batch_per_gpu: {at_most: 4096}\nlimits: {nodes: 1}\n");
  std::uint32_t largest = 0;
  for (const auto& [batch, passes] : made.loads(0, 1)) largest = std::max(largest, batch);
  const auto part = [&](std::uint32_t batch) {
    const auto scenario =
        made.job.scenario(made.job.machines[0], 1, settings_of(made.job, {0, 1, 0, batch, 1}))
            .scenario(0);
    const auto memory = training::memory_of(*scenario.strategy, strategy_request(scenario));
    return static_cast<double>(memory->total().value()) /
           static_cast<double>(scenario.workload.device.memory->value());
  };
  EXPECT_LE(part(largest), memory_used_at_most);
  EXPECT_GT(part(largest * 2), memory_used_at_most);
}

// Of GPT-2 XL's 1.6 thousand million parameters a V100 holds no copy with gradients and momentum in
// 16 GB, nor do four with DDP.
TEST(Grid, SaysWhyAModelFitsNoMachine) {
  try {
    const Gridded made("batch_per_gpu: {at_most: 8}\n", "gpt2-xl");
    FAIL() << "fits";
  } catch (const InputError& error) {
    EXPECT_NE(std::string_view(error.what())
                  .find("fits no machine: small one: even a batch of 1 with ddp on 1 GPU needs "),
              std::string_view::npos)
        << error.what();
  }
}

TEST(Grid, NamesWhatTakesLessMemoryThanFsdp) {
  try {
    const Gridded made("batch_per_gpu: {at_most: 8}\nlimits: {nodes: 1, machines: [one]}\n",
                       "gpt2-xl", "ddp, fsdp");
    FAIL() << "fits";
  } catch (const InputError& error) {
    EXPECT_NE(std::string_view(error.what())
                  .find("activation_checkpointing: blocks, or allow more nodes; tensor and"),
              std::string_view::npos)
        << error.what();
  }
}

// 7 samples: one GPU, or seven of one each; a node of four shares them in no way.
TEST(Grid, LeavesOutMachinesThatShareNoBatch) {
  const Gridded made("global_batch: {exactly: 7}\n");
  ASSERT_EQ(made.grid.left_out.size(), 1U);
  EXPECT_EQ(made.grid.left_out[0].machine, 1U);
  EXPECT_EQ(made.grid.left_out[0].why, "no number of its GPUs shares the batch");
  ASSERT_EQ(made.grid.machines.size(), 2U);
  EXPECT_EQ(made.grid.machines[1].network_kind, "");
  EXPECT_EQ(made.grid.machines[0].network_kind, "TCP");
  EXPECT_EQ(made.loads(0, 7), (Loads{{1, 1}}));
}

TEST(Grid, SaysThatLimitsAllowLessThanANode) {
  const Gridded made("batch_per_gpu: {exactly: 8}\nlimits: {gpus: 3}\n");
  ASSERT_EQ(made.grid.left_out.size(), 1U);
  EXPECT_EQ(made.grid.left_out[0].why, "a node has 4 GPUs, and limits.gpus allows fewer");
}

// Four servers are beside four nodes or more. Fewer nodes are left out, and not the machine.
TEST(Grid, HasNodesOfAStrategyThatNeedsSeveral) {
  const Gridded made(
      "training: {servers: 4, server_hosts: beside_workers}\nbatch_per_gpu: {exactly: 8}\n"
      "limits: {nodes: 5, machines: [one]}\n",
      "resnet50", "parameter_server");
  EXPECT_EQ(made.loads(0, 3), Loads{});
  EXPECT_EQ(made.loads(0, 4), (Loads{{8, 1}}));
  EXPECT_EQ(made.loads(0, 5), (Loads{{8, 1}}));
}

}  // namespace
}  // namespace paceline::capacity
