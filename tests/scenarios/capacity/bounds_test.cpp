#include "scenarios/capacity/bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/training/strategy.h"
#include "scenarios/capacity/predictor.h"
#include "scenarios/predict/evidence.h"
#include "tests/scenarios/loader/job/small_job.h"

namespace paceline::capacity {
namespace {

// Every kind of network and of links in a node that bounds tell apart, nodes of one GPU, and of 72.
constexpr std::string_view all_kinds = R"(schema: paceline.catalogue/1
name: small
source: "made up"
date: 2026-11-26
machines:
  - {name: one, device: v100-sxm2-16gb, price: 1 USD/h, cluster: {preset: flat, network:
      {bandwidth: 10Gbps, latency: 25us, transport: tcp, provider: aws, framing: ethernet-tcp}}}
  - {name: one-rdma, device: a100-sxm4-80gb, price: 1 USD/h, cluster: {preset: flat, network:
      {bandwidth: 100Gbps, latency: 3us, transport: rdma}}}
  - {name: dgx1, price: 1 USD/h, cluster: {preset: dgx1-v100}}
  - {name: tcp, price: 1 USD/h, cluster: {preset: aws-p3-8xlarge}}
  - {name: efa, price: 1 USD/h, cluster: {preset: aws-p4d-24xlarge}}
  - {name: pcie, price: 1 USD/h, cluster: {preset: pcie-tree-8}}
  - {name: t4, price: 1 USD/h, cluster: {preset: aws-g4dn-12xlarge}}
  - {name: pair, price: 1 USD/h, cluster: {preset: rtx-2080-ti-nvlink-pair}}
  - {name: hopper, price: 1 USD/h, cluster: {preset: dgx-h100}}
  - {name: sharp, price: 1 USD/h, cluster: {preset: dgx-h100-superpod}}
  - {name: nvl72, price: 1 USD/h, cluster: {preset: gb200-nvl72}, at_most: 2}
)";

std::string job_of_all_strategies(std::string_view workload, std::string_view training) {
  std::string names;
  for (const training::Strategy* strategy : training::strategies()) {
    if (strategy->replays_trace) continue;
    names += (names.empty() ? "" : ", ") + std::string(strategy->name);
  }
  return fmt::format(
      "schema: paceline.job/1\nname: bounds\nworkload: {}\ntraining: {}\nstrategies: [{}]\n"
      "amount: {{samples: 1e7}}\ntarget: {{deadline: 1d}}\nbucket_caps: [1MiB, 25MiB]\n"
      "batch_per_gpu: {{at_most: 64}}\ncatalogue: [small.yaml]\n",
      workload, training, names);
}

// One node, several, and as many as no power of two is; small batches, whose calls do not hide, and
// larger ones.
std::vector<Setup> setups_of(const PlannedJob& job) {
  std::vector<Setup> setups;
  for (std::size_t machine = 0; machine < job.machines.size(); ++machine) {
    for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 9U}) {
      if (nodes > job.machines[machine].at_most.value_or(nodes)) continue;
      for (std::size_t strategy = 0; strategy < job.strategies.size(); ++strategy) {
        for (const std::uint32_t batch : {2U, 32U}) {
          setups.push_back({machine, nodes, strategy, batch, 1});
          setups.push_back({machine, nodes, strategy, batch, 2});
        }
      }
    }
  }
  return setups;
}

std::string words_of(const PlannedJob& job, const Setup& setup) {
  const auto& strategy = job.strategies[setup.strategy];
  return fmt::format("{} x {}, {} {}, batch {}, {} passes", setup.nodes,
                     job.machines[setup.machine].name, strategy.name, strategy.bucket_cap,
                     setup.batch, setup.passes);
}

// As a grid has it.
std::optional<StepBound> quick_bound(const PlannedJob& job, const Setup& setup) {
  try {
    Scenario scenario =
        job.scenario(job.machines[setup.machine], 1, settings_of(job, setup)).scenario(0);
    scenario.cluster.nodes = setup.nodes;
    return step_at_least(scenario, unconditioned_belief().priors(), job.probability);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// Some 2,500 setups, of which a prime apart come by all strategies and machines.
constexpr std::size_t bounds_apart = 29;

void expect_bounds_hold(const std::string& text) {
  std::map<std::size_t, std::optional<Speed>> speeds;
  std::size_t compared = 0;
  for (const char* probability : {"50%", "90%", "99%"}) {
    const PlannedJob job = test::job_of(text, all_kinds, {{"probability", probability}});
    const auto setups = setups_of(job);
    Predictor predictor(job, {});
    for (std::size_t i = 0; i < setups.size(); i += bounds_apart) {
      const Setup& setup = setups[i];
      const StepBound tight = predictor.step_at_least(setup);
      if (!speeds.contains(i)) speeds[i] = predictor.speeds({&setup, 1}).front();
      if (!speeds.at(i)) continue;
      const double median = speeds.at(i)->step.value() * (1 + 1e-12);
      const double step = speeds.at(i)->step_within(job.probability) / Seconds(1) * (1 + 1e-12);
      if (const auto quick = quick_bound(job, setup)) {
        EXPECT_LE(quick->limit.value(), step)
            << "quick, " << probability << ": " << words_of(job, setup);
        EXPECT_LE(quick->median.value(), median) << words_of(job, setup);
      }
      EXPECT_LE(tight.limit.value(), step)
          << "tight, " << probability << ": " << words_of(job, setup);
      EXPECT_LE(tight.median.value(), median) << words_of(job, setup);
      ++compared;
    }
  }
  EXPECT_GT(compared, 3 * 600 / bounds_apart);  // others are refused
}

TEST(Bounds, HoldOfAResNetOverAllStrategiesAndMachines) {
  expect_bounds_hold(job_of_all_strategies("{model: resnet50, precision: amp}", "{}"));
}

TEST(Bounds, HoldOfBert) {
  expect_bounds_hold(
      job_of_all_strategies("{model: bert-base, precision: amp, sequence: 128}", "{}"));
}

TEST(Bounds, HoldOfAGptInBf16) {
  expect_bounds_hold(
      job_of_all_strategies("{model: gpt2, precision: bf16, sequence: 1024, fused_attention: true}",
                            "{optimizer: {kind: adam, fused: true}}"));
}

TEST(Bounds, HoldOfAVggWithCompressedGradients) {
  expect_bounds_hold(
      job_of_all_strategies("{model: vgg16, precision: fp32}", "{comm_hook: powersgd}"));
}

TEST(Bounds, HoldOfShardsWithinNodes) {
  expect_bounds_hold(job_of_all_strategies("{model: bert-base, precision: amp, sequence: 128}",
                                           "{sharding: hybrid}"));
}

TEST(Bounds, HoldOfWhatWasMeasuredOnOneGpu) {
  expect_bounds_hold(job_of_all_strategies("{model: resnet50, precision: amp}", "{}") +
                     "measured_on: [{device: v100-sxm2-16gb, batch: 48, throughput: 640 "
                     "samples/s}]\n");
}

// Scenarios of a grid are loaded with one node.
TEST(Bounds, OfCandidatesAreThoseOfTheirScenarios) {
  const PlannedJob job = test::job_of(test::changed(test::small_job, "6h", "6d") +
                                      "limits: {nodes: 3}\nstrategies: [ddp, fsdp, horovod]\n");
  const uncertain::Priors& priors = unconditioned_belief().priors();
  for (const auto& [setup, bound] : grid_of(job, priors).candidates) {
    const Scenario scenario =
        job.scenario(job.machines[setup.machine], setup.nodes, settings_of(job, setup)).scenario(0);
    EXPECT_EQ(bound.limit, step_at_least(scenario, priors, job.probability).limit)
        << words_of(job, setup);
  }
}

}  // namespace
}  // namespace paceline::capacity
