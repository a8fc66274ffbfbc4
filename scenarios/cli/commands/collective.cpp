#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/assumption.h"
#include "models/collectives/registry.h"
#include "models/contract.h"
#include "models/cost/closed_step.h"
#include "scenarios/calibration/calibration.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/errors.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/report/assumptions.h"
#include "scenarios/run/calibrated_calls.h"
#include "scenarios/run/effort.h"
#include "scenarios/run/resolve.h"
#include "scenarios/run/simulator.h"
#include "scenarios/text_table.h"

namespace paceline::cli {
namespace collective_command {

using collectives::Collective;

struct Options {
  std::string cluster, collective = "all_reduce", algorithm, library, gpus, fidelity;
  std::string version, protocol, device, calibration;
  std::string channels, min_ctas, max_ctas, chunk_size, inner, outer, servers, server_placement;
  std::string min_size = "1KiB", max_size = "128MiB", json;
  std::uint64_t factor = 2;
  SharedOptions shared;
};

struct Row {
  Bytes size;
  std::string protocol;  // of the library; may be empty
  Result predicted;

  [[nodiscard]] Seconds time() const { return predicted.totals.step; }
  [[nodiscard]] const training::CollectiveCall& call() const {
    return *call_of(predicted.trace.program.operations.front());
  }
  // Of the time, 90 %.
  [[nodiscard]] Seconds low() const { return time() * call().range.low; }
  [[nodiscard]] Seconds high() const { return time() * call().range.high; }
};

Words<Collective> choices() {
  Words<Collective> all;
  for (const auto& [one, text] : words_of(Collective{})) all.emplace_back(text, one);
  return all;
}

constexpr ElementSize float_size(4);

constexpr AssumptionKind unnamed_device{"{}: GPUs as {}, unless --device says otherwise"};

Scenario scenario_with(const Options& options, const std::string& device) {
  ScenarioValues values = small_values();
  values.set_given(
      {{"cluster.preset", options.cluster},
       {"training.strategy", "bulk_synchronous"},  // its step is not run
       {"gpus", options.gpus},
       {"collective.algorithm", options.collective == "all_reduce" ? options.algorithm : ""},
       {"collective.library", options.library},
       {"collective.version", options.version},
       {"collective.protocol", options.protocol},
       {"workload.device", device},
       {"collective.channels", options.channels},
       {"collective.min_ctas", options.min_ctas},
       {"collective.max_ctas", options.max_ctas},
       {"collective.chunk_size", options.chunk_size},
       {"collective.inner", options.inner},
       {"collective.outer", options.outer},
       {"collective.servers", options.servers},
       {"collective.server_placement", options.server_placement},
       {"simulation.fidelity", options.fidelity}});
  return scenario_of_options(values, options.shared.parsed_settings());
}

// On the GPUs that the cluster says it has.
Scenario scenario_of(const Options& options) {
  Scenario scenario = scenario_with(options, options.device);
  const std::string& gpu = scenario.cluster.gpu;
  return options.device.empty() && !gpu.empty() ? scenario_with(options, gpu) : scenario;
}

std::vector<Bytes> sizes_of(const Options& options) {
  const Bytes least = quantity("--min", options.min_size, parse_bytes);
  const Bytes most = quantity("--max", options.max_size, parse_bytes);
  if (least < Bytes(float_size.value()) || options.factor < 2) {
    throw InputError({"--min", 0, 0}, "is below one float, or --factor below 2",
                     "write --min 4B --factor 2");
  }
  std::vector<Bytes> sizes;
  for (Bytes size = least; size <= most; size = size * options.factor) {
    sizes.push_back(size);
    if (size.value() > most.value() / options.factor) break;  // the next one might not fit 64 bits
  }
  if (sizes.empty()) throw InputError({"--max", 0, 0}, "is below --min", "");
  return sizes;
}

// As logs of the cluster say.
PreparedCalls prepare_calibrated(const Options& options, const Scenario& scenario,
                                 const std::vector<training::CollectiveCall>& calls) {
  const Calibration calibration = read_calibration(options.calibration);
  if (calibration.find(calls.front().collective) == nullptr) {
    throw InputError({options.calibration, 0, 0},
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
    plan_calibrated_calls(calibration, scenario, one);
    prepared.calls.push_back({std::move(one.point), ""});
    prepared.assumptions.add(one.assumptions);
  }
  return prepared;
}

// The scenario names the algorithm of all-reduces.
PreparedCalls prepare(const Options& options, const Scenario& scenario, Collective collective,
                      const std::vector<Bytes>& sizes) {
  std::vector<training::CollectiveCall> calls;
  for (const Bytes size : sizes) {
    calls.push_back({collective, ElementCount(size.value() / float_size.value()), float_size});
  }
  if (!options.calibration.empty()) return prepare_calibrated(options, scenario, calls);
  return prepare_calls(scenario, std::move(calls),
                       collective == Collective::all_reduce ? "" : options.algorithm);
}

std::vector<Result> predict(const std::vector<PreparedCall>& calls, Fidelity fidelity,
                            const RunOptions& run) {
  std::vector<Result> predicted(calls.size());
  const auto take = [&](std::size_t i, traces::Reply reply) {
    if (const auto* failure = std::get_if<traces::Failure>(&reply)) {
      if (failure->refused) throw_refusal(failure->what, {"collective", 0, 0});
      throw BackendError("paceline-sim", failure->what);
    }
    predicted[i] = std::move(std::get<Result>(reply));
  };
  const auto limit = simulation_limit(calls.back().point, run.force, {"collective", 0, 0});
  if (fidelity == Fidelity::closed) {
    for (std::size_t i = 0; i < calls.size(); ++i) take(i, cost::predict_closed(calls[i].point));
  } else {
    const auto make = [&](std::size_t i) {
      Simulation simulation{calls[i].point, limit};
      simulation.point.force = run.force;
      return simulation;
    };
    simulate({calls.size(), make, take}, run.jobs);
  }
  return predicted;
}

// nccl-tests' doc/PERFORMANCE.md, and src/scatter.cu and gather.cu: what the algorithm's bandwidth
// is multiplied with so that it compares with a link's.
double bus_factor(Collective collective, double ranks) {
  switch (collective) {
    case Collective::all_reduce: return 2 * (ranks - 1) / ranks;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::scatter:
    case Collective::gather: return (ranks - 1) / ranks;
    case Collective::broadcast:
    case Collective::reduce: return 1;
  }
  PACELINE_UNREACHABLE("a collective outside the enumeration");
  return 0;
}

// As nccl-tests has it, which sums by default.
std::string_view reduction_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::reduce: return "sum";
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::scatter:
    case Collective::gather:
    case Collective::broadcast: return "none";
  }
  PACELINE_UNREACHABLE("a collective outside the enumeration");
}

// Likewise: -1 where there is none.
std::string root_of(const training::CollectiveCall& call) {
  return collectives::has_root(call.collective) ? std::to_string(index(call.root)) : "-1";
}

// The columns of nccl-tests, out of place, and our own behind them.
void write_table(const Options& options, const Scenario& scenario, Collective collective,
                 const std::vector<Row>& rows, Assumptions assumptions) {
  const double factor = bus_factor(collective, scenario.cluster.ranks().value());
  const bool is_calibrated = !options.calibration.empty();
  TextTable table({"size (B)", "count", "type", "redop", "root", "time (us)", "algbw (GB/s)",
                   "busbw (GB/s)", "algorithm", "90% interval (us)"},
                  0);
  for (const Row& row : rows) {
    const double algbw = row.time() > Seconds(0) ? (row.size / row.time()).value() * 1e-9 : 0;
    table.add(
        {std::to_string(row.size.value()), std::to_string(row.call().count.value()), "float",
         std::string(reduction_of(collective)), root_of(row.call()),
         fmt::format("{:.2f}", row.time().value() * 1e6), fmt::format("{:.2f}", algbw),
         fmt::format("{:.2f}", algbw * factor),
         std::string(algorithm_of(row.call())) + (row.protocol.empty() ? "" : " " + row.protocol),
         fmt::format("{:.2f} to {:.2f}", row.low().value() * 1e6, row.high().value() * 1e6)});
  }
  fmt::print(std::cout, "{} on {} GPUs of {} node{}, predicted, {}\n\n", to_text(collective),
             scenario.cluster.ranks().value(), scenario.cluster.nodes,
             scenario.cluster.nodes == 1 ? "" : "s",
             is_calibrated ? "calibrated" : to_text(scenario.fidelity));
  table.write(std::cout);
  const bool by_nccl =
      std::ranges::any_of(rows, [](const Row& row) { return !row.protocol.empty(); });
  if (by_nccl && options.device.empty() && scenario.cluster.gpu.empty()) {
    assumptions.add({unnamed_device, "nccl", {scenario.workload.device.name}});
  }
  auto sentences = assumptions.sentences();
  for (const Row& row : rows) std::ranges::copy(row.predicted.notes, std::back_inserter(sentences));
  write_assumptions(std::cout, sentences);
}

void write_json(std::ostream& out, const Scenario& scenario, Collective collective,
                const std::vector<Row>& rows) {
  const double factor = bus_factor(collective, scenario.cluster.ranks().value());
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const double algbw = row.time() > Seconds(0) ? (row.size / row.time()).value() : 0;
    list.push_back({{"size_bytes", row.size.value()},
                    {"algorithm", algorithm_of(row.call())},
                    {"protocol", row.protocol},
                    {"time_s", row.time().value()},
                    {"time_s_low", row.low().value()},
                    {"time_s_high", row.high().value()},
                    {"algbw_bytes_per_s", algbw},
                    {"busbw_bytes_per_s", algbw * factor},
                    {"transfers", row.predicted.transfers},
                    {"simgrid_solves", row.predicted.simgrid_solves},
                    {"fidelity", to_text(row.predicted.fidelity)}});
  }
  const nlohmann::ordered_json table{
      {"schema", "paceline.collective/1"},        {"collective", to_text(collective)},
      {"gpus", scenario.cluster.ranks().value()}, {"nodes", scenario.cluster.nodes},
      {"fidelity", to_text(scenario.fidelity)},   {"rows", std::move(list)}};
  out << table.dump(1) << '\n';
}

// What all-reduces may be named the scenario knows, but for names of others alone.
bool is_algorithm_for(Collective collective, const std::string& name) {
  if (name.empty() || name == collectives::automatic) return true;
  if (collectives::find_algorithm(collective, name) != nullptr) return true;
  return collective == Collective::all_reduce &&
         collectives::find_algorithm(Collective::all_gather, name) == nullptr;
}

int run(const Options& options) {
  const Collective collective = word("--collective", options.collective, choices());
  const Scenario scenario = scenario_of(options);
  if (!is_algorithm_for(collective, options.algorithm)) {
    throw InputError(
        {"--algorithm", 0, 0},
        fmt::format("\"{}\" is no algorithm for {}", options.algorithm, options.collective),
        "see models/collectives/ALGORITHMS.md");
  }
  if (collective != Collective::all_reduce && !options.algorithm.empty() &&
      !options.protocol.empty()) {
    throw InputError({"--protocol", 0, 0}, "is of what NCCL chooses", "leave --algorithm out");
  }
  if (!options.calibration.empty() && !(options.algorithm + options.protocol).empty()) {
    throw InputError({"--calibration", 0, 0}, "has times of whatever the library took",
                     "leave --algorithm and --protocol out");
  }
  const std::vector<Bytes> sizes = sizes_of(options);
  const PreparedCalls prepared = prepare(options, scenario, collective, sizes);
  auto predicted = predict(prepared.calls, scenario.fidelity, options.shared.run_options());
  std::vector<Row> rows;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    rows.push_back({sizes[i], prepared.calls[i].protocol, std::move(predicted[i])});
  }
  if (options.json != "-") {
    write_table(options, scenario, collective, rows, prepared.assumptions);
  }
  if (!options.json.empty()) {
    write_to(options.json, [&](std::ostream& out) { write_json(out, scenario, collective, rows); });
  }
  return exit_done;
}

}  // namespace collective_command

Action attach_collective(CommandOptions& app) {
  using namespace collective_command;
  auto options = std::make_shared<Options>();
  app.add_option("cluster", options->cluster, "a cluster preset, or a cluster file").required();
  app.add_option("--gpus", options->gpus, "how many of its GPUs; default: one node");
  app.add_option("--collective", options->collective,
                 "all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all, scatter "
                 "or gather");
  app.add_option("--algorithm", options->algorithm, "default: what the library does");
  app.add_option("--library", options->library, "nccl, gloo, mpi or plan");
  app.add_option("--version", options->version, "of NCCL, as 2.18; 2.28 by default");
  app.add_option("--protocol", options->protocol, "of NCCL: auto, ll, ll128 or simple");
  app.add_option("--device", options->device,
                 "the GPU, for NCCL's choice; a100-sxm4-40gb by default");
  app.add_option("--calibration", options->calibration,
                 "what paceline calibrate wrote: times and 90 % intervals by its logs");
  app.add_option("--channels", options->channels, "rings at a time; default: by topology");
  app.add_option("--min-ctas", options->min_ctas, "channels that NCCL has at least");
  app.add_option("--max-ctas", options->max_ctas, "channels that NCCL has at most");
  app.add_option("--chunk-size", options->chunk_size,
                 "of chains, double trees, nvls and CollNet, as 512KiB");
  app.add_option("--inner", options->inner, "hierarchical: the algorithm inside a node");
  app.add_option("--outer", options->outer, "hierarchical: the algorithm across nodes");
  app.add_option("--servers", options->servers, "parameter_server: how many");
  app.add_option("--server-placement", options->server_placement, "colocated or separate");
  app.add_option("--fidelity", options->fidelity, "folded (default), flow or closed");
  app.add_option("--min", options->min_size, "smallest size, as 1KiB");
  app.add_option("--max", options->max_size, "largest size, as 128MiB");
  app.add_option("--factor", options->factor, "from one size to the next");
  app.add_option("--json", options->json, "write the table as JSON; - is standard output");
  options->shared.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
