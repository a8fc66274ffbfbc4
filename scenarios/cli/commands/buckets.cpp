#include "models/training/buckets.h"

#include <fmt/ostream.h>

#include <iosfwd>
#include <iostream>
#include <memory>
#include <vector>

#include "models/text/json_writer.h"
#include "models/training/ddp.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/data_files/hugging_face.h"
#include "scenarios/data_files/parameter_list.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/report/report.h"
#include "scenarios/text_table.h"

namespace paceline::cli {
namespace buckets_command {

using training::Bucket, training::bucket_count, training::bucket_size;
using workload::ParameterTensor;

void write_text(std::ostream& out, const std::vector<ParameterTensor>& tensors,
                const std::vector<Bucket>& buckets) {
  TextTable table({"bucket", "tensors", "elements", "bytes", "first ready", "last ready"}, 0);
  ElementCount elements;
  Bytes bytes;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const ElementCount count = bucket_count(tensors, buckets[b]);
    const Bytes size = bucket_size(tensors, buckets[b]);
    table.add({std::to_string(b), std::to_string(buckets[b].size()), std::to_string(count.value()),
               std::to_string(size.value()), tensors[buckets[b].front()].name,
               tensors[buckets[b].back()].name});
    elements += count;
    bytes += size;
  }
  table.write(out);
  fmt::print(out, "{} tensors, {} elements, {} bytes\n", tensors.size(), elements.value(),
             bytes.value());
}

// paceline.buckets/1
void write_json(std::ostream& out, const std::vector<ParameterTensor>& tensors,
                const std::vector<Bucket>& buckets) {
  JsonWriter json(out);
  json.object([&] {
    json.put("schema", "paceline.buckets/1");
    json.put_list("buckets", buckets, [&](const Bucket& bucket) {
      json.object([&] {
        json.put("elements", bucket_count(tensors, bucket));
        json.put("size_bytes", bucket_size(tensors, bucket));
        json.put_list("tensors", bucket, [&](std::size_t i) { json.value(tensors[i].name); });
      });
    });
  });
}

struct Options {
  std::string model, bucket_cap, first_bucket, torch_version, precision;
  files::OutputFile json;
  bool pretraining_heads = false, find_unused_parameters = false, static_graph = false,
       first_iteration = false;
};

// The same keys as in a scenario, so that they mean and complain the same.
Scenario scenario_of(const Options& options) {
  const auto when = [](bool is_given, const char* value) { return is_given ? value : ""; };
  ScenarioValues values = small_values();
  values.set_given(
      {{"cluster.gpus_per_node", "1"},
       {"workload.model", options.model},
       // Gradients are as many whatever the tokens.
       {"workload.sequence", loader::asks_for_sequence(options.model) ? "1" : ""},
       {"workload.precision", options.precision},
       {"workload.pretraining_heads", when(options.pretraining_heads, "true")},
       {"training.bucket_cap", options.bucket_cap},
       {"training.first_bucket", options.first_bucket},
       {"training.torch_version", options.torch_version},
       {"training.find_unused_parameters", when(options.find_unused_parameters, "true")},
       {"training.static_graph", when(options.static_graph, "true")},
       {"training.iteration", when(options.first_iteration, "first")}});
  // Compute plays no part, and shapes alone do not always tell it.
  if (loader::names_a_parameter_list(options.model)) {
    values.set_given({{"workload.single_gpu_throughput", "1 samples/s"}});
  }
  return scenario_of_options(values, {});
}

int run(Options& options) {
  const Scenario scenario = scenario_of(options);
  const auto tensors = training::gradient_tensors(scenario.workload);
  const auto ddp = training::ddp_settings(scenario.strategy_settings);
  const auto buckets = ddp_buckets(tensors, ddp);
  if (!options.json.is_standard_output()) {
    write_text(std::cout, tensors, buckets);
    write_assumptions(std::cout, training::ddp_assumptions(ddp).sentences());
  }
  options.json.write_if_asked([&](std::ostream& out) { write_json(out, tensors, buckets); });
  return exit_done;
}

}  // namespace buckets_command

Action attach_buckets(CommandOptions& app) {
  using namespace buckets_command;
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model,
                 "A shipped network by its name (paceline list models), or a network file, or a "
                 "list of parameters (.txt).")
      .required()
      .reads_files("")
      .suggests(shipped_models);
  CommandOptions torch = app.in_group("PyTorch");
  torch.add_option("--bucket-cap", options->bucket_cap,
                   "The largest size of a bucket, bucket_cap_mb of PyTorch (default: 25MiB).");
  torch.add_option("--first-bucket", options->first_bucket,
                   "The largest size of the first bucket (default: auto, which is 1MiB or the "
                   "bucket cap, depending on the version of PyTorch).");
  torch.add_option("--torch-version", options->torch_version,
                   "The version of PyTorch, which decides the size of the first bucket.");
  torch.add_flag("--find-unused-parameters", options->find_unused_parameters,
                 "Assume find_unused_parameters=True: buckets are never rebuilt.");
  torch.add_flag("--static-graph", options->static_graph,
                 "Assume static_graph=True: buckets are rebuilt in spite of unused parameters.");
  torch.add_flag("--first-iteration", options->first_iteration,
                 "Print the buckets of the first iteration, before they are rebuilt.");
  CommandOptions network = app.in_group("Network");
  network
      .add_option("--precision", options->precision,
                  "The precision: fp32, tf32, amp, bf16 or fp16 (default: fp32).")
      .suggests({"fp32", "tf32", "amp", "bf16", "fp16"});
  network.add_flag("--pretraining-heads", options->pretraining_heads,
                   "Include the pretraining heads of BERT.");
  add_json(app, options->json, "the buckets");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
