#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/assumption.h"
#include "models/run/as_it_ran.h"
#include "models/workload/attained.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/import/traced_run.h"
#include "scenarios/loader/sections.h"
#include "traces/replay/replay.h"

namespace paceline::loader {
namespace {

constexpr AssumptionKind batch_of_one{
    "{}: not in the trace; taken as 1, so throughput counts steps of ranks"};
constexpr AssumptionKind said_by_trace{"{}"};
constexpr AssumptionKind named_gradients{"{}: taken from {}, as workload.model says"};
constexpr AssumptionKind modelled_shares{
    "{}: the trace contains no gradients; its step is divided among the layers of {} in "
    "proportion to their times on {}"};
constexpr AssumptionKind ranks_as_traced{
    "{}: {} compute, and begin as late, as the {} that were traced, {}"};
constexpr AssumptionKind ranks_of_run{"{}: {}, as in the traced run; set gpus for another number"};

void refuse_what_a_trace_gives(Section& workload) {
  for (const char* key : {"layers", "device"}) {
    if (const auto field = workload.field(key)) {
      throw InputError(field->location(), fmt::format("{} cannot be combined with trace", key),
                       "keep one of them: a trace has the compute of its own device");
    }
  }
}

void read_batch(const Section& workload, const TracedRun& traced, Scenario& scenario) {
  if (const auto batch = workload.find<std::uint32_t>("batch_per_gpu")) {
    scenario.workload.batch_per_gpu = *batch;
  } else if (traced.run.batch_per_gpu) {
    scenario.workload.batch_per_gpu = *traced.run.batch_per_gpu;
  } else {
    scenario.assumptions.add({batch_of_one, "batch"});
  }
}

// What a trace has of its own, and what says it otherwise than for the wire.
void refuse_other_arithmetic(Section& workload) {
  const auto field = workload.field("precision");
  if (!field) return;
  if (!field->node().is_map()) {
    field->fail("is that of the trace's device",
                "write precision: {gradient: fp16} for gradients on the wire");
  }
  if (const auto compute = workload.map().map("precision").find("compute")) {
    compute->fail("is that of the trace's device", "write {gradient: fp16}");
  }
}

// Beside the scenario.
std::vector<std::string> paths_of(const Field& trace) {
  if (!trace.node().is_list()) return {trace.file_path()};
  std::vector<std::string> paths;
  for (const Field& one : trace.list()) paths.push_back(one.file_path());
  return paths;
}

void refuse_many_calls(const Field& trace, const training::StepProgram& program) {
  constexpr std::ptrdiff_t calls_max = 10'000;
  const auto calls = std::ranges::distance(calls_in(program));
  if (calls <= calls_max) return;
  trace.fail(fmt::format("contains a step of {} collectives, more than the {} that can be replayed",
                         calls, calls_max),
             "record a shorter step, such as one without gradient accumulation");
}

workload::Device shipped_device(const char* name) {
  const auto document = parse_document("the shipped devices", name);
  return load_device(Field(document, document->root, "device"));
}

// Where the trace tells its gradients, they have got the network's elements. Else its compute is
// divided among the network's layers as a device would that is known.
void take_gradients(const workload::Network& network, traces::TracedCompute& compute,
                    Scenario& scenario) {
  if (compute.gradients > 0) {
    scenario.assumptions.add({named_gradients, "gradients", {network.name}});
    return;
  }
  const workload::Device device = shipped_device("v100-sxm2-16gb");
  workload::Workload& workload = scenario.workload;
  const Seconds traced = workload.one_gpu_step(1);
  workload.layers.clear();
  for (const workload::Layer& layer : network.layers) {
    workload.layers.push_back(time_layer(layer, workload.batch_per_gpu, workload::Precision::fp32,
                                         device, workload::known_attained()));
  }
  workload.optimizer = optimizer_time({}, workload.layers, device, workload::known_attained());
  if (const auto factors = factors_to({1, traced, true, true}, workload, {})) {
    scale(workload, *factors, true);
  }
  compute.gradients = workload::parameters(network).size();
  scenario.assumptions.add({modelled_shares, "compute", {network.name, device.name}});
}

// Of what was traced nine tenths lie between; of fewer than twenty steps all do.
RatioRange spread_of_steps(const std::vector<Seconds>& lengths) {
  if (lengths.size() < 2) return {};
  std::vector<Seconds> sorted = lengths;
  std::ranges::sort(sorted);
  const std::size_t left_out = sorted.size() / 20, middle = (sorted.size() - 1) / 2;
  return {sorted[left_out] / sorted[middle], sorted[sorted.size() - 1 - left_out] / sorted[middle]};
}

}  // namespace

void load_trace(const Field& trace, Section& workload, Scenario& scenario) {
  refuse_what_a_trace_gives(workload);
  refuse_other_arithmetic(workload);
  const auto network = workload.field("model") ? network_of(workload) : nullptr;  // its gradients
  const auto gradients = network ? std::optional(gradients_of(*network)) : std::nullopt;
  const auto traced = read_traced_run(paths_of(trace), gradients ? &*gradients : nullptr);
  refuse_many_calls(trace, traced->run.trace.program);
  traces::TracedCompute compute = traces::traced_compute(traced->run.trace);
  scenario.workload = std::move(compute.workload);
  if (network) take_gradients(*network, compute, scenario);
  scenario.workload.name = traced->run.name;
  training::TracedWork& work = scenario.traced.emplace();
  work.ranks = rank_count(traced->run.trace);
  work.program = as_it_ran(traced->run.trace);
  work.world = traced->run.world_size.value_or(work.ranks);
  count_calls(traced->step, work);
  work.steps = spread_of_steps(traced->run.step_lengths);
  work.other_calls = compute.other_calls;
  work.has_gradients = compute.gradients > 0;
  work.slowdown = std::move(compute.slowdown);
  if (const auto fault = training::find_fault(work.program)) {
    trace.fail("cannot be replayed: " + *fault, "import it again");
  }
  work.calls_as_traced = workload.get<std::string_view>("calls") == "as_traced";
  read_batch(workload, *traced, scenario);
  for (const std::string& text : traced->run.assumptions) {
    scenario.assumptions.add({said_by_trace, text});
  }
}

void check_traced_gradients(const Field& field, const Scenario& scenario) {
  if (!scenario.traced || scenario.strategy->replays_trace) return;
  if (scenario.traced->calls_as_traced) {
    field.fail("makes its own collectives", "take strategy: traced, or calls: predicted");
  }
  if (!scenario.traced->has_gradients) {
    field.fail("needs gradient sizes to rebuild buckets, and the trace contains none",
               "profile again with record_shapes=True, record with paceline_recorder.py, or name "
               "the network: workload.model");
  }
  if (scenario.traced->other_calls > 0) {
    field.fail(fmt::format("reduces gradients only, and the trace contains {} other collectives",
                           scenario.traced->other_calls),
               "take strategy: traced");
  }
}

void check_traced_training(Section& training) {
  for (const char* key :
       {"gradient_accumulation", "input_time", "collectives_in_flight", "host.per_operation",
        "host.per_gradient", "host.per_call", "host.computes", "optimizer.time"}) {
    if (const auto field = training.field(key)) {
      field->fail("is as the trace has it", "take strategy: ddp, or leave it out");
    }
  }
}

void check_traced_ranks(const Section& workload, Scenario& scenario) {
  if (!scenario.traced) return;
  const std::uint32_t ranks = scenario.cluster.ranks().value();
  if (ranks == scenario.traced->world && ranks > scenario.traced->ranks) {
    scenario.assumptions.add({ranks_of_run, "ranks", {std::to_string(ranks)}});
  }
  if (scenario.traced->ranks > 1 && ranks != scenario.traced->ranks) {
    const char* which = ranks == 1 ? "as the median of them" : "from the fastest to the slowest";
    scenario.assumptions.add({ranks_as_traced,
                              "ranks",
                              {std::to_string(ranks), std::to_string(scenario.traced->ranks),
                               ranks > scenario.traced->ranks ? "in turn" : which}});
  }
  const bool are_those_of_run = ranks == scenario.traced->ranks || ranks == scenario.traced->world;
  if (!scenario.traced->calls_as_traced || are_those_of_run) return;
  throw InputError(workload.location(),
                   fmt::format("calls as traced need {} ranks, and the cluster has {}",
                               scenario.traced->world, ranks),
                   "leave out calls: as_traced");
}

}  // namespace paceline::loader
