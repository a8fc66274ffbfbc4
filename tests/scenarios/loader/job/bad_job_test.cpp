// Jobs and catalogues that are refused: one line, with its place and a hint.

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/scenarios/loader/bad_scenario.h"
#include "tests/scenarios/loader/job/small_job.h"

namespace paceline {
namespace {

using test::changed;
using test::Folder;
using test::Marked;
using test::small_catalogue;
using test::small_job;

// What the two files get, without the folder that they are in; empty: nothing.
std::string refusal_of(const std::string& job, const std::string& catalogue,
                       const std::vector<ScenarioFile::Setting>& settings = {}) {
  const Folder folder;
  folder.write("small.yaml", catalogue);
  try {
    (void)load_job(folder.write("job.yaml", job), settings);
    return "";
  } catch (const InputError& error) {
    std::string text = error.what();
    const std::string prefix = folder.path().string() + "/";
    for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
    return text;
  }
}

// The small job, or its catalogue, with one thing changed. "@" is where the message must point,
// without one the file's beginning; `message` must follow, or begin what follows.
struct Bad {
  const char* name;
  const char* from;  // empty: append
  const char* to;
  const char* message;
};
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

std::string name_of(const testing::TestParamInfo<Bad>& info) { return info.param.name; }

void expect_begin(const std::string& text, const std::string& expected) {
  EXPECT_EQ(text.substr(0, expected.size()), expected) << text;
}

class BadJob : public testing::TestWithParam<Bad> {};
class BadCatalogue : public testing::TestWithParam<Bad> {};

TEST_P(BadJob, IsRefusedAtItsPlace) {
  const Marked marked(changed(small_job, GetParam().from, GetParam().to));
  expect_begin(
      refusal_of(marked.text, std::string(small_catalogue)),
      "job.yaml" + (marked.place.empty() ? ":1:1" : marked.place) + ": " + GetParam().message);
}

TEST_P(BadCatalogue, IsRefusedAtItsPlace) {
  const Marked marked(changed(small_catalogue, GetParam().from, GetParam().to));
  expect_begin(refusal_of(std::string(small_job), marked.text),
               "small.yaml" + marked.place + ": " + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, BadJob,
    testing::Values(
        Bad{"Schema", "paceline.job/1", "@paceline.job/2",
            "schema \"paceline.job/2\" is not known; write schema: paceline.job/1"},
        Bad{"UnknownKey", "global_batch:", "@global_bach:",
            "unknown key \"global_bach\"; did you mean global_batch?"},
        Bad{"UnknownKeyOfASection", "deadline", "@dedline",
            "unknown key \"target.dedline\"; did you mean deadline?"},
        Bad{"UnknownKeyOfTheWorkload", "precision: amp", "@presicion: amp",
            "unknown key \"workload.presicion\"; did you mean precision?"},
        Bad{"UnknownKeyOfTraining", "", "training: {@optimiser: {kind: adam}}\n",
            "unknown key \"training.optimiser\"; did you mean optimizer?"},
        Bad{"UnknownModel", "resnet50", "@resnet5",
            "model \"resnet5\" is not known; did you mean resnet50? known: "},
        Bad{"UnknownPrecision", "precision: amp", "precision: @amq",
            "precision \"amq\" is not known; did you mean amp? known: fp32, tf32, amp, bf16, "
            "fp16"},
        Bad{"BatchInTheWorkload", "precision: amp", "batch_per_gpu: @32",
            "batch_per_gpu \"32\" is what a job looks for; write batch_per_gpu: {at_most: 256} "
            "beside workload"},
        Bad{"StrategyInTraining", "", "training: {strategy: @ddp}\n",
            "strategy \"ddp\" is what a job looks for; write strategies: [ddp] beside training"},
        Bad{"LayersWithoutTheirBatch", "{model: resnet50, precision: amp}",
            "@{layers: [{forward: 1ms, backward: 2ms}]}",
            "workload.layers_batch is missing; write the batch of a pass that takes the times of "
            "layers"},
        Bad{"LayersOfTwoDevices", "{model: resnet50, precision: amp}",
            "{layers_batch: 32, layers: @[{forward: 1ms, backward: 2ms}]}",
            "layers were timed on one device, and machines have 2; write limits: {devices: "
            "[a100-sxm4-40gb]}"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Amounts, BadJob,
    testing::Values(
        Bad{"None", "amount: {epochs: 90, samples_per_epoch: 1281167}\n", "",
            "amount is missing; write amount: {epochs: 90, samples_per_epoch: 1281167}"},
        Bad{"Empty", "{epochs: 90, samples_per_epoch: 1281167}", "@{}",
            "amount is of nothing; write epochs: 90 with samples_per_epoch: 1281167, samples: "
            "1.2e8, or tokens: 3e11"},
        Bad{"Two", "epochs: 90", "epochs: 90, samples: @1e8",
            "samples \"1e8\" stands beside another amount; keep one of them"},
        Bad{"EpochsOfNothing", "{epochs: 90, samples_per_epoch: 1281167}", "@{epochs: 90}",
            "amount.samples_per_epoch is missing; write samples_per_epoch: 1281167"},
        Bad{"SamplesPerEpochOfNoEpochs", "epochs: 90, samples_per_epoch: 1281167",
            "samples: 1e8, samples_per_epoch: @1281167",
            "samples_per_epoch \"1281167\" belongs to epochs"},
        Bad{"TokensOfImages", "epochs: 90, samples_per_epoch: 1281167", "tokens: @3e11",
            "tokens \"3e11\" is of sequences, and the workload has none; write samples, or epochs "
            "with samples_per_epoch"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Targets, BadJob,
    testing::Values(
        Bad{"None", "{deadline: 6h}", "@{}",
            "target names none; write deadline: 6h, throughput: 20000 samples/s or budget: 500 "
            "USD"},
        Bad{"DeadlineWithoutAUnit", "6h", "@6", "deadline \"6\" has no unit; write 6h or 6min"},
        Bad{"BudgetWithoutACurrency", "deadline: 6h", "budget: @500",
            "budget \"500\" has no unit; write 500 USD"},
        Bad{"TokensOfImages", "deadline: 6h", "throughput: @5 tokens/s",
            "throughput \"5 tokens/s\" is in tokens, and the scenario does not say how many a "
            "sample contains; write samples/s, or take a model with a sequence"},
        Bad{"LowProbability", "", "probability: @40%\n",
            "probability \"40%\" is too small; write 50% to 99.9%"},
        Bad{"HighProbability", "", "probability: @100%\n",
            "probability \"100%\" is not a part of the whole; write 0% to 99.9%"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Choices, BadJob,
    testing::Values(
        Bad{"NoBatch", "global_batch: {at_most: 8192}\n", "",
            "global_batch and batch_per_gpu are missing; say what training tolerates: "
            "global_batch: {at_most: 8192}"},
        Bad{"BothBatchesExact", "{at_most: 8192}", "{exactly: 8192}\nbatch_per_gpu: {exactly: @64}",
            "exactly \"64\" cannot be combined with global_batch.exactly, which allows one number "
            "of GPUs and passes; write at_most for one of them"},
        Bad{"OneBatchTwice", "{at_most: 8192}", "{exactly: 8192, at_most: @8192}",
            "at_most \"8192\" cannot be combined with exactly; keep one of them"},
        Bad{"UnknownStrategy", "", "strategies: [ddp, @fsdq]\n",
            "strategies \"fsdq\" is not known; did you mean fsdp? known: "},
        Bad{"TracedStrategy", "", "strategies: [@traced]\n",
            "strategies \"traced\" is not known; "},
        Bad{"StrategyTwice", "", "strategies: [ddp, @ddp]\n",
            "strategies \"ddp\" is twice in the list; leave one of them out"},
        Bad{"NoStrategy", "", "strategies: @[]\n",
            "strategies is an empty list; write [a, b, ...]"},
        Bad{"CapWithoutAUnit", "", "bucket_caps: [@25]\n",
            "bucket_caps \"25\" has no unit; write 25MiB or 25MB"},
        Bad{"UnknownPricing", "", "pricing: @reserved\n",
            "pricing \"reserved\" is not known; known: on_demand, spot, both"},
        Bad{"MeasuredOnAnUnknownDevice", "",
            "measured_on: [{device: @v100-sxm2-16, batch: 256, throughput: 740 samples/s}]\n",
            "device \"v100-sxm2-16\" is not known; did you mean v100-sxm2-16gb? known: "},
        Bad{"MeasuredOnNoBatch", "", "measured_on: [@{device: k80, throughput: 740 samples/s}]\n",
            "measured_on.batch is missing; write batch: 256"},
        Bad{"MeasuredOnTwice", "",
            "measured_on: [{device: k80, batch: 8, throughput: 1 samples/s}, {device: k80, batch: "
            "@8, throughput: 2 samples/s}]\n",
            "batch \"8\" is twice of its device; leave one of them out"},
        Bad{"CheckpointThatTakesNoTimeSaid", "", "overheads: {checkpoint: @{every: 30min}}\n",
            "overheads.checkpoint.takes is missing; write takes: 40s"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Machines, BadJob,
    testing::Values(
        Bad{"UnknownCatalogue", "[small.yaml]", "[@awz]",
            "catalogue \"awz\" is not known; did you mean aws? known: "},
        Bad{"CatalogueTwice", "[small.yaml]", "[small.yaml, @small.yaml]",
            "catalogue \"small.yaml\" is twice in the list; leave one of them out"},
        Bad{"NoMachineInTheRegion", "", "limits: {regions: [eu-west, @asia]}\n",
            "regions \"asia\" matches no machine of the catalogues; known: eu, eu-west-1, us, "
            "us-east-1"},
        Bad{"UnknownDevice", "", "limits: {devices: [@a100]}\n",
            "devices \"a100\" matches no machine of the catalogues; known: a100-sxm4-40gb, "
            "v100-sxm2-16gb"},
        Bad{"UnknownMachine", "", "limits: {machines: [@eigth]}\n",
            "machines \"eigth\" matches no machine of the catalogues; did you mean eight? known: "
            "eight, ours"},
        Bad{"NothingLeft", "",
            "limits: @{regions: [us], devices: [v100-sxm2-16gb], machines: "
            "[eight]}\n",
            "limits exclude all 3 machines of the catalogues; allow more regions, devices or "
            "machines"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Machines, BadCatalogue,
    testing::Values(
        Bad{"Schema", "paceline.catalogue/1", "@paceline.catalogue/2",
            "schema \"paceline.catalogue/2\" is not paceline.catalogue/1; write schema: "
            "paceline.catalogue/1"},
        Bad{"NoPrice",
            "- name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: "
            "eu-west-1\n    area: eu\n    price: 40 USD/h\n",
            "- @name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: eu-west-1\n",
            "machine \"eight\" has no price; write price: 21.96 USD/h, spot: 6.29 USD/h or owned: "
            "{price: 42000 USD, ...}"},
        Bad{"OtherCurrency", "40 USD/h", "@40 EUR/h",
            "price \"40 EUR/h\" is in EUR, and small.yaml:10:12 in USD; write all prices in one "
            "currency"},
        Bad{"MachineTwice",
            "- name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: "
            "eu-west-1",
            "- @name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: us-east-1",
            "machine \"eight\" is twice in the catalogue, in region \"us-east-1\"; leave one of "
            "them out, or give each its region"},
        Bad{"Nodes", "preset: dgx1-v100", "preset: dgx1-v100, nodes: @4",
            "nodes \"4\" is of a scenario, and a catalogue's machines come in any number; leave it "
            "out, or write at_most beside cluster"},
        Bad{"UnknownPreset", "dgx1-v100", "@dgx1-v10",
            "preset \"dgx1-v10\" is not known; did you mean dgx1-v100? known: "},
        Bad{"UnknownKeyOfACluster", "preset: dgx1-v100",
            "preset: dgx1-v100, network: {@latenzy: "
            "5us}",
            "unknown key \"cluster.network.latenzy\"; did you mean latency?"},
        Bad{"UnknownDevice", "v100-sxm2-16gb", "@v100-sxm2-16",
            "device \"v100-sxm2-16\" is not known; did you mean v100-sxm2-16gb? known: "},
        Bad{"NoDate", "2026-11-26", "@2026-02-30",
            "date \"2026-02-30\" is not a date; write 2026-11-26"},
        Bad{"PriceOfNoTime", "40 USD/h", "@40 USD",
            "price \"40 USD\" is not a price of time; write 40 USD/h"},
        Bad{"PriceBesideOwned", "owned:", "price: @1 USD/h\n    owned:",
            "price \"1 USD/h\" stands beside owned; keep one of them"},
        Bad{"PreemptionsOfNoTime", "3.6%/h", "@3.6%",
            "preemptions \"3.6%\" is not a part a time; write 2%/h"},
        Bad{"PreemptionsOfAll", "3.6%/h", "@101%/h",
            "preemptions \"101%/h\" is not from 0% to 100% a time; write 2%/h"},
        Bad{"PreemptionsOfAnOddTime", "3.6%/h", "@3.6%/e5h",
            "preemptions \"3.6%/e5h\" has no unit of time; write 2%/h"},
        Bad{"DateOfOtherForm", "2026-11-26", "@26-11-2026",
            "date \"26-11-2026\" is not a date; write 2026-11-26"},
        Bad{"PowerWithoutElectricity", "{price: 36000 USD, lifetime: 4y, in_use: 50%}",
            "@{price: 36000 USD, lifetime: 4y, in_use: 50%, power: 4kW}",
            "owned.electricity is missing; write electricity: 0.15 USD/kWh"},
        Bad{"ElectricityOfNoEnergy", "in_use: 50%",
            "in_use: 50%, power: 4kW, electricity: @0.15 USD/h",
            "electricity \"0.15 USD/h\" has no unit of energy; write 0.15 USD/kWh"},
        Bad{"NeverInUse", "in_use: 50%", "in_use: @0%", "in_use \"0%\" is not above zero"}),
    name_of);

TEST(Job, IsRefusedWithABudgetOfAnotherCurrencyThanItsCatalogues) {
  EXPECT_EQ(refusal_of(changed(small_job, "deadline: 6h", "budget: 500 EUR"),
                       std::string(small_catalogue)),
            "small.yaml:10:12: price \"36 USD/h\" is in USD, and job.yaml:5:18 in EUR; write all "
            "prices in one currency");
}

TEST(Job, MayBeABadOneBySettings) {
  EXPECT_EQ(
      refusal_of(std::string(small_job), std::string(small_catalogue), {{"target.deadline", "6"}}),
      "--set target.deadline=6: deadline \"6\" has no unit; write 6h or 6min");
  EXPECT_EQ(refusal_of(std::string(small_job), std::string(small_catalogue),
                       {{"workload.precison", "fp32"}}),
            "--set workload.precison=fp32: unknown key \"workload.precison\"; did you mean "
            "precision?");
}

}  // namespace
}  // namespace paceline
