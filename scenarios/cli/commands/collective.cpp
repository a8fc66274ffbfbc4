#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <mutex>

#include "models/assumption.h"
#include "models/collectives/nccl_tests.h"
#include "models/collectives/registry.h"
#include "models/cost/bounds.h"
#include "models/text/number.h"
#include "scenarios/calibration/calibration.h"
#include "scenarios/cli/collective_options.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/errors.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/calibrated.h"
#include "scenarios/prepare/resolve.h"
#include "scenarios/process/stop_request.h"
#include "scenarios/report/collective_report.h"
#include "scenarios/report/report.h"

namespace paceline::cli {
namespace collective_command {

using collectives::Collective;

using Options = CollectiveOptions;

// Whether a setting changes anything of a call, which has no step. A calibration has the times;
// what is measured only is on no cluster.
bool has_effect(const Options& options, const std::string& path) {
  const auto is_of = [&](const char* section) { return path.starts_with(section); };
  if (!options.calibration.empty() && path != "simulation.seed") {
    return path == "gpus" || path == "cluster.nodes" || path == "cluster.gpus_per_node";
  }
  if (options.cluster.empty() && (is_of("cluster.") || path == "simulation.fidelity")) return false;
  return is_of("cluster.") || is_of("collective.") || is_of("simulation.") || is_of("other_jobs") ||
         path == "gpus" || path == "workload.device";
}

std::vector<ScenarioFile::Setting> settings_of(const Options& options) {
  auto settings = options.shared.parsed_settings();
  for (const ScenarioFile::Setting& setting : settings) {
    if (has_effect(options, setting.path)) continue;
    throw InputError({setting.as_typed()}, "has no effect on this collective", "leave it out");
  }
  return settings;
}

constexpr AssumptionKind unnamed_device{"{}: GPUs are assumed to be {}; --device names others"};

Scenario scenario_with(const Options& options, const std::string& device) {
  ScenarioValues values = small_values();
  // Of a cluster whose device nobody has named yet.
  const bool stands_for_any = !options.cluster.empty() && device.empty();
  if (options.cluster.empty()) {  // what is measured is not predicted
    values.set_given({{"cluster.nodes", "1"},
                      {"cluster.gpus_per_node", options.gpus},
                      {"cluster.intra_node.kind", "nvswitch"},
                      {"cluster.intra_node.bandwidth", "100GBps"}});
  }
  values.set_given(
      {{"cluster.preset", options.cluster},
       {"training.strategy", "bulk_synchronous"},  // its step is not run
       {"gpus", options.gpus},
       {"collective.algorithm", options.collective == "all_reduce" ? options.algorithm : ""},
       {"collective.library", options.library},
       {"collective.version", options.version},
       {"collective.protocol", options.protocol},
       {"workload.device", device},
       {"cluster.gpus", stands_for_any ? "any" : ""},
       {"collective.channels", options.channels},
       {"collective.min_ctas", options.min_ctas},
       {"collective.max_ctas", options.max_ctas},
       {"collective.chunk_size", options.chunk_size},
       {"collective.inner", options.inner},
       {"collective.outer", options.outer},
       {"collective.servers", options.servers},
       {"collective.server_placement", options.server_placement}});
  return scenario_of_options(values, settings_of(options));
}

// On the GPUs that the cluster says it has.
Scenario scenario_of(const Options& options) {
  Scenario scenario = scenario_with(options, options.device);
  const std::string& gpu = scenario.cluster.gpu;
  return options.device.empty() && !gpu.empty() ? scenario_with(options, gpu) : scenario;
}

std::vector<Bytes> sizes_of(const Options& options) {
  const Bytes least = quantity("--min", options.min_size, parse_bytes);
  if (least < Bytes(options.element_size().value())) {
    throw InputError({"--min"}, fmt::format("is below one {}", options.measured.type),
                     fmt::format("write --min {}B", options.element_size().value()));
  }
  return sizes_between(least, options.max_size, options.factor);
}

// As logs of the cluster say.
PreparedCalls prepare_calibrated(const Options& options, const Scenario& scenario,
                                 const std::vector<training::CollectiveCall>& calls) {
  const Calibration calibration = read_calibration(options.calibration);
  if (calibration.find(calls.front().collective) == nullptr) {
    throw InputError({options.calibration},
                     fmt::format("has no fit of {}", to_text(calls.front().collective)),
                     "calibrate with logs of it, or leave --calibration out");
  }
  PreparedCalls prepared;
  for (const training::CollectiveCall& call : calls) {
    PreparedPoint one;
    one.point.id = prepared.calls.size();
    one.point.cluster = scenario.cluster;
    one.point.fidelity = scenario.fidelity;
    one.point.program = training::one_call_program(call);
    give_times(calibration, one);
    plan_calls(scenario, one);
    prepared.calls.push_back({std::move(one.point), ""});
    prepared.assumptions.add(one.assumptions);
  }
  return prepared;
}

// The scenario names the algorithm of all-reduces.
PreparedCalls prepare(const Options& options, const Scenario& scenario, Collective collective,
                      const std::vector<ElementCount>& counts) {
  std::vector<training::CollectiveCall> calls;
  for (const ElementCount count : counts) {
    calls.push_back({collective, count, options.element_size()});
  }
  if (!options.calibration.empty()) return prepare_calibrated(options, scenario, calls);
  return prepare_calls(scenario, std::move(calls),
                       collective == Collective::all_reduce ? "" : options.algorithm);
}

// By call; when it is to stop, those that are done by then.
std::vector<std::optional<Result>> predict(const std::vector<PreparedCall>& calls,
                                           const RunOptions& run) {
  std::vector<std::optional<Result>> predicted(calls.size());
  const ProgressEnd end(run.progress);
  const Location where{"collective"};
  const auto time_of_largest = time_expected(calls.back().point, run.force, where);
  const Executor simulate = simulation(run.force);
  std::mutex mutex;
  std::size_t done = 0;
  const auto predict_one = [&](std::size_t i) {
    const ResolvedPoint& point = calls[i].point;
    if (run.progress) {
      const std::lock_guard lock(mutex);
      const Bytes size = call_of(point.program.operations.front())->size();
      run.progress({done, calls.size(), "sizes", to_text(size), "", time_of_largest});
    }
    traces::Reply reply = simulate(point);
    if (const auto* failure = std::get_if<traces::Failure>(&reply)) {
      if (failure->refused) throw refusal(failure->what, where);
      throw BackendError("simulation", failure->what);
    }
    const std::lock_guard lock(mutex);
    predicted[i] = std::move(std::get<Result>(reply));
    ++done;
  };
  try {
    for_each(calls.size(), run.jobs, predict_one);
  } catch (const Stopped&) {
    if (done == 0) throw;
  }
  return predicted;
}

// With the GPUs that NCCL's choices were made for, where nobody has named them.
std::vector<std::string> sentences_on(const Options& options, const Scenario& scenario,
                                      const PredictedCalls& calls, Assumptions assumptions) {
  const bool by_nccl = std::ranges::any_of(
      calls.rows, [](const PredictedCall& row) { return !row.protocol.empty(); });
  if (by_nccl && options.device.empty() && scenario.cluster.gpu.empty()) {
    assumptions.add({unnamed_device, "nccl", {scenario.workload.device.name}});
  }
  // No model's step is run.
  for (const AssumptionKind* kind : {&unmeasured_speed, &bound_by_launches, &hooks_of_wrapper}) {
    assumptions.remove(*kind);
  }
  auto sentences = assumptions.sentences();
  for (const PredictedCall& row : calls.rows) {
    std::ranges::copy(row.predicted.notes, std::back_inserter(sentences));
  }
  return sentences;
}

// What all-reduces may be named the scenario knows, but for names of others alone.
bool is_algorithm_for(Collective collective, const std::string& name) {
  if (name.empty() || name == collectives::automatic) return true;
  if (collectives::find_algorithm(collective, name) != nullptr) return true;
  return collective == Collective::all_reduce &&
         collectives::find_algorithm(Collective::all_gather, name) == nullptr;
}

void check_algorithm(const Options& options, Collective collective) {
  if (!is_algorithm_for(collective, options.algorithm)) {
    throw InputError(
        {"--algorithm"},
        fmt::format("\"{}\" is not an algorithm for {}", options.algorithm, options.collective),
        "see models/collectives/ALGORITHMS.md");
  }
  if (collective != Collective::all_reduce && !options.algorithm.empty() &&
      !options.protocol.empty()) {
    throw InputError({"--protocol"}, "is of what NCCL chooses", "leave --algorithm out");
  }
  if (!options.calibration.empty())
    refuse_given("a calibration has the times of whatever ran", options.of_prediction());
}

int predict(const Options& options, files::OutputFile& json) {
  const Collective collective = word<Collective>("--collective", options.collective);
  if (options.cluster.empty()) {
    throw InputError({"cluster"}, "is required to predict",
                     "name a preset, or measure with --measure");
  }
  const Scenario scenario = scenario_of(options);
  check_algorithm(options, collective);
  refuse_too_many(scenario.cluster.ranks(), options.shared.force, {"--gpus"});
  const std::vector<Bytes> sizes = sizes_of(options);
  std::vector<ElementCount> counts;
  for (const Bytes size : sizes) {
    counts.emplace_back(size.value() / options.element_size().value());
  }
  const PreparedCalls prepared = prepare(options, scenario, collective, counts);
  const StopRequest stop;
  auto predicted = predict(prepared.calls, options.shared.run_options());
  PredictedCalls calls{collective,
                       scenario.cluster.ranks(),
                       scenario.cluster.nodes,
                       type_of_name(options.measured.type),
                       scenario.fidelity,
                       !options.calibration.empty()};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!predicted[i]) continue;
    const cost::LeastTimes least = cost::least_times(
        scenario.cluster, *call_of(predicted[i]->trace.program.operations.front()));
    calls.rows.push_back({sizes[i], prepared.calls[i].protocol, std::move(*predicted[i]),
                          least.node_links + least.network});
  }
  calls.is_complete = calls.rows.size() == sizes.size();
  if (!json.is_standard_output()) {
    write_text(std::cout, calls);
    write_assumptions(std::cout, sentences_on(options, scenario, calls, prepared.assumptions));
  }
  json.write_if_asked([&](std::ostream& out) { write_json(out, calls); });
  if (calls.is_complete) return exit_done;
  return say_stopped(fmt::format("{} of {} sizes", calls.rows.size(), sizes.size()));
}

// What is run is the library's own, or a plan that is named.
void check_measured(const Options& options, CollectiveMode mode) {
  if (options.algorithm == collectives::automatic) {
    throw InputError({"--algorithm"}, "auto is for predictions", "name one to measure it");
  }
  if (mode == CollectiveMode::native && !options.algorithm.empty()) {
    throw InputError({"--algorithm"}, "is the library's own choice in mode native",
                     "add --mode plan, or leave it out");
  }
  if (!options.cluster.empty()) return;
  refuse_given("no cluster is named, so nothing is predicted", {{"--library", options.library},
                                                                {"--device", options.device},
                                                                {"--version", options.version},
                                                                {"--protocol", options.protocol}});
}

std::uint32_t ranks_to_start(const Options& options) {
  const auto ranks = number_of<std::uint32_t>(options.gpus);
  if (ranks && *ranks > 0) {
    refuse_more_than_start_here(*ranks, {"--gpus"});
    return *ranks;
  }
  throw InputError({"--gpus"},
                   options.gpus.empty()
                       ? "is needed without a launcher"
                       : fmt::format("\"{}\" is not a number of ranks", options.gpus),
                   "write --gpus 2");
}

// The ranks of a launcher may be those that --gpus says, or it says nothing.
RankGroup group_of_launcher(const Options& options, std::uint32_t ranks) {
  if (!options.gpus.empty() && options.gpus != std::to_string(ranks)) {
    throw InputError({"--gpus"}, fmt::format("the launcher started {} ranks", ranks),
                     "leave it out");
  }
  return options.measured.group(ranks);
}

// Predicts the measured library unless another is named; plans of all-reduces are rings.
Options completed(Options options, Collective collective, CollectiveMode mode,
                  const RankGroup& group) {
  const std::string_view plan = to_text(cost::Library::plan);
  options.gpus = std::to_string(group.ranks);
  if (options.library.empty()) {
    const bool has_model = from_text<cost::Library>(group.backend).has_value();
    const bool is_plan = mode == CollectiveMode::plan || options.cluster.empty();
    options.library = is_plan ? plan : has_model ? std::string_view(group.backend) : "";
  }
  if (options.library == plan && options.algorithm.empty() &&
      collective == Collective::all_reduce) {
    options.algorithm = "ring";
  }
  return options;
}

// Of all calls; a library may choose several.
std::string algorithms_of(const std::vector<ResolvedPoint>& points, CollectiveMode mode) {
  if (mode == CollectiveMode::native) return std::string(to_text(mode));
  std::string all;
  std::string_view last;
  for (const ResolvedPoint& point : points) {
    const auto name = algorithm_of(*call_of(point.program.operations.front()));
    if (name != last) all += (all.empty() ? "" : ", ") + std::string(name);
    last = name;
  }
  return all;
}

// As nccl-tests round them; without those too small for an element of each rank.
std::vector<ElementCount> tested_counts(const Options& options, Collective collective,
                                        RankCount ranks) {
  std::vector<ElementCount> counts;
  for (const Bytes size : sizes_of(options)) {
    const auto count = collectives::tested_count(collective, ranks, size, options.element_size());
    if (count > ElementCount(0)) counts.push_back(count);
  }
  if (counts.empty()) {
    throw InputError({"--max"}, "has less than 16 bytes for each rank", "write --max 1MiB");
  }
  return counts;
}

struct CallsToMeasure {
  std::vector<ResolvedPoint> points;
  std::vector<Result> predicted;
};

CallsToMeasure calls_to_measure(const Options& options, Collective collective,
                                const MeasureSettings& settings, RankCount ranks) {
  const Scenario scenario = scenario_of(options);
  const PreparedCalls prepared =
      prepare(options, scenario, collective, tested_counts(options, collective, ranks));
  CallsToMeasure calls;
  if (!options.cluster.empty()) {
    for (auto& one : predict(prepared.calls, options.shared.run_options())) {
      if (!one) throw Stopped();
      calls.predicted.push_back(std::move(*one));
    }
  }
  for (const PreparedCall& call : prepared.calls) {
    calls.points.push_back(call.point);
    calls.points.back().measure = settings;
  }
  return calls;
}

// Throws InputError when it cannot be measured, BackendError when a rank is lost.
RepeatedTimes measure_call(WorkerRanks& ranks, const ResolvedPoint& point) {
  const Location asked{"--measure"};
  Measured measured = ranks.measure(point, asked, nullptr);
  if (measured.lost && measured.lost->cause == FailureCause::stopped) throw Stopped();
  if (measured.lost) throw BackendError("paceline-worker", measured.lost->why);
  if (const auto* failure = std::get_if<traces::Failure>(&*measured.reply)) {
    throw InputError(asked, failure->what, "");
  }
  return std::get<Result>(*measured.reply).measurement.value().calls.value();
}

void measure(const CallsToMeasure& calls, WorkerRanks& ranks, bool is_printed,
             MeasuredCalls& measured) {
  for (std::size_t i = 0; i < calls.points.size(); ++i) {
    const ResolvedPoint& point = calls.points[i];
    MeasuredCall row{*call_of(point.program.operations.front()), measure_call(ranks, point), {}};
    if (!calls.predicted.empty()) row.predicted = calls.predicted[i].totals.step;
    if (is_printed && i == 0) write_head(std::cout, measured);
    measured.rows.push_back(std::move(row));
    if (is_printed) write_last_row(std::cout, measured);
  }
  if (is_printed) write_end(std::cout, measured);
}

int measure(Options options, files::OutputFile& json) {
  share_secret(options.measured.secret_file);
  const Collective collective = word<Collective>("--collective", options.collective);
  const MeasureSettings settings = options.measured.settings();
  check_algorithm(options, collective);
  check_measured(options, settings.mode);
  WorkerRanksPtr ranks = join_launcher(
      [&](std::uint32_t count) { return group_of_launcher(options, count); }, options.task());
  if (!ranks) refuse_secret_of_own_ranks(options.measured.secret_file);
  const RankGroup group = ranks ? ranks->group() : options.measured.group(ranks_to_start(options));
  options = completed(std::move(options), collective, settings.mode, group);
  const auto calls = calls_to_measure(options, collective, settings, RankCount(group.ranks));
  if (!ranks) ranks = std::make_unique<WorkerRanks>(group, WorkerRanks::Start::here);
  MeasuredCalls measured{group, settings, collective, algorithms_of(calls.points, settings.mode),
                         !calls.predicted.empty()};
  const auto write_rows = [&] {
    json.write_if_asked([&](std::ostream& out) { write_json(out, measured); });
  };
  const StopRequest stop;
  try {
    measure(calls, *ranks, !json.is_standard_output(), measured);
  } catch (const BackendError&) {
    if (!measured.rows.empty()) write_rows();
    if (StopRequest::signal() == 0) throw;
    return say_stopped(fmt::format("{} of {} sizes", measured.rows.size(), calls.points.size()));
  }
  measured.is_complete = true;
  write_rows();
  return measured.wrong_elements() == 0 ? exit_done : exit_check_failed;
}

int run(const Options& options, files::OutputFile& json) {
  return options.measured.is_asked ? measure(options, json) : predict(options, json);
}

}  // namespace collective_command

Action attach_collective(CommandOptions& app) {
  auto options = std::make_shared<CollectiveOptions>();
  auto json = std::make_shared<files::OutputFile>();
  options->add_to(app, *json);
  return [options, json] { return collective_command::run(*options, *json); };
}

}  // namespace paceline::cli
