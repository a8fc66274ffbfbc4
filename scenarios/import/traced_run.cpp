#include "scenarios/import/traced_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "models/assumption.h"
#include "models/shipped_file.h"
#include "models/units/parse.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/errors.h"
#include "traces/archive/input.h"
#include "traces/learn/seen_steps.h"
#include "traces/learn/traced_step.h"
#include "traces/text/format_error.h"

namespace paceline {
namespace {

GradientsOfNetwork shipped(std::string_view network) {
  const auto document = loader::parse_document("the shipped networks", network);
  return gradients_of(*loader::load_network({document, document->root, "network"}, {}));
}

using Operations = std::vector<training::Operation>;

bool are_unknown(const Operations& operations) {
  return std::ranges::all_of(operations, [](const training::Operation& operation) {
    return std::ranges::all_of(operation.gradients,
                               [](ElementCount count) { return count == ElementCount(0); });
  });
}

bool fill_the_buckets(const std::vector<ElementCount>& counts, const Operations& operations) {
  std::size_t next = 0, buckets = 0;
  ElementCount sum;
  for (const auto& operation : operations) {
    for (std::size_t i = 0; i < operation.gradients.size(); ++i) sum += counts[next++];
    const auto* call = call_of(operation);
    if (call == nullptr || call->collective != collectives::Collective::all_reduce) continue;
    if (sum == ElementCount(0)) continue;
    if (call->is_untold || call->count != sum) return false;
    sum = ElementCount(0);
    ++buckets;
  }
  return buckets > 0 && sum == ElementCount(0);
}

}  // namespace

GradientsOfNetwork gradients_of(const workload::Network& network) {
  GradientsOfNetwork made{network.name, {}};
  for (const auto& tensor : workload::parameters(network)) made.counts.push_back(tensor.count);
  std::ranges::reverse(made.counts);
  return made;
}

std::size_t gradients_in(const StepTrace& trace) {
  std::size_t gradients = 0;
  for (const auto& operation : trace.program.operations) gradients += operation.gradients.size();
  return gradients;
}

void fill_gradients(const GradientsOfNetwork& network, StepTrace& trace) {
  auto next = network.counts.begin();
  for (auto& operation : trace.program.operations) {
    for (ElementCount& gradient : operation.gradients) gradient = *next++;
  }
}

std::optional<std::string> fill_gradients(StepTrace& trace) {
  const auto& operations = trace.program.operations;
  const std::size_t gradients = gradients_in(trace);
  if (gradients == 0 || !are_unknown(operations)) return std::nullopt;
  for (const ShippedFile& file : shipped_networks()) {
    const GradientsOfNetwork network = shipped(file.name);
    const auto& counts = network.counts;
    if (counts.size() != gradients || !fill_the_buckets(counts, operations)) continue;
    fill_gradients(network, trace);
    return std::string(file.name);
  }
  return std::nullopt;
}

std::vector<std::string> networks_with_gradients(std::size_t tensors, Bytes bytes) {
  constexpr std::uint64_t element_bytes = 4;
  std::vector<std::string> names;
  for (const ShippedFile& file : shipped_networks()) {
    const GradientsOfNetwork network = shipped(file.name);
    ElementCount sum;
    for (const ElementCount count : network.counts) sum += count;
    const bool has_as_many = network.counts.size() == tensors;
    if (has_as_many && Bytes(sum.value() * element_bytes) == bytes) names.emplace_back(file.name);
  }
  return names;
}

namespace {

constexpr AssumptionKind network_of_buckets{
    "{}: taken from {}, whose tensors fill the trace's buckets exactly"};
constexpr AssumptionKind other_cap{
    "{}: the traced run used a cap of {}; ddp uses the one under training"};
constexpr AssumptionKind skipped_events{"{}: {} of {} from rank {} are broken and ignored"};
constexpr AssumptionKind untraced_ranks{
    "{}: {} of {} are traced; waiting for the others counts as transfer"};
constexpr AssumptionKind world_of_groups{
    "{}: {}, the size of the largest group in a collective; the trace does not say how many "
    "the run used"};
constexpr AssumptionKind only_forward{
    "{}: forward only, without backward, gradients or optimizer: this is inference, not a "
    "training step"};
constexpr AssumptionKind noted{"{}: {}"};

std::string name_of(const Import& import, const traces::TracedStep& step, const std::string& path) {
  const std::string& device = import.traces.front().device;
  const std::string ranks = ranks_in_words(import);
  return fmt::format("{}, {}{}{}", std::filesystem::path(path).filename().string(), step.name,
                     device.empty() ? "" : " on " + device, ranks.empty() ? "" : ", " + ranks);
}

void say_what_is_missing(const Import& import, Assumptions& assumptions) {
  for (const traces::DeviceTrace& trace : import.traces) {
    if (trace.skipped == 0) continue;
    assumptions.add(
        {skipped_events,
         "events",
         {std::to_string(trace.skipped), std::to_string(trace.events), rank_number(trace)}});
  }
  for (const auto& [file, text] : import.notes) assumptions.add({noted, file, {text}});
}

void take_world(const Import& import, TracedRun& made, Assumptions& assumptions) {
  const traces::DeviceTrace& first = import.traces.front();
  const std::uint32_t world = traces::world_of(import.traces);
  if (first.devices > 1) made.run.gpus_per_node = first.devices;
  if (world <= import.traces.size()) return;
  made.run.world_size = world;
  const bool is_told = std::ranges::any_of(
      import.traces, [](const traces::DeviceTrace& trace) { return trace.world_size > 0; });
  const std::string ranks = std::to_string(world);
  if (!is_told) assumptions.add({world_of_groups, "ranks", {ranks}});
  assumptions.add({untraced_ranks, "ranks", {std::to_string(import.traces.size()), ranks}});
}

// What was only inferred, and never a training step.
void refuse_inference(const Import& import, const StepTrace& trace, const std::string& path,
                      Assumptions& assumptions) {
  if (!std::ranges::all_of(import.traces, traces::is_forward_only)) return;
  if (!calls_in(trace.program).empty()) return assumptions.add({only_forward, "step"});
  throw InputError(
      {path},
      "contains forward passes only (no backward, gradients or optimizer), so no training step",
      "profile steps of training");
}

void refuse_no_time(Seconds step, const std::string& path) {
  constexpr Seconds least{1e-9};  // what profilers count in
  if (step < least) throw InputError({path}, "contains a step that takes no time", "");
}

// Where the run tells no gradients, it keeps none.
void name_gradients(const GradientsOfNetwork& network, const std::string& path, StepTrace& trace) {
  const std::size_t gradients = gradients_in(trace);
  if (gradients == 0) return;
  if (gradients != network.counts.size()) {
    throw InputError({path},
                     fmt::format("has {} gradients, and {} has {} tensors", gradients, network.name,
                                 network.counts.size()),
                     "name the network that was trained");
  }
  fill_gradients(network, trace);
}

// Figures may be wrong where parts of traces are lost, so this is said whatever a report shows.
void warn_of_damage(const Import& import) {
  for (std::size_t i = 0; i < import.traces.size(); ++i) {
    const traces::DeviceTrace& trace = import.traces[i];
    if (trace.skipped == 0) continue;
    warn({import.files[i]},
         fmt::format("{} of {} events are broken and ignored", trace.skipped, trace.events), "");
  }
  for (const auto& [file, text] : import.notes) warn({file}, text, "");
}

}  // namespace

std::string rank_number(const traces::DeviceTrace& trace) {
  return trace.rank ? std::to_string(trace.rank->value()) : "-";
}

std::string ranks_in_words(const Import& import) {
  const std::size_t traced = import.traces.size();
  const std::uint32_t world = traces::world_of(import.traces);
  if (world <= traced) return "";
  const auto& rank = import.traces.front().rank;
  if (traced > 1) return fmt::format("{} of {} ranks", traced, world);
  return rank ? fmt::format("rank {} of {} alone", rank->value(), world)
              : fmt::format("one rank of {} alone", world);
}

TracedRun profiled_run(const Import& import, const std::string& path,
                       const GradientsOfNetwork* network) {
  try {
    traces::TracedStep step = traced_step(import.traces, import.steps, import.matched);
    if (network != nullptr) {
      name_gradients(*network, path, step.trace);
    } else if (const auto known = fill_gradients(step.trace)) {
      step.assumptions.add({network_of_buckets, "gradients", {*known}});
    }
    share_among_gradients(step);
    TracedRun made;
    made.run = {name_of(import, step, path), traces::Origin::imported, std::move(step.trace),
                std::nullopt};
    if (const auto batch = import.traces.front().batch; batch > 0) made.run.batch_per_gpu = batch;
    if (const auto cap = import.traces.front().bucket_cap) {
      step.assumptions.add({other_cap, "buckets", {to_text(*cap)}});
    }
    take_world(import, made, step.assumptions);
    say_what_is_missing(import, step.assumptions);
    refuse_inference(import, made.run.trace, path, step.assumptions);
    made.run.device = import.traces.front().device;
    const auto seen = traces::seen_steps(import.traces, import.steps, import.matched);
    if (seen.lengths.size() > 1) made.run.step_lengths = seen.lengths;
    made.run.assumptions = step.assumptions.sentences();
    made.step = totals_of(made.run.trace).step;
    const auto& steps = import.steps.front();
    const auto profile = std::ranges::find(steps, step.name, &traces::StepProfile::name);
    if (profile != steps.end()) made.exposed_on_device = profile->exposed;
    refuse_no_time(made.step, path);
    return made;
  } catch (const traces::FormatError& error) {
    throw InputError({path}, error.what(), error.hint());
  }
}

TracedRun traced_run(const Import& import, const std::string& path,
                     const GradientsOfNetwork* network) {
  if (!import.refused.empty()) {  // it may be of a rank of the run
    throw InputError({import.refused.front().file}, import.refused.front().why,
                     "or leave it out of " + path);
  }
  const std::size_t runs = import.runs.size() + (import.traces.empty() ? 0 : 1);
  if (runs != 1) {
    throw InputError({path}, fmt::format("has {} runs", runs),
                     "give one: files of one rank each, or what import -o wrote");
  }
  if (!import.traces.empty()) return profiled_run(import, path, network);
  TracedRun made;
  made.run = import.runs.front();
  if (network != nullptr) name_gradients(*network, path, made.run.trace);
  made.step = totals_of(made.run.trace).step;
  refuse_no_time(made.step, path);
  return made;
}

std::vector<traces::TraceRun> runs_of(const Import& import, const std::string& path) {
  auto runs = import.runs;
  if (!import.traces.empty()) runs.push_back(profiled_run(import, path).run);
  return runs;
}

std::vector<traces::TraceRun> import_runs(const std::vector<std::string>& paths) {
  const Import import = import_traces(paths);
  if (!import.refused.empty()) {
    throw InputError({import.refused.front().file}, import.refused.front().why, "");
  }
  if (!import.logs.empty()) {
    throw InputError({import.logs.front().file}, "is a log of collectives, not of a run",
                     "give a trace, or what --trace or import -o wrote");
  }
  if (import.runs.empty() && import.traces.empty()) {
    throw InputError({traces::name_of_input(paths.front())}, "has no runs",
                     "give a trace, or what --trace or import -o wrote");
  }
  return runs_of(import, traces::name_of_input(paths.front()));
}

std::shared_ptr<const TracedRun> read_traced_run(const std::vector<std::string>& paths,
                                                 const GradientsOfNetwork* network) {
  // A sweep asks for the same files at every point.
  using Key = std::pair<std::vector<std::string>, std::string>;
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<const TracedRun>> cache;
  const std::lock_guard lock(mutex);
  auto& run = cache[{paths, network == nullptr ? "" : network->name}];
  if (!run) {
    const std::string name = traces::name_of_input(paths.front());
    const Import import = import_traces(paths);
    warn_of_damage(import);
    run = std::make_shared<TracedRun>(traced_run(import, name, network));
  }
  return run;
}

}  // namespace paceline
