#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "scenarios/loader/job/job.h"
#include "tests/scenarios/loader/job/small_job.h"

namespace paceline {
namespace {

using test::changed;
using test::job_of;
using test::small_catalogue;
using test::small_job;
using Settings = std::vector<ScenarioFile::Setting>;

PlannedJob with(const std::string& end, const Settings& settings = {}) {
  return job_of(std::string(small_job) + end, small_catalogue, settings);
}

std::vector<std::string> names_of(const std::vector<Machine>& machines) {
  std::vector<std::string> names;
  for (const Machine& machine : machines) names.push_back(machine.name + "@" + machine.region);
  return names;
}

// 90 x 1,281,167 = 115,305,030.
TEST(LoadJob, ReadsWhatHasToBeDone) {
  const PlannedJob job = job_of(small_job);
  EXPECT_EQ(job.name, "a small job");
  EXPECT_EQ(job.samples, 115305030.0);
  EXPECT_EQ(job.amount, "90 epochs of 1281167 samples");
  EXPECT_EQ(job.targets.deadline, Seconds(21600));
  EXPECT_FALSE(job.targets.throughput);
  EXPECT_FALSE(job.targets.budget);
  EXPECT_EQ(job.batches.global_at_most, 8192U);
  EXPECT_FALSE(job.batches.global_exactly);
  EXPECT_FALSE(job.batches.per_gpu_at_most);
}

// Images are decoded, and sequences ready; 4 bytes a token, of 512.
TEST(LoadJob, KnowsWhatSamplesAreByTheNetwork) {
  const JobInput images = job_of(small_job).input;
  EXPECT_EQ(images.kind, InputKind::jpeg);
  EXPECT_EQ(images.per_core, SamplesPerSecond(200));
  EXPECT_EQ(images.factor, 2);
  EXPECT_EQ(images.bytes, Bytes(114'660));
  const auto bert = changed(small_job, "resnet50", "bert-base, sequence: 512");
  const JobInput ready = job_of(bert).input;
  EXPECT_EQ(ready.kind, InputKind::tokens);
  EXPECT_FALSE(ready.per_core);
  EXPECT_EQ(ready.bytes, Bytes(2048));
  const JobInput text = job_of(bert + "input: {kind: text}\n").input;
  EXPECT_DOUBLE_EQ(text.per_core->value(), 1.9e6 / 512);
  EXPECT_EQ(text.factor, 3);
}

TEST(LoadJob, TakesWhatIsToldOfInput) {
  const JobInput told = with("input: {per_core: 120 samples/s, bytes: 50kB}\n").input;
  EXPECT_EQ(told.per_core, SamplesPerSecond(120));
  EXPECT_EQ(told.factor, 1);
  EXPECT_EQ(told.bytes, Bytes(50'000));
  EXPECT_FALSE(with("input: {kind: none}\n").input.per_core);
  const PlannedJob job = job_of(small_job, changed(small_catalogue, "at_most: 16",
                                                   "at_most: 16\n    vcpus: 96\n    disk: 2GBps"));
  EXPECT_EQ(job.machines.front().vcpus, 96U);
  EXPECT_EQ(job.machines.front().disk, BytesPerSecond(2e9));
  EXPECT_FALSE(job.machines.back().vcpus);
}

TEST(LoadJob, HasDefaults) {
  const PlannedJob job = job_of(small_job);
  EXPECT_EQ(job.probability, 0.9);
  EXPECT_EQ(job.batches.accumulation_at_most, 1U);
  EXPECT_EQ(job.nodes_at_most, 32U);
  EXPECT_FALSE(job.gpus_at_most);
  EXPECT_EQ(job.pricings, std::vector{Pricing::on_demand});
  EXPECT_EQ(job.currency, "USD");
  EXPECT_FALSE(job.overheads.start);
  EXPECT_FALSE(job.overheads.checkpoint);
  EXPECT_FALSE(job.overheads.mtbf_per_node);
  // fsdp has no bucket cap.
  std::vector<std::string> strategies;
  for (const auto& [name, cap] : job.strategies) strategies.push_back(name + " " + cap);
  EXPECT_EQ(strategies, (std::vector<std::string>{"ddp 25MiB", "ddp 100MiB", "fsdp "}));
}

TEST(LoadJob, ReadsAllOfAFile) {
  const PlannedJob job = job_of(R"(schema: paceline.job/1
name: all of it
workload: {model: bert-large, sequence: 128, pretraining_heads: true, precision: amp}
amount: {tokens: 3e9}
target: {deadline: 2d, throughput: 51200 tokens/s, budget: 500 USD}
probability: 95%
global_batch: {exactly: 4096}
batch_per_gpu: {at_most: 64}
gradient_accumulation: {at_most: 8}
measured_on:
  - {device: v100-sxm2-16gb, batch: 32, throughput: 6400 tokens/s}
  - {device: v100-sxm2-16gb, batch: 16, throughput: 45 samples/s, precision: amp}
  - {device: v100-sxm2-16gb, batch: 8, throughput: 10 samples/s, precision: fp32}
training: {optimizer: {kind: adam}, torch_version: "2.1"}
strategies: [horovod, ddp]
bucket_caps: [1MiB]
catalogue: [small.yaml]
pricing: both
limits: {nodes: 4, gpus: 24}
overheads: {start: 10min, checkpoint: {every: 30min, takes: 40s}, mtbf_per_node: 5000h}
)");
  EXPECT_EQ(job.samples, 3e9 / 128);
  EXPECT_EQ(job.amount, "3e9 tokens (128 per sample)");
  EXPECT_EQ(job.targets.deadline, Seconds(2 * 86400.0));
  EXPECT_EQ(job.targets.throughput, SamplesPerSecond(400));  // of 128 tokens each
  EXPECT_EQ(job.targets.budget, Money(500));
  EXPECT_EQ(job.probability, 0.95);
  EXPECT_EQ(job.batches.global_exactly, 4096U);
  EXPECT_EQ(job.batches.per_gpu_at_most, 64U);
  EXPECT_EQ(job.batches.accumulation_at_most, 8U);
  ASSERT_EQ(job.strategies.size(), 2U);
  EXPECT_EQ(job.strategies[0].name, "horovod");
  EXPECT_EQ(job.strategies[0].bucket_cap, "");
  EXPECT_EQ(job.strategies[1].bucket_cap, "1MiB");
  EXPECT_EQ(job.pricings, (std::vector{Pricing::on_demand, Pricing::spot}));
  EXPECT_EQ(job.nodes_at_most, 4U);
  EXPECT_EQ(job.gpus_at_most, 24U);
  EXPECT_EQ(job.overheads.start, Seconds(600));
  ASSERT_TRUE(job.overheads.checkpoint);
  EXPECT_EQ(job.overheads.checkpoint->every, Seconds(1800));
  EXPECT_EQ(job.overheads.checkpoint->takes, Seconds(40));
  EXPECT_EQ(job.overheads.mtbf_per_node, Seconds(1.8e7));
  // Ascending; that of fp32 says nothing of amp.
  EXPECT_EQ(job.measured_batches(job.machines[2]), (std::vector<std::uint32_t>{16, 32}));
  EXPECT_EQ(job.measured_batches(job.machines[0]), std::vector<std::uint32_t>{});
}

// 36 USD an hour are 0.01 a second; of its nodes 0.036 / 3600 = 1e-5 a second are taken away. What
// is owned costs 36,000 / (4 x 8,766 h) / 0.5 = 2.05339 an hour.
TEST(LoadJob, ReadsTheMachinesOfItsCatalogues) {
  const PlannedJob job = job_of(small_job);
  ASSERT_EQ(names_of(job.machines),
            (std::vector<std::string>{"eight@us-east-1", "eight@eu-west-1", "ours@"}));
  const Machine& eight = job.machines[0];
  EXPECT_EQ(eight.full_name(), "small eight");
  EXPECT_EQ(eight.device, "a100-sxm4-40gb");  // the preset's
  EXPECT_EQ(eight.gpus_per_node, 8U);
  EXPECT_EQ(eight.area, "us");
  EXPECT_EQ(eight.at_most, 16U);
  EXPECT_EQ(eight.source, "made up");
  EXPECT_EQ(eight.date, "2026-11-26");
  EXPECT_FALSE(eight.is_owned);
  EXPECT_NEAR(eight.price->value(), 0.01, 1e-12);
  ASSERT_TRUE(eight.spot);
  EXPECT_NEAR(eight.spot->price.value(), 0.0025, 1e-12);
  EXPECT_NEAR(*eight.spot->preemptions_per_s, 1e-5, 1e-15);
  const Machine& ours = job.machines[2];
  EXPECT_TRUE(ours.is_owned);
  EXPECT_FALSE(ours.spot);
  EXPECT_FALSE(ours.at_most);
  EXPECT_EQ(ours.device, "v100-sxm2-16gb");
  EXPECT_NEAR(3600 * ours.price->value(), 2.05339, 1e-5);
}

TEST(LoadJob, TakesAMachinesOwnSourceAndDate) {
  const PlannedJob job =
      job_of(small_job, changed(small_catalogue, "price: 40 USD/h",
                                "price: 40 USD/h\n    source: an offer\n    date: unknown"));
  EXPECT_EQ(job.machines[0].source, "made up");
  EXPECT_EQ(job.machines[1].source, "an offer");
  EXPECT_EQ(job.machines[1].date, "unknown");
}

TEST(LoadJob, TakesAllShippedCataloguesWhereItNamesNone) {
  const PlannedJob job = job_of(changed(small_job, "catalogue: [small.yaml]\n", ""));
  std::set<std::string_view> named, shipped;
  for (const Machine& one : job.machines) named.insert(one.catalogue);
  for (const ShippedFile& one : shipped_catalogues()) shipped.insert(one.name);
  EXPECT_EQ(named, shipped);
}

// 35,064 a lifetime of four years of 8,766 hours are 1 an hour; 5 % of the price a year 1,753.20 in
// 8,766 hours, 0.2 an hour; in use half of the time twice both, 2.4; 4 kW at 0.15 a kWh 0.6.
TEST(LoadJob, CountsPriceUpkeepAndPowerOfOnesOwnMachines) {
  const std::string owned =
      changed(small_catalogue, "{price: 36000 USD, lifetime: 4y, in_use: 50%}",
              "{price: 35064 USD, lifetime: 4y, in_use: 50%, upkeep: 5%, power: 4kW, "
              "electricity: 0.15 USD/kWh}");
  EXPECT_NEAR(3600 * job_of(small_job, owned).machines[2].price->value(), 3.0, 1e-9);
}

// Nothing joins two of them.
TEST(LoadJob, TakesOneNodeOfMachinesWithoutANetwork) {
  const std::string alone = changed(small_catalogue, "preset: dgx1-v100",
                                    "gpus_per_node: 4, intra_node: {bandwidth: 10GBps}");
  EXPECT_EQ(job_of(small_job, alone).machines[2].at_most, 1U);
  const std::string two = changed(alone, "10GBps}}\n", "10GBps}}\n    at_most: 2\n");
  EXPECT_EQ(job_of(small_job, two).machines[2].at_most, 1U);
}

TEST(LoadJob, LeavesOutMachinesInOtherRegions) {
  using Names = std::vector<std::string>;
  const auto names = [](const char* limits) {
    return names_of(with(std::string("limits: ") + limits).machines);
  };
  // What says no region is anywhere.
  EXPECT_EQ(names("{regions: [us-east-1]}"), (Names{"eight@us-east-1", "ours@"}));
  EXPECT_EQ(names("{regions: [eu-west]}"), (Names{"eight@eu-west-1", "ours@"}));
  EXPECT_EQ(names("{regions: [eu]}"), (Names{"eight@eu-west-1", "ours@"}));
  EXPECT_EQ(names("{regions: [us], devices: [a100-sxm4-40gb]}"), (Names{"eight@us-east-1"}));
  EXPECT_EQ(names("{machines: [small ours]}"), (Names{"ours@"}));
  EXPECT_EQ(with("limits: {regions: [us], machines: [ours]}").machines_elsewhere, 1U);
}

TEST(LoadJob, TakesNodesAsANumberOrAMap) {
  const auto nodes = [](const char* limits, const std::vector<ScenarioFile::Setting>& set = {}) {
    const PlannedJob job = with(limits, set);
    return std::pair(job.nodes_exactly.value_or(0), job.nodes_at_most);
  };
  EXPECT_EQ(nodes("limits: {nodes: {exactly: 12}}").first, 12U);
  EXPECT_EQ(nodes("limits: {nodes: {at_most: 12}}"), std::pair(0U, 12U));
  EXPECT_EQ(nodes("limits: {nodes: {}}"), std::pair(0U, 32U));
  EXPECT_EQ(nodes("limits: {nodes: {exactly: 12}}", {{"limits.nodes", "3"}}), std::pair(0U, 3U));
  EXPECT_EQ(nodes("limits: {gpus: 99}", {{"limits.nodes.exactly", "3"}}).first, 3U);
}

TEST(LoadJob, TakesSettingsInPlaceOfValues) {
  const PlannedJob job = with("", {{"target.deadline", "3h"},
                                   {"strategies", "[wait_free]"},
                                   {"limits.nodes", "2"},
                                   {"workload.precision", "fp32"},
                                   {"training.optimizer.kind", "adam"}});
  EXPECT_EQ(job.targets.deadline, Seconds(10800));
  EXPECT_EQ(job.strategies.size(), 1U);
  EXPECT_EQ(job.nodes_at_most, 2U);
  const Scenario scenario =
      job.scenario(job.machines[0], 1,
                   {{"training.strategy", "ddp"}, {"workload.batch_per_gpu", "32"}})
          .scenario(0);
  EXPECT_EQ(scenario.precision, workload::Precision::fp32);
  EXPECT_EQ(scenario.workload.optimizer_states.kind, workload::OptimizerKind::adam);
}

TEST(JobScenario, IsThePointOfAMachineThatItsSettingsComplete) {
  const PlannedJob job = with("training: {optimizer: {kind: adam}}\n");
  const auto file = job.scenario(job.machines[0], 4,
                                 {{"training.strategy", "fsdp"},
                                  {"workload.batch_per_gpu", "64"},
                                  {"training.gradient_accumulation", "2"}});
  EXPECT_EQ(file.point_count(), 1U);
  EXPECT_EQ(file.name(), "a small job");
  const Scenario scenario = file.scenario(0);
  EXPECT_EQ(scenario.cluster.nodes, 4U);
  EXPECT_EQ(scenario.cluster.ranks(), RankCount(32));
  EXPECT_EQ(scenario.cluster.name, "aws-p4d-24xlarge");
  EXPECT_EQ(scenario.workload.device.name, "a100-sxm4-40gb");
  EXPECT_EQ(scenario.workload.batch_per_gpu, 64U);
  EXPECT_EQ(scenario.precision, workload::Precision::amp);
  EXPECT_EQ(scenario.training.gradient_accumulation, 2U);
  EXPECT_EQ(scenario.strategy->name, "fsdp");
  EXPECT_EQ(scenario.fidelity, Fidelity::folded);
  // Only settings are set.
  EXPECT_EQ(scenario.set_paths,
            (std::set<std::string>{"training.strategy", "workload.batch_per_gpu",
                                   "training.gradient_accumulation"}));
}

// What is said of it in a file of its own is what the job makes of it.
TEST(JobScenario, IsWhatAFileWouldSay) {
  const PlannedJob job =
      with("measured_on: [{device: v100-sxm2-16gb, batch: 128, throughput: 740 samples/s}]\n");
  const Scenario made = job.scenario(job.machines[2], 2,
                                     {{"training.strategy", "ddp"},
                                      {"training.bucket_cap", "100MiB"},
                                      {"workload.batch_per_gpu", "64"}})
                            .scenario(0);
  const test::Folder folder;
  const Scenario written = ScenarioFile::read(folder.write("scenario.yaml", R"(schema: paceline/1
name: a small job
workload:
  model: resnet50
  precision: amp
  device: v100-sxm2-16gb
  batch_per_gpu: 64
  single_gpu_throughput: 740 samples/s
  single_gpu_batch: 128
cluster: {preset: dgx1-v100, nodes: 2}
training: {strategy: ddp, bucket_cap: 100MiB}
simulation: {fidelity: folded}
)"),
                                              {})
                               .scenario(0);
  EXPECT_EQ(made.workload.one_gpu_step(1), written.workload.one_gpu_step(1));
  EXPECT_EQ(made.cluster.ranks(), written.cluster.ranks());
  EXPECT_EQ(made.strategy_settings.get<Bytes>("bucket_cap"), Bytes(100U << 20U));
}

TEST(JobScenario, HasASingleValueOfAClusterReplaced) {
  const PlannedJob job = job_of(small_job);
  const Settings settings{{"training.strategy", "ddp"},
                          {"workload.batch_per_gpu", "64"},
                          {"cluster.network.latency", "1ms"}};
  const Scenario scenario = job.scenario(job.machines[0], 2, settings).scenario(0);
  EXPECT_EQ(scenario.cluster.network.latency, Seconds(1e-3));
  EXPECT_EQ(scenario.cluster.network.nics_per_node, 4U);  // the preset's
}

TEST(JobScenario, ShowsWhereInTheJobOrTheCatalogueAMistakeIs) {
  // A K80 has no half precision; whoever asks for one is told so, and the others stay.
  const std::string catalogue = changed(small_catalogue, "device: v100-sxm2-16gb", "device: k80");
  const PlannedJob job = job_of(small_job, catalogue);
  try {
    (void)job.scenario(job.machines[2], 1,
                       {{"training.strategy", "ddp"}, {"workload.batch_per_gpu", "1"}});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(error.where().file.ends_with("small.yaml")) << error.what();
    EXPECT_EQ(error.where().line, 19U);
    EXPECT_EQ(error.where().column, 13U);
  }
}

TEST(JobScenario, MayBeMadeByManyThreads) {
  const PlannedJob job =
      with("measured_on: [{device: v100-sxm2-16gb, batch: 128, throughput: 740 samples/s}]\n");
  std::vector<std::thread> threads;
  std::vector<double> steps(4);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto file = job.scenario(
          job.machines[2], 2, {{"training.strategy", "ddp"}, {"workload.batch_per_gpu", "64"}});
      steps[i] = file.scenario(0).workload.one_gpu_step(1).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double step : steps) EXPECT_EQ(step, steps.front());
}

// What stands between the fences of the n-th block of YAML.
std::string block_of(const std::string& document, int number) {
  const std::string begin = "```yaml\n", end = "```\n";
  std::size_t from = 0;
  for (int i = 0; i <= number; ++i) from = document.find(begin, from) + begin.size();
  return document.substr(from, document.find(end, from) - from);
}

TEST(LoadJob, ReadsWhatItsDocumentShows) {
  const std::string document = test::text_of(PACELINE_SOURCE_DIR "/scenarios/JOB.md");
  const test::Folder folder;
  folder.write("my-machines.yaml", block_of(document, 1));
  const PlannedJob job = load_job(folder.write("job.yaml", block_of(document, 0)), {});
  EXPECT_EQ(job.targets.budget, Money(2000));
  // 42,000 (1 / 4 + 5 %) a year in 80 % of 8,766 hours, and 4.2 kW x 0.15: 1.7967 + 0.63.
  EXPECT_EQ(job.machines.back().full_name(), "ours the eight");
  EXPECT_NEAR(3600 * job.machines.back().price->value(), 2.4267, 1e-4);
}

TEST(ShippedJobs, AndCataloguesLoad) {
  EXPECT_FALSE(shipped_catalogues().empty());
  for (const ShippedFile& catalogue : shipped_catalogues()) {
    const PlannedJob job = job_of(changed(small_job, "small.yaml", std::string(catalogue.name)));
    EXPECT_FALSE(job.machines.empty());
    for (const Machine& machine : job.machines) EXPECT_EQ(machine.catalogue, catalogue.name);
  }
  const std::filesystem::path jobs = PACELINE_SOURCE_DIR "/scenarios/library/jobs";
  for (const auto& entry : std::filesystem::directory_iterator(jobs)) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_GT(load_job(entry.path().string(), {}).samples, 0) << entry.path();
  }
}

}  // namespace
}  // namespace paceline
