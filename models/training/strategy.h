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

// The time that a host's thread takes to launch work, while the GPU runs what was launched before:
// the host limits a step where launches take longer than kernels, which otherwise hide them. All 0:
// the host is never late, and programs have no lane for it.
//   - The thread launches in the program's order: each operation of the model (a layer's forward,
//     its backward, the optimizer), then the hooks of a wrapper for the layer's gradients, with
//     their copies and casts, and each call. What a strategy divides among ranks is bytes and
//     flops, never launches.
//   - A step begins with nothing launched, as if each read its loss; the input blocks the thread.
//   - Calls by other threads (`horovod`, `parameter_server`) cost those threads per_call.
struct HostCosts {
  workload::Launches launches;
  Seconds per_gradient, per_call;  // not below 0
  Seconds per_unit = {};           // in the hooks of a sharded module's forward

  // Launches of these layers, with their share of the hooks of all.
  [[nodiscard]] workload::Launches with_hooks(std::span<const workload::TimedLayer> layers) const;

  [[nodiscard]] bool any() const {
    return launches.any() || std::max({per_gradient, per_call, per_unit}) > Seconds(0);
  }
};

// The host's time for a strategy's hooks and calls, where its launches are modelled and no key of
// training.host gives that time. The defaults are DDP's: its backward took 10 to 25 us a gradient
// and 40 us a bucket beside an H100 (tests/gpu/RESULTS.md).
struct HookTimes {
  Seconds per_gradient{17e-6}, per_call{40e-6}, per_unit{0};
  bool is_measured = false;  // of this strategy; else judged
};

// Settings that every strategy has.
struct CommonSettings {
  std::uint32_t gradient_accumulation = 1;  // forward and backward passes a step
  std::uint32_t collectives_in_flight = 1;  // NCCL 1, PyTorch's Gloo 2
  // The type that gradients are cast to for their reduction (PyTorch's compression hooks, native
  // mixed precision); buckets are still assigned by the parameters' bytes. nullopt: no cast.
  std::optional<workload::DataType> wire_type;
  workload::Checkpoints checkpoints = {};  // the workload's backward has their recomputation
  // Calls of Gloo and MPI return when they are done; NCCL's are only launched.
  bool calls_hold_host = false;
  HostCosts host = {};
};

// For strategies that reduce in every pass, and so make all passes themselves.
[[nodiscard]] inline CommonSettings with_one_pass(CommonSettings common) {
  common.gradient_accumulation = 1;
  return common;
}

// The type in which elements of a parameter's type travel: floats are cast to wire_type.
[[nodiscard]] workload::DataType type_on_wire(const CommonSettings& common,
                                              workload::DataType type);

// The keys that every strategy takes beside its own. CommonSettings holds passes, calls in flight
// and host costs; the loader puts the others in other parts of the scenario.
[[nodiscard]] std::span<const settings::Key> common_keys();

// An earlier prediction of the step, for strategies that decide at run time.
struct EarlierStep {
  const StepProgram& program;
  std::vector<std::span<const Interval>> ranks;  // one of each class of ranks: by operation
};

// What a step is built for. Decisions of run time are made from forecast times in a program to
// predict, and left to the engine that a program to run names.
enum class Purpose { prediction, measurement };

// Everything a step is built from; all of it outlives the building.
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

// Why a strategy refuses a step: `what` follows its name, `hint` says what to write instead.
struct Refusal {
  std::string what, hint;
};

// Values of a key that `advise` compares with those of a scenario.
struct TriedKey {
  std::string_view key;
  std::array<std::string_view, 8> values;  // empty ones behind the last
  // With all values of others, where the scenario has this strategy; else each by itself, also
  // where the scenario has another one.
  bool is_combined = false;
};

// For strategies whose steps were only compared with steps derived by hand.
inline constexpr AssumptionKind unmeasured_strategy{
    "{}: never compared with a measured step; its 90 % interval is widened for that"};

// Servers on hosts have a transport of their own, with a connection a pair (ps-lite).
enum class Servers {
  none,
  of_nodes,  // what a node's GPUs push they reduce before, so that a single node needs no server
  of_gpus,
};
struct ServerLinks {
  Servers servers = Servers::none;
  std::uint32_t connections = 1;  // of a host to servers, or of a server, whichever has more
};

// How gradients are reduced: a file pair and a row of the registry. All that readers of scenarios,
// lists, `advise` and intervals know of a strategy is here.
struct Strategy {
  std::string_view name;
  std::string_view summary;
  // The software that has it, whose users have its other strategies, too. Empty: none, it is an
  // algorithm from a paper.
  std::string_view framework = {};
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
  // It moves data by CUDA's copies, which take no lanes over a GPU between two.
  bool copies = false;
  ServerLinks (*servers)(const StrategyRequest&) = nullptr;  // null: none
  HookTimes hooks = {};
  std::span<const TriedKey> tries = {};  // how it joins gradients, above all
};

[[nodiscard]] std::span<const Strategy* const> strategies();
[[nodiscard]] const Strategy* find_strategy(std::string_view name);

// Whether two programs have the same operations, with calls of the same sizes, by any algorithm,
// and times that differ by less than `tolerance`.
[[nodiscard]] bool are_alike(const StepProgram& a, const StepProgram& b, Seconds tolerance);

// The step of one rank without a wrapper, and so without communication.
[[nodiscard]] StepProgram plain_step(const StrategyRequest& request);
// How long that takes on one GPU.
[[nodiscard]] Seconds plain_step_time(const StrategyRequest& request);
// Shortens the forward and backward of a strategy's step by its copies on the same lane, by nine
// tenths at most: a plain step that was measured with one rank of the strategy includes them.
void take_out_copies(StepProgram& program);

// Builds the strategy's step, or the plain one on one rank. Precondition: not refused.
[[nodiscard]] BuiltStep build_step(const Strategy& strategy, const StrategyRequest& request);

// All parameter tensors in registration order.
[[nodiscard]] std::vector<workload::ParameterTensor> gradient_tensors(
    const workload::Workload& workload);

// Values of the key activation_checkpointing.
enum class ActivationCheckpointing { none, blocks, attention };
constexpr auto words_of(ActivationCheckpointing) {
  return words_up_to<ActivationCheckpointing::attention>("none", "blocks", "attention");
}

// Adds a strategy from outside the tree, after those of the tree. Call it at the start of main(),
// before anything looks a strategy up and before the second thread. The row and its texts must
// outlive the program.
// Preconditions: so; no other strategy has the row's name or one of its keys; it has its functions.
void add_strategy(const Strategy& row);

}  // namespace paceline::training
