#include "scenarios/loader/job/job_keys.h"

#include <algorithm>

#include "models/training/strategy.h"
#include "scenarios/data_files/shipped.h"
#include "scenarios/loader/job/catalogue.h"
#include "scenarios/loader/job/input.h"
#include "scenarios/loader/job/job.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr std::array amount_table{
    Key{"epochs", Number{0.001, 1e9}, "none", "times that each sample is trained on"},
    Key{"samples_per_epoch",
        Number{1, 1e15},
        required,
        "of the training set",
        "1281167",
        {"epochs"}},
    Key{"samples", Number{1, 1e18}, "none", "in place of `epochs`: all of them"},
    Key{"tokens", Number{1, 1e21}, "none",
        "in place of `epochs`: all of them, where samples are sequences: of the workload's "
        "`sequence`, or of the network's"},
};

constexpr std::array throughput_forms{Form{Throughput{.or_tokens = true}}};

constexpr std::array texts_forms{Form{Text{"text"}, Form::Of::list}};

constexpr std::array devices_forms{
    Form{Text{"a name, or a file", shipped_devices}, Form::Of::list}};

constexpr std::array target_table{
    Key{"deadline", Time{.above_zero = true, .is_long = true}, "none",
        "from the start of the first node to the end of the last step"},
    Key{"throughput", Structure{"a throughput", rows<throughput_forms>}, "none",
        "of training while it runs, in samples/s or, of a network with a sequence, tokens/s",
        "20000 samples/s"},
    Key{"budget", Text{.what = "a price", .pattern = price_pattern}, "none", "for all of it",
        "500 USD"},
};

constexpr std::array global_batch_table{
    Key{"exactly", Count{1, 1'000'000'000'000}, "none", "in place of `at_most`"},
    Key{"at_most", Count{1, 1'000'000'000'000}, "none", "samples a step that training tolerates"},
};

constexpr std::array batch_per_gpu_table{
    Key{"exactly", Count{1, 100'000'000}, "none", "in place of `at_most`"},
    Key{"at_most", Count{1, 100'000'000}, "none", "samples a GPU and pass"},
};

constexpr std::array accumulation_table{
    Key{"at_most", Count{1, 1024}, std::uint64_t{1},
        "passes a step, where the global batch is not exact"},
};

constexpr std::array nodes_limit_table{
    Key{"exactly", Count{1, 1'000'000}, "none", "in place of `at_most`"},
    Key{"at_most", Count{1, 1'000'000}, "32", "as `nodes` alone"},
};

constexpr std::array count_or_map_forms{Form{Count{1, 1'000'000}},
                                        Form{Map{rows<nodes_limit_table>}}};

constexpr std::array limits_table{
    Key{"nodes", Structure{"a count, or a map", rows<count_or_map_forms>}, "32",
        "at most; a map has `exactly` or `at_most`", "{exactly: 12}"},
    Key{"gpus", Count{1, 1'000'000}, "any number", "of all nodes, at most"},
    Key{"regions", Structure{"a list of texts", rows<texts_forms>}, "all",
        "only machines whose `region` is one of these or begins with one, or whose `area` is one; "
        "those that name neither are in all",
        "[us, eu-west]"},
    Key{"devices", Structure{"a list of devices", rows<devices_forms>}, "all",
        "only machines with one of these", "[a100-sxm4-40gb]"},
    Key{"machines", Structure{"a list of texts", rows<texts_forms>}, "all",
        "only machines of these names, with their catalogue's before it or without",
        "[p4d.24xlarge]"},
};

constexpr std::array checkpoint_table{
    Key{"every", Time{.above_zero = true, .is_long = true}, "as often as loses least",
        "between two of them"},
    Key{"takes", Time{.above_zero = true, .is_long = true}, required, "in which training waits",
        "40s"},
};

constexpr std::array overheads_table{
    Key{"start", Time{.is_long = true}, "not known",
        "until the first step, and again after each failure"},
    Key{"checkpoint", Map{rows<checkpoint_table>}, "",
        "what failures cost no more than the time since"},
    Key{"mtbf_per_node", Time{.above_zero = true, .is_long = true}, "not known",
        "mean time between failures of a node"},
};

constexpr std::array measured_on_table{
    Key{"device", Text{"a name, or a file", shipped_devices}, required,
        "as a scenario's `workload.device`", "v100-sxm2-16gb"},
    Key{"batch", Count{1, 100'000'000}, required, "samples of a pass", "256"},
    Key{"throughput", Structure{"a throughput", rows<throughput_forms>}, required,
        "of one GPU, in samples/s or, of a network with a sequence, tokens/s", "740 samples/s"},
    Key{"precision", Text{"fp32, tf32, amp, bf16 or fp16"}, "the workload's",
        "rows of another one than the workload's are left out", "amp"},
};

constexpr std::array<std::string_view, 4> pricing_words{"on_demand", "spot", "both", "reserved"};

// The keys of a scenario's section that a job does not say elsewhere.
std::vector<Key> left_to(std::span<const Key> keys, std::span<const SaidElsewhere> elsewhere) {
  std::vector<Key> left;
  for (const Key& key : keys) {
    if (std::ranges::find(elsewhere, key.name, &SaidElsewhere::key) == elsewhere.end()) {
      left.push_back(key);
    }
  }
  return left;
}

std::span<const Key> workload_of_job_keys() {
  static const auto keys = left_to(workload_keys(), workload_elsewhere);
  return keys;
}

std::span<const Key> training_of_job_keys() {
  static const auto keys = left_to(training_keys(), training_elsewhere);
  return keys;
}

constexpr std::array workload_forms{Form{Map{workload_of_job_keys}}};

constexpr std::array training_forms{Form{Map{training_of_job_keys}}};

constexpr std::array measured_forms{Form{Map{measured_on_keys}, Form::Of::list}};

std::span<const Form> strategies_forms() {
  static const auto names = strategies_of_jobs();
  static const std::array forms{Form{OneOf{names}, Form::Of::list}};
  return forms;
}

constexpr std::array sizes_forms{Form{Size{}, Form::Of::list}};

constexpr std::array catalogues_forms{
    Form{Text{"a name, or a file", shipped_catalogues}, Form::Of::list}};

constexpr std::array job_file_table{
    schema_key("paceline.job/1"),
    Key{"name", Text{"text"}, required, "the title of the report", "ResNet-50, 90 epochs"},
    Key{"workload", Structure{"a map", rows<workload_forms>}, required,
        "a scenario's `workload`, without what depends on machines and batches: `batch_per_gpu`, "
        "`device`, `trace` and what was measured on one GPU (`measured_on` has it). `layers` want "
        "their `layers_batch`, and machines of one device",
        "{model: resnet50, precision: amp}"},
    Key{"amount", Map{rows<amount_table>}, required, "how much is trained",
        "{epochs: 90, samples_per_epoch: 1281167}"},
    Key{"target", Map{rows<target_table>}, required, "what has to be reached, all of it",
        "{deadline: 6h}"},
    Key{"probability", Fraction{0.5, 0.999}, 0.9, "that the targets are reached"},
    Key{"global_batch", Map{rows<global_batch_table>}, "",
        "samples a step. It or `batch_per_gpu` is required"},
    Key{"batch_per_gpu", Map{rows<batch_per_gpu_table>}, "", "samples a GPU and pass"},
    Key{"gradient_accumulation", Map{rows<accumulation_table>}, "", "passes a step"},
    Key{"measured_on", Structure{"a list of maps", rows<measured_forms>}, "none",
        "what somebody has measured of this workload on one GPU; the table below has its keys",
        "[{device: v100-sxm2-16gb, batch: 256, throughput: 740 samples/s}]"},
    Key{"input", Map{input_keys}, "", "how a node's CPUs and disk make samples ready"},
    Key{"training", Structure{"a map", rows<training_forms>}, "as a scenario's",
        "a scenario's `training`, without `strategy`, `bucket_cap` and `gradient_accumulation`; "
        "keys of one strategy count for that one",
        "{optimizer: {kind: adam}}"},
    Key{"strategies", Structure{"a list of strategies", strategies_forms}, "[ddp, fsdp]",
        "to consider", "[ddp, fsdp]"},
    Key{"bucket_caps", Structure{"a list of sizes", rows<sizes_forms>}, "[25MiB, 100MiB]",
        "to consider, for strategies that have the key `bucket_cap`", "[25MiB]"},
    Key{"catalogue", Structure{"a list of names, or files", rows<catalogues_forms>},
        "all shipped ones",
        "of machines: shipped ones, or files of schema `paceline.catalogue/1` beside the job",
        "[aws, my-machines.yaml]"},
    Key{"pricing", OneOf{pricing_words}, std::uint64_t{0},
        "prices to consider; machines of one's own have theirs with any"},
    Key{"limits", Map{rows<limits_table>}, "", "of what is considered"},
    Key{"overheads", Map{rows<overheads_table>}, "", "what a run takes beside its steps"},
};

}  // namespace

std::vector<std::string_view> strategies_of_jobs() {
  std::vector<std::string_view> names;
  for (const training::Strategy* row : training::strategies()) {
    if (!row->replays_trace) names.push_back(row->name);
  }
  return names;
}

std::span<const Key> job_file_keys() { return job_file_table; }
std::span<const Key> measured_on_keys() { return measured_on_table; }
std::span<const Key> nodes_keys() { return nodes_limit_table; }

}  // namespace paceline::loader
