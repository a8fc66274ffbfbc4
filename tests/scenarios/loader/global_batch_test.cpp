// A batch that all GPUs share, and compute of other batches than those that were timed.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/predict/run_scenario.h"
#include "scenarios/prepare/resolve.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace global_batch_test {

using Settings = std::vector<ScenarioFile::Setting>;

constexpr std::string_view own_batch = "  batch_per_gpu: 8\n";

// The small scenario with other lines in place of its batch, and a section more.
ScenarioFile file_with(std::string_view lines, std::string_view section, const Settings& settings) {
  const Folder folder;
  const std::string text = changed(small_scenario, own_batch, lines).append(section);
  return ScenarioFile::read(folder.write("s.yaml", text), settings);
}

ScenarioFile shared(std::string_view global_batch, const Settings& settings) {
  return file_with("  layers_batch: 8\n",
                   "job: {global_batch: " + std::string(global_batch) + "}\n", settings);
}

// A network on whole nodes of four, or a part of one.
Scenario network_scenario(const Settings& settings) {
  ScenarioValues values = small_values();
  values.by_path.erase("workload.batch_per_gpu");
  values.by_path.insert({{"cluster.gpus_per_node", "4"},
                         {"cluster.intra_node.bandwidth", "100GBps"},
                         {"cluster.network.bandwidth", "100Gbps"},
                         {"simulation.fidelity", "folded"}});
  return scenario_of_options(values, settings);
}

bool says(const Scenario& scenario, std::string_view words) {
  const auto sentences = scenario.assumptions.sentences();
  return std::ranges::any_of(
      sentences, [&](const std::string& one) { return one.find(words) != std::string::npos; });
}

bool is_measured(const Scenario& scenario) { return scenario.compute_ratio == measured_compute; }

TEST(GlobalBatch, IsSharedByGpusAndPasses) {
  EXPECT_EQ(shared("64", {}).scenario(0).workload.batch_per_gpu, 16U);
  EXPECT_EQ(shared("64", {{"gpus", "1"}}).scenario(0).workload.batch_per_gpu, 64U);
  EXPECT_EQ(
      shared("64", {{"training.gradient_accumulation", "2"}}).scenario(0).workload.batch_per_gpu,
      8U);
}

ScenarioFile both(std::string_view global_batch, const Settings& settings) {
  return file_with(own_batch, "job: {global_batch: " + std::string(global_batch) + "}\n", settings);
}

// 64 samples in passes of 8: eight of one GPU, four of two, two of four, one of eight.
TEST(GlobalBatch, BesideABatchDecidesThePasses) {
  const auto file = both("64", {{"sweep.gpus", "[1, 2, 4, 8]"}});
  std::vector<std::uint32_t> passes;
  for (std::size_t i = 0; i < file.point_count(); ++i) {
    const Scenario scenario = file.scenario(i);
    EXPECT_EQ(scenario.workload.batch_per_gpu, 8U);
    EXPECT_TRUE(says(scenario, "speedup: relative to one GPU with each point's own passes"));
    passes.push_back(scenario.training.gradient_accumulation);
  }
  EXPECT_EQ(passes, (std::vector<std::uint32_t>{8, 4, 2, 1}));
}

// Whoever changes one of them keeps the other; passes that are set count in place of the batch of
// all.
TEST(GlobalBatch, BesideABatchStaysSoWhereOneIsSet) {
  EXPECT_EQ(both("64", {{"job.global_batch", "128"}}).scenario(0).training.gradient_accumulation,
            4U);
  const Scenario own = both("64", {{"workload.batch_per_gpu", "4"}}).scenario(0);
  EXPECT_EQ(own.workload.batch_per_gpu, 4U);
  EXPECT_EQ(own.training.gradient_accumulation, 4U);
  const Scenario passes = both("64", {{"training.gradient_accumulation", "3"}}).scenario(0);
  EXPECT_EQ(passes.training.gradient_accumulation, 3U);
  EXPECT_TRUE(
      says(passes, "job.global_batch: ignored, because training.gradient_accumulation is set"));
}

// Points of a sweep, in the order of its grid: 64 / 2, 64 / 8, 128 / 2, 128 / 8.
TEST(GlobalBatch, IsSharedAtEveryPointOfASweep) {
  const auto file =
      shared("1", {{"sweep.job.global_batch", "[64, 128]"}, {"sweep.gpus", "[2, 8]"}});
  std::vector<std::uint32_t> batches;
  for (std::size_t i = 0; i < file.point_count(); ++i) {
    batches.push_back(file.scenario(i).workload.batch_per_gpu);
  }
  EXPECT_EQ(batches, (std::vector<std::uint32_t>{32, 8, 64, 16}));
}

// What is predicted, but for what it assumes.
void expect_same_run(const ScenarioFile& a, const ScenarioFile& b) {
  const RunOptions options{.jobs = 1, .keep_traces = false, .force = false, .progress = {}};
  const auto one = run_scenario(a, options).front(), other = run_scenario(b, options).front();
  ASSERT_TRUE(one.predicted && other.predicted);
  EXPECT_EQ(one.samples_per_step, other.samples_per_step);
  EXPECT_EQ(one.one_gpu_step, other.one_gpu_step);
  EXPECT_EQ(one.predicted->totals.step, other.predicted->totals.step);
  EXPECT_EQ(one.predicted->totals.compute, other.predicted->totals.compute);
  EXPECT_EQ(one.predicted->totals.communication, other.predicted->totals.communication);
  EXPECT_EQ(one.predicted_speedup(), other.predicted_speedup());
  EXPECT_EQ(one.predicted->interval.low, other.predicted->interval.low);
  EXPECT_EQ(one.predicted->interval.high, other.predicted->interval.high);
}

TEST(GlobalBatch, IsPredictedAsTheBatchOfEachGpuIs) {
  for (const std::string_view timed :
       {"", "  layers_batch: 6\n",
        "  layers_batch: 12\n  single_gpu_throughput: 900 samples/s\n"
        "  single_gpu_batch: 4\n",
        "  layers_batch: 8\n  single_gpu_throughput: [{batch: 4, throughput: 900 samples/s}, "
        "{batch: 64, throughput: 1000 samples/s}]\n"}) {
    for (const std::uint32_t gpus : {1U, 2U, 4U, 8U}) {
      for (const std::uint32_t passes : {1U, 3U}) {
        for (const std::uint32_t batch : {3U, 8U, 128U}) {
          SCOPED_TRACE(std::string(timed) + std::to_string(gpus) + " GPUs, batch " +
                       std::to_string(batch) + " x " + std::to_string(passes));
          const Settings both{{"gpus", std::to_string(gpus)},
                              {"training.gradient_accumulation", std::to_string(passes)}};
          const std::string own = std::to_string(batch),
                            all = std::to_string(std::uint64_t{batch} * gpus * passes);
          const std::string lines =
              timed.empty() ? "  layers_batch: " + own + "\n" : std::string(timed);
          expect_same_run(file_with(lines, "job: {global_batch: " + all + "}\n", both),
                          file_with(lines + "  batch_per_gpu: " + own + "\n", "", both));
        }
      }
    }
  }
}

// As many passes that are written down take as long.
TEST(GlobalBatch, BesideABatchIsTheSameRunAsItsPasses) {
  expect_same_run(both("64", {}),
                  file_with(own_batch, "", {{"training.gradient_accumulation", "2"}}));
}

// Who sets one of the two means it; what the file has of a batch a GPU says what was timed.
TEST(GlobalBatch, ComesBeforeThatOfTheFileWhereItIsSet) {
  const auto set = file_with("  batch_per_gpu: 8\n", "", {{"job.global_batch", "64"}}).scenario(0);
  EXPECT_EQ(set.workload.batch_per_gpu, 16U);
  EXPECT_DOUBLE_EQ(set.workload.forward().value(), 0.004);  // 2 ms with 8 samples
  EXPECT_TRUE(says(set, "workload.batch_per_gpu: ignored, because job.global_batch is set"));
  const auto own = shared("64", {{"workload.batch_per_gpu", "4"}}).scenario(0);
  EXPECT_EQ(own.workload.batch_per_gpu, 4U);
  EXPECT_DOUBLE_EQ(own.workload.forward().value(), 0.001);
  EXPECT_TRUE(says(own, "job.global_batch: ignored, because workload.batch_per_gpu is set"));
  EXPECT_FALSE(says(own, "speedup: "));
}

// 64 samples in 100 ms are 640 samples a second, whatever the GPUs.
TEST(GlobalBatch, IsWhatAMeasuredStepIsOf) {
  const auto file =
      file_with("  layers_batch: 8\n",
                "job: {global_batch: 64}\nsweep: {gpus: [1, 2, 4]}\nmeasured: "
                "{source: s, points: [{gpus: 1, step: 100ms}, {gpus: 4, step: 50ms}]}\n",
                {});
  EXPECT_DOUBLE_EQ(file.measured(0)->throughput.value(), 640);
  EXPECT_DOUBLE_EQ(file.measured(2)->throughput.value(), 1280);
  // One GPU ran a larger batch than each of four, so it says nothing of their speedup.
  const auto outcomes =
      run_scenario(file, {.jobs = 1, .keep_traces = false, .force = false, .progress = {}});
  EXPECT_FALSE(outcomes[2].measured_speedup());
  EXPECT_TRUE(
      says(file.scenario(2), "speedup: relative to one GPU with each point's own batch per GPU"));
  EXPECT_DOUBLE_EQ(outcomes[2].predicted_one_gpu().value(), 16 / outcomes[2].one_gpu_step.value());
}

// 6 ms of layers with 8 samples, 1 ms of optimizer: 12 + 1 with 16.
TEST(TimedLayers, TakeWithOtherBatchesWhatTheyTakeInProportion) {
  const auto own = shared("32", {}).scenario(0), other = shared("64", {}).scenario(0);
  EXPECT_DOUBLE_EQ(own.workload.one_gpu_step(1).value(), 0.007);
  EXPECT_DOUBLE_EQ(other.workload.one_gpu_step(1).value(), 0.013);
  EXPECT_TRUE(is_measured(own));
  EXPECT_FALSE(is_measured(other));
  EXPECT_TRUE(says(other, "compute: layers were timed at batch 8"));
  EXPECT_FALSE(says(own, "compute: "));
}

// By the roofline a step is longer by the factor by which it was with the batch that was measured.
TEST(OneGpuThroughput, ScalesComputeOfOtherBatchesByTheSameFactor) {
  const auto step = [](const Scenario& scenario) { return scenario.workload.one_gpu_step(1); };
  const auto modelled = [&](const char* batch) {
    return step(network_scenario({{"workload.batch_per_gpu", batch},
                                  {"training.host.per_operation", "0s"},
                                  {"training.optimizer.time", "0s"}}));
  };
  // 32 samples in 0.1 s.
  const double factor = Seconds(0.1) / modelled("32");
  for (const char* batch : {"1", "16", "32", "256"}) {
    const Scenario scaled = network_scenario({{"workload.batch_per_gpu", batch},
                                              {"training.host.per_operation", "0s"},
                                              {"training.optimizer.time", "0s"},
                                              {"workload.single_gpu_throughput", "320 samples/s"},
                                              {"workload.single_gpu_batch", "32"}});
    const double expected = modelled(batch).value() * factor;
    EXPECT_NEAR(step(scaled).value(), expected, 1e-12 * expected);
    const bool is_own = std::string_view(batch) == "32";
    EXPECT_EQ(is_measured(scaled), is_own);
    EXPECT_EQ(says(scaled,
                   "compute: scaled to 320 samples/s on one GPU at batch 32; other batch "
                   "sizes are scaled by the roofline of a100-sxm4-40gb, not measured"),
              !is_own);
  }
}

// Blocks that are run again are so with the measured batch, too.
TEST(OneGpuThroughput, IsOfAStepThatRunsBlocksAgain) {
  const auto step = [](const char* batch, bool is_scaled) {
    Settings settings{{"workload.model", "bert-base"},
                      {"workload.batch_per_gpu", batch},
                      {"training.host.per_operation", "0s"},
                      {"training.optimizer.time", "0s"},
                      {"training.activation_checkpointing", "blocks"}};
    if (is_scaled) {
      settings.insert(settings.end(), {{"workload.single_gpu_throughput", "80 samples/s"},
                                       {"workload.single_gpu_batch", "8"}});
    }
    return network_scenario(settings).workload.one_gpu_step(1).value();
  };
  const double factor = 0.1 / step("8", false);
  EXPECT_NEAR(step("4", true) / step("4", false), factor, 1e-12 * factor);
}

// BERT-Base has 128 tokens a sequence: 12,800 of them a second are 100 sequences.
TEST(OneGpuThroughput, MayBeOfTokens) {
  const auto step = [](const char* throughput) {
    return network_scenario({{"workload.model", "bert-base"},
                             {"workload.batch_per_gpu", "32"},
                             {"workload.sequence", "128"},
                             {"workload.single_gpu_throughput", throughput}})
        .workload.one_gpu_step(1)
        .value();
  };
  EXPECT_NEAR(step("12800 tokens/s"), step("100 samples/s"), 1e-12);
  EXPECT_THROW((void)network_scenario({{"workload.batch_per_gpu", "32"},
                                       {"workload.single_gpu_throughput", "12800 tokens/s"}}),
               InputError);
}

// ResNet-50 on an H100 with 2 images a pass: the host needs longer to launch its kernels than they
// run; with 256 it does not.
TEST(OneGpuSpeed, IsTheHostsWhereItsLaunchesTakeLonger) {
  const auto scenario = [](const char* batch) {
    return network_scenario({{"workload.device", "h100-sxm5-80gb"},
                             {"workload.precision", "amp"},
                             {"workload.batch_per_gpu", batch}});
  };
  const Scenario small = scenario("2"), twice = scenario("4"), large = scenario("256");
  ASSERT_TRUE(small.launches);
  EXPECT_TRUE(says(small, "host: the CPU takes "));
  const auto step = [](const Scenario& one) {
    return one.workload.one_gpu_step(1, one.training.host.launches);
  };
  EXPECT_NEAR(step(small) / *small.launches, 1, 0.03);  // its last kernels
  EXPECT_NEAR(step(twice) / step(small), 1, 0.01);
  EXPECT_FALSE(large.launches);
  EXPECT_GT(small.compute_ratio, large.compute_ratio);
}

// 32 / 128 = 0.25 s and 64 / 142.22 = 0.45 s: 50 ms and 6.25 ms a sample.
TEST(OneGpuThroughput, OfSeveralBatchesGivesThoseBetweenAndBeyond) {
  const auto with = [](const char* global_batch) {
    return network_scenario({{"job.global_batch", global_batch},
                             {"gpus", "8"},
                             {"workload.single_gpu_throughput",
                              "[{batch: 64, throughput: 142.22222222222223 samples/s}, "
                              "{batch: 32, throughput: 128 samples/s}]"}});
  };
  const auto step = [](const Scenario& scenario) {
    return scenario.workload.one_gpu_step(1, scenario.training.host.launches).value();
  };
  const Scenario own = with("256"), between = with("384"), beyond = with("1024"),
                 below = with("64");
  EXPECT_NEAR(step(own), 0.25, 1e-12);
  EXPECT_TRUE(says(own, "compute: scaled to 128 samples/s on one GPU"));
  EXPECT_NEAR(step(between), 0.35, 1e-12);
  EXPECT_TRUE(says(between, "compute: scaled to steps measured on one GPU; between"));
  EXPECT_TRUE(is_measured(own) && is_measured(between));
  EXPECT_NEAR(step(beyond), 0.85, 1e-12);
  EXPECT_NEAR(step(below), 0.1, 1e-12);
  for (const Scenario& one : {beyond, below}) {
    EXPECT_TRUE(
        says(one, "compute: extrapolated beyond the batch sizes 32 to 64 measured on one GPU"));
    EXPECT_FALSE(is_measured(one));
  }
}

}  // namespace global_batch_test
}  // namespace paceline::test
