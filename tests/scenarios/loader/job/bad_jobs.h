#pragma once

#include <ostream>
#include <span>
#include <string_view>

// Jobs and catalogues that are refused.
namespace paceline::test {

// The small job, or its catalogue, with one thing changed. "@" is where the message must point,
// without one the file's beginning; `message` must follow, or begin what follows.
struct BadJobFile {
  const char* name;
  const char* from;  // empty: append
  const char* to;
  const char* message;
};
inline void PrintTo(const BadJobFile& bad, std::ostream* out) { *out << bad.name; }

inline constexpr BadJobFile bad_keys_of_jobs[] = {
    {"Schema", "paceline.job/1", "@paceline.job/2",
     "schema \"paceline.job/2\" is not paceline.job/1; write schema: paceline.job/1"},
    {"UnknownKey",
     "global_batch:", "@global_bach:", "unknown key \"global_bach\"; did you mean global_batch?"},
    {"UnknownKeyOfASection", "deadline", "@dedline",
     "unknown key \"target.dedline\"; did you mean deadline?"},
    {"UnknownKeyOfTheWorkload", "precision: amp", "@presicion: amp",
     "unknown key \"workload.presicion\"; did you mean precision?"},
    {"UnknownKeyOfTraining", "", "training: {@optimiser: {kind: adam}}\n",
     "unknown key \"training.optimiser\"; did you mean optimizer?"},
    {"UnknownModel", "resnet50", "@resnet5",
     "model \"resnet5\" is not known; did you mean resnet50? known: "},
    {"UnknownPrecision", "precision: amp", "precision: @amq",
     "precision \"amq\" is not known; did you mean amp? known: fp32, tf32, amp, bf16, "
     "fp16"},
    {"BatchInTheWorkload", "precision: amp", "batch_per_gpu: @32",
     "batch_per_gpu \"32\" is what a job looks for; write batch_per_gpu: {at_most: 256} "
     "beside workload"},
    {"InputRateInTheWorkload", "precision: amp", "input_rate: @900 samples/s",
     "input_rate \"900 samples/s\" is of a node, and machines differ; write input: {per_core: 120 "
     "samples/s} beside workload"},
    {"TextOfImages", "", "input: {kind: @text}\n",
     "kind \"text\" is of sequences, and the workload has none; write jpeg or none"},
    {"StrategyInTraining", "", "training: {strategy: @ddp}\n",
     "strategy \"ddp\" is what a job looks for; write strategies: [ddp] beside training"},
    {"LayersWithoutTheirBatch", "{model: resnet50, precision: amp}",
     "@{layers: [{forward: 1ms, backward: 2ms}]}",
     "workload.layers_batch is missing; write the batch of a pass that takes the times of "
     "layers"},
    {"LayersOfTwoDevices", "{model: resnet50, precision: amp}",
     "{layers_batch: 32, layers: @[{forward: 1ms, backward: 2ms}]}",
     "layers were timed on one device, and machines have 2; write limits: {devices: "
     "[a100-sxm4-40gb]}"}};

inline constexpr BadJobFile bad_amounts_of_jobs[] = {
    {"None", "amount: {epochs: 90, samples_per_epoch: 1281167}\n", "",
     "amount is missing; write amount: {epochs: 90, samples_per_epoch: 1281167}"},
    {"Empty", "{epochs: 90, samples_per_epoch: 1281167}", "@{}",
     "amount is of nothing; write epochs: 90 with samples_per_epoch: 1281167, samples: "
     "1.2e8, or tokens: 3e11"},
    {"Two", "epochs: 90", "epochs: 90, samples: @1e8",
     "samples \"1e8\" stands beside another amount; keep one of them"},
    {"EpochsOfNothing", "{epochs: 90, samples_per_epoch: 1281167}", "@{epochs: 90}",
     "amount.samples_per_epoch is missing; write samples_per_epoch: 1281167"},
    {"SamplesPerEpochOfNoEpochs", "epochs: 90, samples_per_epoch: 1281167",
     "samples: 1e8, samples_per_epoch: @1281167",
     "samples_per_epoch \"1281167\" belongs to epochs"},
    {"TokensOfImages", "epochs: 90, samples_per_epoch: 1281167", "tokens: @3e11",
     "tokens \"3e11\" is of sequences, and the workload has none; write samples, or epochs "
     "with samples_per_epoch"}};

inline constexpr BadJobFile bad_targets_of_jobs[] = {
    {"None", "{deadline: 6h}", "@{}",
     "target names none; write deadline: 6h, throughput: 20000 samples/s or budget: 500 "
     "USD"},
    {"DeadlineWithinTheStart", "6h}", "@5min}\noverheads: {start: 10min}",
     "deadline \"5min\" is over before the first step; allow more than overheads.start"},
    {"DeadlineWithoutAUnit", "6h", "@6", "deadline \"6\" has no unit; write 6h or 6min"},
    {"BudgetWithoutACurrency", "deadline: 6h", "budget: @500",
     "budget \"500\" has no unit; write 500 USD"},
    {"TokensOfImages", "deadline: 6h", "throughput: @5 tokens/s",
     "throughput \"5 tokens/s\" is in tokens, and the scenario does not say how many a sample "
     "contains; write samples/s, or take a model with a sequence"},
    {"LowProbability", "", "probability: @40%\n",
     "probability \"40%\" is too small; write 50% to 99.9%"},
    {"HighProbability", "", "probability: @100%\n",
     "probability \"100%\" is not a part of the whole; write 0% to 99.9%"}};

inline constexpr BadJobFile bad_choices_of_jobs[] = {
    {"NoBatch", "global_batch: {at_most: 8192}\n", "",
     "global_batch and batch_per_gpu are missing; say what training tolerates: "
     "global_batch: {at_most: 8192}"},
    {"BothBatchesExact", "{at_most: 8192}", "{exactly: 8192}\nbatch_per_gpu: {exactly: @64}",
     "exactly \"64\" cannot be combined with global_batch.exactly, which allows one number of GPUs "
     "and passes; write at_most for one of them"},
    {"OneBatchTwice", "{at_most: 8192}", "{exactly: 8192, at_most: @8192}",
     "at_most \"8192\" cannot be combined with exactly; keep one of them"},
    {"UnknownStrategy", "", "strategies: [ddp, @fsdq]\n",
     "strategies \"fsdq\" is not known; did you mean fsdp? known: "},
    {"TracedStrategy", "", "strategies: [@traced]\n", "strategies \"traced\" is not known; "},
    {"StrategyTwice", "", "strategies: [ddp, @ddp]\n",
     "strategies \"ddp\" is twice in the list; leave one of them out"},
    {"NoStrategy", "", "strategies: @[]\n", "strategies is an empty list; write [a, b, ...]"},
    {"CapWithoutAUnit", "", "bucket_caps: [@25]\n",
     "bucket_caps \"25\" has no unit; write 25MiB or 25MB"},
    {"UnknownPricing", "", "pricing: @leased\n",
     "pricing \"leased\" is not known; known: on_demand, spot, both, reserved"},
    {"MeasuredOnAnUnknownDevice", "",
     "measured_on: [{device: @v100-sxm2-16, batch: 256, throughput: 740 samples/s}]\n",
     "device \"v100-sxm2-16\" is not known; did you mean v100-sxm2-16gb? known: "},
    {"MeasuredOnNoBatch", "", "measured_on: [@{device: k80, throughput: 740 samples/s}]\n",
     "measured_on.batch is missing; write batch: 256"},
    {"MeasuredOnTwice", "",
     "measured_on: [{device: k80, batch: 8, throughput: 1 samples/s}, {device: k80, batch: "
     "@8, throughput: 2 samples/s}]\n",
     "batch \"8\" is twice of its device; leave one of them out"},
    {"CheckpointThatTakesNoTimeSaid", "", "overheads: {checkpoint: @{every: 30min}}\n",
     "overheads.checkpoint.takes is missing; write takes: 40s"}};

inline constexpr BadJobFile bad_machines_of_jobs[] = {
    {"UnknownCatalogue", "[small.yaml]", "[@awz]",
     "catalogue \"awz\" is not known; did you mean aws? known: "},
    {"CatalogueTwice", "[small.yaml]", "[small.yaml, @small.yaml]",
     "catalogue \"small.yaml\" is twice in the list; leave one of them out"},
    {"NoNodes", "", "limits: {nodes: @0}\n",
     "nodes \"0\" is out of range; write a number from 1 to 1000000"},
    {"NodesOfAWord", "", "limits: {nodes: @many}\n",
     "nodes \"many\" is not a number; write a number from 1 to 1000000"},
    {"NodesInAList", "", "limits: {nodes: @[1, 2]}\n", "nodes is not a single value"},
    {"UnknownKeyOfNodes", "", "limits: {nodes: {@exact: 3}}\n",
     "unknown key \"limits.nodes.exact\"; did you mean exactly?"},
    {"ExactlyNoNodes", "", "limits: {nodes: {exactly: @0}}\n",
     "exactly \"0\" is out of range; write a number from 1 to 1000000"},
    {"NodesTwice", "", "limits: {nodes: {exactly: 3, at_most: @4}}\n",
     "at_most \"4\" cannot be combined with exactly; keep one of them"},
    {"NoMachineInTheRegion", "", "limits: {regions: [eu-west, @asia]}\n",
     "regions \"asia\" matches no machine of the catalogues; known: eu, eu-west-1, us, "
     "us-east-1"},
    {"AnotherRegionOfTwoLetters", "", "limits: {regions: [@xx]}\n",
     "regions \"xx\" matches no machine of the catalogues; known: eu, eu-west-1, us, "
     "us-east-1"},
    {"UnknownDevice", "", "limits: {devices: [@a100]}\n",
     "devices \"a100\" matches no machine of the catalogues; known: a100-sxm4-40gb, "
     "v100-sxm2-16gb"},
    {"UnknownMachine", "", "limits: {machines: [@eigth]}\n",
     "machines \"eigth\" matches no machine of the catalogues; did you mean eight? known: "
     "eight, ours"},
    {"NothingLeft", "",
     "limits: @{regions: [us], devices: [v100-sxm2-16gb], machines: "
     "[eight]}\n",
     "limits exclude all 3 machines of the catalogues; allow more regions, devices or "
     "machines"}};

inline constexpr BadJobFile bad_machines_of_catalogues[] = {
    {"Schema", "paceline.catalogue/1", "@paceline.catalogue/2",
     "schema \"paceline.catalogue/2\" is not paceline.catalogue/1; write schema: "
     "paceline.catalogue/1"},
    {"NoPrice",
     "- name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: "
     "eu-west-1\n    area: eu\n    price: 40 USD/h\n",
     "- @name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: eu-west-1\n",
     "machine \"eight\" has no price; write price: 21.96 USD/h, spot: 6.29 USD/h or owned: "
     "{price: 42000 USD, ...}"},
    {"OtherCurrency", "40 USD/h", "@40 EUR/h",
     "price \"40 EUR/h\" is in EUR, and small.yaml:10:12 in USD; write all prices in one "
     "currency"},
    {"MachineTwice",
     "- name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: "
     "eu-west-1",
     "- @name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: us-east-1",
     "machine \"eight\" is twice in the catalogue, in region \"us-east-1\"; leave one of "
     "them out, or give each its region"},
    {"Nodes", "preset: dgx1-v100", "preset: dgx1-v100, nodes: @4",
     "nodes \"4\" is of a scenario, and a catalogue's machines come in any number; leave it "
     "out, or write at_most beside cluster"},
    {"UnknownPreset", "dgx1-v100", "@dgx1-v10",
     "preset \"dgx1-v10\" is not known; did you mean dgx1-v100? known: "},
    {"UnknownKeyOfACluster", "preset: dgx1-v100",
     "preset: dgx1-v100, network: {@latenzy: "
     "5us}",
     "unknown key \"cluster.network.latenzy\"; did you mean latency?"},
    {"UnknownDevice", "v100-sxm2-16gb", "@v100-sxm2-16",
     "device \"v100-sxm2-16\" is not known; did you mean v100-sxm2-16gb? known: "},
    {"NoDate", "2026-11-26", "@2026-02-30", "date \"2026-02-30\" is not a date; write 2026-11-26"},
    {"DateWithoutItsSource", "price: 40 USD/h", "price: 40 USD/h\n    date: @2026-11-26",
     "date \"2026-11-26\" belongs to source"},
    {"SourceWithoutItsDate",
     "- name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: eu",
     "- @source: an offer\n    name: eight\n    cluster: {preset: aws-p4d-24xlarge}\n    region: "
     "eu",
     "date is missing"},
    {"PriceOfNoTime", "40 USD/h", "@40 USD",
     "price \"40 USD\" is not a price of time; write 40 USD/h"},
    {"PriceBesideOwned", "owned:", "price: @1 USD/h\n    owned:",
     "price \"1 USD/h\" stands beside owned; keep one of them"},
    {"PreemptionsOfNoTime", "3.6%/h", "@3.6%",
     "preemptions \"3.6%\" is not a part a time; write 2%/h"},
    {"PreemptionsOfAll", "3.6%/h", "@101%/h",
     "preemptions \"101%/h\" is not from 0% to 100% a time; write 2%/h"},
    {"PreemptionsOfAnOddTime", "3.6%/h", "@3.6%/e5h",
     "preemptions \"3.6%/e5h\" has no unit of time; write 2%/h"},
    {"DateOfOtherForm", "2026-11-26", "@26-11-2026",
     "date \"26-11-2026\" is not a date; write 2026-11-26"},
    {"PowerWithoutElectricity", "{price: 36000 USD, lifetime: 4y, in_use: 50%}",
     "@{price: 36000 USD, lifetime: 4y, in_use: 50%, power: 4kW}",
     "owned.electricity is missing; write electricity: 0.15 USD/kWh"},
    {"ElectricityOfNoEnergy", "in_use: 50%", "in_use: 50%, power: 4kW, electricity: @0.15 USD/h",
     "electricity \"0.15 USD/h\" has no unit of energy; write 0.15 USD/kWh"},
    {"NeverInUse", "in_use: 50%", "in_use: @0%", "in_use \"0%\" is not above zero"}};

struct BadJobTable {
  std::string_view about;
  std::span<const BadJobFile> rows;
};

inline constexpr BadJobTable bad_job_tables[] = {
    {"keys", bad_keys_of_jobs},         {"amounts", bad_amounts_of_jobs},
    {"targets", bad_targets_of_jobs},   {"choices", bad_choices_of_jobs},
    {"machines", bad_machines_of_jobs},
};

}  // namespace paceline::test
