#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/assumption.h"
#include "models/settings/settings.h"
#include "models/topology/cluster.h"
#include "models/training/memory.h"
#include "models/training/scheduler.h"
#include "models/training/step_program.h"
#include "models/workload/checkpoints.h"
#include "models/workload/workload.h"

namespace paceline::training {

struct TracedWork;

// What launching takes of a host's thread, beside which the GPU runs what was launched before: a
// step is bound by the host where launches take longer than kernels, which else hide them. All 0:
// the host is never late, and programs have no lane for it.
//   - The thread launches in the program's order: each operation of the model, a layer's forward or
//     its backward, and the optimizer as one; then, where a wrapper has hooks, what they do for the
//     layer's gradients, copies and casts among it, which cost nothing else; and each call.
//   - A step begins with nothing launched, as where each reads its loss; the input holds the
//   thread.
//   - Calls that threads of their own make (`horovod`, `parameter_server`) cost those per_call.
struct HostCosts {
  Seconds per_operation, per_gradient, per_call;  // not below 0
  // Ranks compute on the host itself, CPUs: launches and compute take turns on one lane.
  bool computes = false;

  [[nodiscard]] bool any() const {
    return std::max({per_operation, per_gradient, per_call}) > Seconds(0);
  }
};

// Settings of every strategy.
struct CommonSettings {
  std::uint32_t gradient_accumulation = 1;  // forward and backward passes a step
  std::uint32_t collectives_in_flight = 1;  // NCCL 1, PyTorch's Gloo 2
  // What gradients are cast to around their reduction (PyTorch's compression hooks, native mixed
  // precision); buckets are still assigned by the parameters' bytes. nullopt: they travel as they
  // are.
  std::optional<workload::DataType> wire_type;
  workload::Checkpoints checkpoints = {};  // the workload's backward has their recomputation
  // As calls of Gloo and MPI return when they are done; NCCL's are only launched.
  bool calls_hold_host = false;
  HostCosts host = {};
};

// What elements of a parameter's type travel in. Casts are for floats.
[[nodiscard]] workload::DataType type_on_wire(const CommonSettings& common,
                                              workload::DataType type);

// The keys that every strategy takes beside its own. CommonSettings has the passes, the calls in
// flight and the host's costs; the others are in other parts of the scenario.
[[nodiscard]] std::span<const settings::Key> common_keys();

// A step as it was predicted before: what a strategy decides by that decides at run time.
struct EarlierStep {
  const StepProgram& program;
  std::vector<std::span<const Interval>> ranks;  // one of each class of ranks: by operation
};

// What a step is built for. Where decisions are made at run time, a program to predict has them
// made, by times that are forecast; one to run leaves them to the engine that it names.
enum class Purpose { prediction, measurement };

// What a step is built from. All outlive the building.
struct StrategyRequest {
  const workload::Workload& workload;
  const topology::Cluster& cluster;    // of the job
  const settings::Settings& settings;  // of the strategy's keys
  const CommonSettings& common;
  const TracedWork* traced = nullptr;  // where the workload is a trace
  Purpose purpose = Purpose::prediction;
  const EarlierStep* earlier = nullptr;  // of the same point; null: none was predicted yet
};

struct BuiltStep {
  StepProgram program;  // the algorithms of its calls are left unnamed
  Assumptions assumptions;
};

// Why a strategy refuses a step: `what` completes a sentence after the strategy's name, `hint` says
// what to write instead.
struct Refusal {
  std::string what, hint;
};

// Values of a key that `advise` compares with those of a scenario.
struct TriedKey {
  std::string_view key;
  std::array<std::string_view, 8> values;  // empty ones behind the last
};

// Of strategies whose steps were compared with hand-derived ones only.
inline constexpr AssumptionKind unmeasured_strategy{
    "{}: never compared with a measured step; its 90 % interval is widened for that"};

// How gradients are reduced: a file pair and a row of the registry. All that readers of scenarios,
// lists, `advise` and intervals know of a strategy is here.
struct Strategy {
  std::string_view name;
  std::string_view summary;
  std::span<const settings::Key> keys;  // no other strategy has one of these names
  // Precondition: more than one rank, unless it replays a trace; not refused.
  BuiltStep (*build)(const StrategyRequest&);
  std::optional<Refusal> (*refuse)(const StrategyRequest&) = nullptr;  // null: nothing is refused
  // Precondition: as for build, without a trace.
  ModelMemory (*memory)(const StrategyRequest&) = model_and_wire_copies;
  // Which calls it makes, and when, depends on when gradients are ready: a step is built again from
  // its prediction, until that changes nothing.
  bool decides_at_run_time = false;
  // Its step is what a trace did: on one rank too, each rank with the compute that it had, and with
  // passes, input and optimizer as they were.
  bool replays_trace = false;
  // Its steps were compared with measured ones; else its intervals are wider.
  bool is_measured = false;
  std::span<const TriedKey> tries = {};  // how it joins gradients, above all
};

[[nodiscard]] std::span<const Strategy* const> strategies();
[[nodiscard]] const Strategy* find_strategy(std::string_view name);

// Whether two programs do the same: like operations, with calls of the same sizes, whatever their
// algorithms, and times that differ by less than `tolerance`.
[[nodiscard]] bool are_alike(const StepProgram& a, const StepProgram& b, Seconds tolerance);

// The step of one rank without a wrapper: no communication.
[[nodiscard]] StepProgram plain_step(const StrategyRequest& request);
// How long that takes on one GPU.
[[nodiscard]] Seconds plain_step_time(const StrategyRequest& request);
// Shortens the forward and backward of a strategy's step by its copies that GPUs make beside them
// on one lane, nine tenths at most: where the plain step was measured with one rank of the
// strategy, its copies are in it.
void take_out_copies(StepProgram& program);

// Of the strategy, or plain on one rank. Precondition: not refused.
[[nodiscard]] BuiltStep build_step(const Strategy& strategy, const StrategyRequest& request);

// All parameter tensors in registration order.
[[nodiscard]] std::vector<workload::ParameterTensor> gradient_tensors(
    const workload::Workload& workload);

// Of the key activation_checkpointing.
enum class ActivationCheckpointing { none, blocks };
constexpr auto words_of(ActivationCheckpointing) {
  return words_up_to<ActivationCheckpointing::blocks>("none", "blocks");
}

}  // namespace paceline::training
