#include "scenarios/cli/collective_options.h"

#include <fmt/format.h>

#include "models/collectives/nccl_tests.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/loader/scenario.h"

namespace paceline::cli {

DataType type_of_name(const std::string& name) {
  const auto& types = collectives::nccl_tests_types;
  return word("--type", name, Words<DataType>(types.begin(), types.end()));
}

void MeasureCallOptions::add_to(CommandOptions& app) {
  CommandOptions measuring = app.in_group("Measurement");
  app.in_group("Sizes")
      .add_option("--type", type,
                  "The type of the elements: float, half, bfloat16, double, int32 or int64 "
                  "(default: float).")
      .suggests({"float", "half", "bfloat16", "double", "int32", "int64"});
  const Option measure = measuring.add_flag(
      "--measure", is_asked, "Run the collective on hardware too, as nccl-tests do.");
  for (const Option& option :
       {measuring
            .add_option("--backend", backend,
                        "The backend to measure with (default: nccl; paceline list backends).")
            .suggests(backend_names),
        measuring
            .add_option("--mode", mode,
                        "native measures the library's own call, plan the plan of --algorithm "
                        "(default: native).")
            .suggests({"native", "plan"}),
        measuring
            .add_option("--iterations", iterations,
                        "The number of calls that are timed together (default: 20).")
            .in_range(1, 1'000'000),
        measuring.add_option("--warmup", warmup, "The number of calls before those (default: 5).")
            .in_range(0, 1'000'000),
        measuring.add_option("--timeout", timeout,
                             "The longest wait for another rank (default: 30s)."),
        add_secret_file(measuring, secret_file)}) {
    option.needs(measure);
  }
}

MeasureSettings MeasureCallOptions::settings() const {
  MeasureSettings settings;
  settings.mode = word<CollectiveMode>("--mode", mode);
  settings.warmup = warmup;
  settings.calls = {type_of_name(type), iterations};
  return settings;
}

RankGroup MeasureCallOptions::group(std::uint32_t ranks) const {
  const Seconds limit = quantity("--timeout", timeout, parse_seconds);
  if (limit < RealSettings::timeout_least) {
    throw InputError({"--timeout"}, "is too short",
                     fmt::format("write {} or more", to_text(RealSettings::timeout_least)));
  }
  if (limit > RealSettings::timeout_most) {
    throw InputError({"--timeout"}, "is too long",
                     fmt::format("write {} or less", to_text(RealSettings::timeout_most)));
  }
  return {backend, ranks, limit};
}

Task CollectiveOptions::task() const {
  Task task{{"--collective", collective},
            {"--algorithm", algorithm},
            {"--min", min_size},
            {"--max", max_size},
            {"--factor", std::to_string(factor)},
            {"--type", measured.type},
            {"--mode", measured.mode},
            {"--backend", measured.backend},
            {"--iterations", std::to_string(measured.iterations)},
            {"--warmup", std::to_string(measured.warmup)},
            {"--channels", channels},
            {"--chunk-size", chunk_size},
            {"--inner", inner},
            {"--outer", outer},
            {"--servers", servers},
            {"--server-placement", server_placement}};
  std::erase_if(task, [](const auto& one) { return one.second.empty(); });
  for (const auto& setting : shared.parsed_settings()) {
    task.emplace_back(setting.path, setting.value);
  }
  return task;
}

std::vector<std::pair<const char*, std::string>> CollectiveOptions::of_prediction() const {
  return {{"--algorithm", algorithm},
          {"--protocol", protocol},
          {"--library", library},
          {"--version", version},
          {"--device", device},
          {"--channels", channels},
          {"--min-ctas", min_ctas},
          {"--max-ctas", max_ctas},
          {"--chunk-size", chunk_size},
          {"--inner", inner},
          {"--outer", outer},
          {"--servers", servers},
          {"--server-placement", server_placement}};
}

void CollectiveOptions::add_to(CommandOptions& app, files::OutputFile& json) {
  app.add_option("cluster", cluster,
                 "The cluster, a preset or a file (paceline list presets). With --measure, naming "
                 "one adds a column of predictions.")
      .reads_files("")
      .suggests(shipped_presets);
  app.add_option("--gpus", gpus,
                 "The number of GPUs (default: those of one node), or of ranks to measure.");
  app.add_option(
         "--collective", collective,
         "all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all, scatter or "
         "gather (default: all_reduce).")
      .suggests(collective_names);
  CommandOptions sizes = app.in_group("Sizes");
  sizes.add_option("--min", min_size, "The smallest size (default: 1KiB).");
  sizes.add_option("--max", max_size, "The largest size (default: 128MiB).");
  sizes.add_option("--factor", factor, "The factor between sizes (default: 2).")
      .in_range(2, 1 << 20);
  add_algorithm_options(app);
  CommandOptions prediction = app.in_group("Prediction");
  prediction
      .add_option(
          "--calibration", calibration,
          "Predict times and 90 % intervals from this file, which paceline calibrate wrote.")
      .reads_files("");
  add_device(prediction, device);
  add_json(app, json, "the table");
  measured.add_to(app);
  shared.add_but_known_to(app);
}

void CollectiveOptions::add_algorithm_options(CommandOptions& app) {
  CommandOptions choice = app.in_group("Library and algorithm");
  choice
      .add_option("--library", library,
                  "The library whose algorithms are predicted: nccl, gloo, mpi or plan (default: "
                  "nccl, or that of --backend).")
      .suggests({"nccl", "gloo", "mpi", "plan"});
  choice.add_option("--version", version, "The version of NCCL, such as 2.18 (default: 2.28).");
  choice
      .add_option("--algorithm", algorithm,
                  "The algorithm (default: what the library chooses; paceline list algorithms).")
      .suggests(algorithm_names);
  choice
      .add_option("--protocol", protocol,
                  "The protocol of NCCL: auto, ll, ll128 or simple (default: auto).")
      .suggests({"auto", "ll", "ll128", "simple"});
  choice.add_option("--channels", channels,
                    "The number of rings at a time (default: by topology).");
  choice.add_option("--min-ctas", min_ctas, "The fewest channels that NCCL may use.");
  choice.add_option("--max-ctas", max_ctas, "The most channels that NCCL may use.");
  choice.add_option("--chunk-size", chunk_size,
                    "The chunk size of chains, double trees, NVLS and CollNet, such as 512KiB "
                    "(default: the algorithm's own).");
  choice.add_option("--inner", inner,
                    "The algorithm of hierarchical inside a node (default: ring).");
  choice.add_option("--outer", outer,
                    "The algorithm of hierarchical across nodes (default: ring).");
  choice.add_option("--servers", servers,
                    "The number of servers of parameter_server (default: one per node).");
  choice
      .add_option("--server-placement", server_placement,
                  "Where the servers of parameter_server are: colocated with GPUs, or separate "
                  "(default: colocated).")
      .suggests({"colocated", "separate"});
}

}  // namespace paceline::cli
