#include "scenarios/loader/load_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "models/assumption.h"
#include "models/run/as_it_ran.h"
#include "scenarios/import/traced_run.h"
#include "traces/replay/replay.h"

namespace paceline::loader {
namespace {

constexpr AssumptionKind batch_of_one{
    "{}: the trace does not tell it; taken as 1, so that throughput counts ranks' steps"};
constexpr AssumptionKind said_by_trace{"{}"};

void refuse_what_a_trace_gives(Section& workload) {
  for (const char* key : {"model", "layers", "device", "sequence", "pretraining_heads"}) {
    if (const auto field = workload.field(key)) {
      throw InputError(field->location(), fmt::format("{} stands beside trace", key),
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
  if (!field->node().IsMap()) {
    field->fail("is that of the trace's device",
                "write precision: {gradient: fp16} for gradients on the wire");
  }
  if (const auto compute = workload.map().map("precision").find("compute")) {
    compute->fail("is that of the trace's device", "write {gradient: fp16}");
  }
}

void refuse_many_calls(const Field& trace, const training::StepProgram& program) {
  constexpr std::ptrdiff_t calls_max = 10'000;  // tests/bench/README.md says what these take
  const auto calls = std::ranges::count_if(
      program.operations, [](const auto& operation) { return call_of(operation) != nullptr; });
  if (calls <= calls_max) return;
  trace.fail(fmt::format("has a step of {} collectives, more than the {} that can be replayed",
                         calls, calls_max),
             "record a shorter step, such as one without gradient accumulation");
}

}  // namespace

void load_trace(const Field& trace, Section& workload, Scenario& scenario) {
  refuse_what_a_trace_gives(workload);
  refuse_other_arithmetic(workload);
  const auto path = std::filesystem::path(trace.document()->folder) / trace.text();
  const auto traced = read_traced_run(path.string());
  refuse_many_calls(trace, traced->run.trace.program);
  traces::TracedCompute compute = traces::traced_compute(traced->run.trace);
  scenario.workload = std::move(compute.workload);
  scenario.workload.name = traced->run.name;
  training::TracedWork& work = scenario.traced.emplace();
  work.ranks = rank_count(traced->run.trace);
  work.program = as_it_ran(traced->run.trace);
  work.untold_calls = static_cast<std::size_t>(
      std::ranges::count_if(work.program.operations, [](const training::Operation& operation) {
        const auto* call = call_of(operation);
        return call != nullptr && call->is_untold;
      }));
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
    field.fail("makes collectives of its own", "take strategy: traced, or calls: predicted");
  }
  if (!scenario.traced->has_gradients) {
    field.fail("fills buckets with gradients, and the trace does not tell them",
               "take strategy: traced");
  }
  if (scenario.traced->other_calls > 0) {
    field.fail(fmt::format("reduces gradients only, and the trace has {} other collectives",
                           scenario.traced->other_calls),
               "take strategy: traced");
  }
}

void check_traced_training(Section& training) {
  const auto refuse = [](const Field& field) {
    field.fail("is as the trace has it", "take strategy: ddp, or leave it out");
  };
  for (const char* key : {"gradient_accumulation", "input_time", "collectives_in_flight"}) {
    if (const auto field = training.field(key)) refuse(*field);
  }
  if (const auto time = training.map().map("optimizer").find("time")) refuse(*time);
}

void check_traced_ranks(const Section& workload, const Scenario& scenario) {
  if (!scenario.traced || !scenario.traced->calls_as_traced) return;
  const std::uint32_t ranks = scenario.cluster.ranks().value();
  if (ranks == scenario.traced->ranks) return;
  throw InputError(workload.location(),
                   fmt::format("calls as traced are of {} ranks, and the cluster has {}",
                               scenario.traced->ranks, ranks),
                   "leave out calls: as_traced");
}

void scale_compute(training::StepProgram& program, double factor) {
  for (training::Operation& operation : program.operations) {
    if (auto* time = std::get_if<Seconds>(&operation.work)) *time = *time * factor;
  }
}

}  // namespace paceline::loader
