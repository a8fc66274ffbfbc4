// What other devices were measured to do: `workload.measured_on`.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/loader/bad_scenario.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace measured_on_test {

using Settings = std::vector<ScenarioFile::Setting>;

constexpr const char* layers =
    "  layers:\n    - {name: a, forward: 1ms, backward: 2ms, parameters: [1000, 20]}\n"
    "    - {name: b, forward: 1ms, backward: 2ms, parameters: [3000]}\n";

// ResNet-50 with 32 samples a V100.
Scenario resnet(const Settings& more) {
  ScenarioValues values = small_values();
  values.by_path["workload.batch_per_gpu"] = "32";
  values.by_path["workload.device"] = "v100-sxm2-16gb";
  values.by_path.insert({{"cluster.gpus_per_node", "4"},
                         {"cluster.intra_node.bandwidth", "100GBps"},
                         {"cluster.network.bandwidth", "100Gbps"},
                         {"simulation.fidelity", "folded"}});
  return scenario_of_options(values, more);
}

Scenario measured_on(const std::string& list, Settings more = {}) {
  more.push_back({"workload.measured_on", list});
  return resnet(more);
}

double step(const Scenario& scenario) { return scenario.workload.one_gpu_step(1).value(); }

bool says(const Scenario& scenario, std::string_view words) {
  return std::ranges::any_of(scenario.assumptions.sentences(), [&](const std::string& one) {
    return one.find(words) != std::string::npos;
  });
}

void expect_the_same(const Scenario& one, const Scenario& other) {
  EXPECT_EQ(one.compute_ratio, other.compute_ratio);
  EXPECT_EQ(one.assumptions.sentences(), other.assumptions.sentences());
  EXPECT_EQ(one.workload.optimizer, other.workload.optimizer);
  ASSERT_EQ(one.workload.layers.size(), other.workload.layers.size());
  for (std::size_t i = 0; i < one.workload.layers.size(); ++i) {
    EXPECT_EQ(one.workload.layers[i].forward, other.workload.layers[i].forward);
    EXPECT_EQ(one.workload.layers[i].backward, other.workload.layers[i].backward);
  }
}

TEST(MeasuredOn, TheOwnDeviceIsItsThroughput) {
  expect_the_same(measured_on("[{device: v100-sxm2-16gb, batch: 32, throughput: 350 samples/s}]"),
                  resnet({{"workload.single_gpu_throughput", "350 samples/s"}}));
  expect_the_same(measured_on("[{device: v100-sxm2-16gb, batch: 64, throughput: 350 samples/s}]"),
                  resnet({{"workload.single_gpu_throughput", "350 samples/s"},
                          {"workload.single_gpu_batch", "64"}}));
  expect_the_same(
      measured_on(
          "[{device: v100-sxm2-16gb, batch: 64, throughput: 350 samples/s}, "
          "{device: v100-sxm2-16gb, batch: 16, throughput: 300 samples/s, precision: fp32}]"),
      resnet(
          {{"workload.single_gpu_throughput",
            "[{batch: 16, throughput: 300 samples/s}, {batch: 64, throughput: 350 samples/s}]"}}));
}

// The small scenario's step of 7 ms has 8 samples; here 8 take 20 ms, of which 1 ms is the
// optimizer's.
TEST(MeasuredOn, TheOwnDeviceOfLayersIsItsThroughput) {
  const Folder folder;
  const std::string text =
      changed(small_scenario, "  batch_per_gpu: 8\n",
              "  batch_per_gpu: 8\n  measured_on: [{device: v100-sxm2-16gb, batch: 8, throughput: "
              "400 samples/s}]\n");
  EXPECT_NEAR(step(ScenarioFile::read(folder.write("s.yaml", text), {}).scenario(0)), 0.02, 1e-12);
}

// A V100 that is half as fast as a model of it makes an A100 slower, but not twice as slow; one as
// fast as its model leaves it where it was, and surer.
TEST(MeasuredOn, AnotherDeviceMovesTheModelPartOfTheWay) {
  const Settings a100{{"workload.device", "a100-sxm4-40gb"}};
  const auto of_v100 = [&](double factor) {
    return measured_on(fmt::format("[{{device: v100-sxm2-16gb, batch: 32, throughput: {:.17g} "
                                   "samples/s}}]",
                                   32 / (step(resnet({})) * factor)),
                       a100);
  };
  const Scenario alone = resnet(a100), slow = of_v100(2), alike = of_v100(1), fast = of_v100(0.5);
  const double by = step(slow) / step(alone);
  EXPECT_GT(by, 1.2);
  EXPECT_LT(by, 1.8);
  EXPECT_NEAR(step(alike) / step(alone), 1, 1e-9);
  EXPECT_NEAR(step(fast) / step(alone), 1 / by, 1e-9);
  EXPECT_LT(alike.compute_ratio, alone.compute_ratio);
  EXPECT_EQ(alike.compute_ratio, slow.compute_ratio);
  EXPECT_TRUE(says(alike,
                   "on v100-sxm2-16gb carried over to a100-sxm4-40gb: 1.00 times the modelled "
                   "step (-"));
  EXPECT_FALSE(says(alike, "is modelled, not measured"));
}

// Tokens are of the sequence, here of 128.
TEST(MeasuredOn, AnotherDeviceMayBeInTokens) {
  const auto of = [](const char* throughput) {
    return step(measured_on(
        fmt::format("[{{device: a100-sxm4-40gb, batch: 16, throughput: {}, precision: tf32}}]",
                    throughput),
        {{"workload.model", "bert-base"}, {"workload.sequence", "128"}}));
  };
  EXPECT_NEAR(of("12800 tokens/s"), of("100 samples/s"), 1e-12);
}

TEST(MeasuredOn, AnotherPrecisionSaysWhich) {
  const Scenario amp = measured_on(
      "[{device: v100-sxm2-16gb, batch: 32, throughput: 350 samples/s, precision: fp32}]",
      {{"workload.precision", "amp"}});
  EXPECT_TRUE(says(amp, "compute: 350 samples/s on v100-sxm2-16gb in fp32 carried over to "));
  EXPECT_GT(amp.compute_ratio, measured_compute);
}

// What the own device does leaves nothing to others; a sweep over devices may have a row of each.
TEST(MeasuredOn, OtherDevicesSayNothingBesideTheOwn) {
  expect_the_same(measured_on("[{device: v100-sxm2-16gb, batch: 32, throughput: 350 samples/s}, "
                              "{device: a100-sxm4-40gb, batch: 32, throughput: 1 samples/s}]"),
                  resnet({{"workload.single_gpu_throughput", "350 samples/s"}}));
}

// 8 samples at 9000 a second take 0.9 ms.
TEST(MeasuredOn, AnotherDeviceMayNotBeFasterThanItsInput) {
  EXPECT_THROW((void)measured_on("[{device: k80, batch: 8, throughput: 9000 samples/s}]",
                                 {{"training.input_time", "1ms"}}),
               InputError);
}

TEST(MeasuredOn, IsRefusedOfATrace) {
  const Folder folder;
  folder.write("s.yaml",
               "schema: paceline/1\nname: traced\nworkload:\n"
               "  trace: " PACELINE_SOURCE_DIR
               "/scenarios/library/traces/resnet50-v100.trace\n"
               "  measured_on: [{device: k80, batch: 8, throughput: 9 samples/s}]\n"
               "cluster: {gpus_per_node: 1}\ntraining: {strategy: ddp}\n");
  expect_refused(paceline({"run", "s.yaml"}, folder.path()),
                 "paceline: s.yaml:5:16: measured_on is of devices, and a trace does not say its "
                 "own; write single_gpu_throughput");
}

#define PACELINE_MODEL "  model: resnet18\n  measured_on: "

const BadScenario bad_entries[] = {
    {"UnknownDevice", layers,
     PACELINE_MODEL "[{device: @v100-sxm2, batch: 8, throughput: 9 samples/s}]\n",
     "device \"v100-sxm2\" is not known"},
    {"NoBatch", layers, PACELINE_MODEL "[@{device: a100-sxm4-40gb, throughput: 9 samples/s}]\n",
     "workload.measured_on.batch is missing; write batch: 32"},
    {"NoMap", layers, PACELINE_MODEL "[@a100-sxm4-40gb]\n",
     "measured_on \"a100-sxm4-40gb\" is not a map"},
    {"NoList", layers, PACELINE_MODEL "@{device: a100-sxm4-40gb}\n", "measured_on is not a list"},
    {"Twice", layers,
     PACELINE_MODEL "[{device: k80, batch: 8, throughput: 9 samples/s}, @{device: k80, batch: 8, "
                    "throughput: 8 samples/s, precision: fp32}]\n",
     "measured_on repeats a device, batch and precision of the list; leave one of them out"},
    {"NoSuchArithmetic", layers,
     PACELINE_MODEL "[{device: k80, batch: 8, throughput: 9 samples/s, precision: @fp16}]\n",
     "precision \"fp16\" has no fp16 arithmetic; choose another precision or device"},
    {"BesideOnesOwn", layers,
     "  model: resnet18\n  single_gpu_throughput: 9 samples/s\n  measured_on: @[{device: k80, "
     "batch: 8, throughput: 9 samples/s}]\n",
     "measured_on stands beside single_gpu_throughput, which says what this GPU does; keep one of "
     "them"},
    {"OtherDeviceOfLayers", "  batch_per_gpu: 8\n",
     "  batch_per_gpu: 8\n  measured_on: [{device: @k80, batch: 8, throughput: 9 samples/s}]\n",
     "device \"k80\" is not the scenario's, and times of layers are of their own; leave it out, or "
     "give a model instead of layers"},
    {"OtherPrecisionOfLayers", "  batch_per_gpu: 8\n",
     "  batch_per_gpu: 8\n  measured_on: [{device: v100-sxm2-16gb, batch: 8, throughput: 9 "
     "samples/s, precision: @amp}]\n",
     "precision \"amp\" is not the scenario's, and times of layers are of their own; leave it out, "
     "or give a model instead of layers"},
};

TEST(MeasuredOn, IsRefusedInOneLineThatPointsAtTheFault) {
  for (const BadScenario& bad : bad_entries) {
    SCOPED_TRACE(bad.name);
    expect_refused_there(bad);
  }
}

}  // namespace measured_on_test
}  // namespace paceline::test
