#include "models/training/strategy.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "models/registered_rows.h"
#include "models/training/step_builder.h"
#include "models/training/strategies.h"

namespace paceline::training {
namespace {

using settings::Key;
using settings::Value;
using workload::OptimizerKind;

constexpr std::array rows_of_the_tree{
    &ddp_strategy,
    &apex_ddp_strategy,
    &horovod_strategy,
    &fsdp_strategy,
    &deepspeed_zero_strategy,
    &data_parallel_strategy,
    &parameter_server_strategy,
    &bulk_synchronous_strategy,
    &merged_gradient_strategy,
    &wait_free_strategy,
    &traced_strategy,
};

RegisteredRows<const Strategy*>& registered_strategies() {
  static RegisteredRows<const Strategy*> rows(rows_of_the_tree);
  return rows;
}

constexpr Value one{std::uint64_t{1}};

constexpr settings::Needs of_checkpoints{"activation_checkpointing",
                                         {"blocks"},
                                         "means nothing without activation_checkpointing: blocks",
                                         "write activation_checkpointing: blocks, or leave it out"};

constexpr std::array keys_of_all{
    Key{"gradient_accumulation", settings::Count{1, 1'000'000}, one, "passes a step"},
    Key{"collectives_in_flight", settings::Count{1, 1024}, "by library",
        "of one group of ranks at a time: NCCL and MPI 1, Gloo 2"},
    Key{"activation_checkpointing", settings::OneOf{settings::texts_of<ActivationCheckpointing>},
        settings::value_of(ActivationCheckpointing::none),
        "blocks: of the network's blocks only the inputs are kept, and their forward is run again "
        "in the backward, which single_gpu_throughput then is measured with. Blocks are what a "
        "network's file repeats; of `layers` each is one. attention: of each attention Q, K and V "
        "are kept, and its products and softmax are run again"},
    Key{"blocks_per_checkpoint", settings::Count{1, 100'000}, one,
        "blocks of which one input is kept", "", of_checkpoints},
    Key{"checkpoint_every", settings::Count{1, 100'000}, one,
        "2: every second block (or so many blocks as one input is kept of) is recomputed, and the "
        "others keep all",
        "", of_checkpoints},
    Key{"input_time", settings::Time{}, Value(Seconds(0)), "per step, not overlapped"},
    Key{"optimizer.kind", settings::OneOf{settings::texts_of<OptimizerKind>},
        settings::value_of(OptimizerKind::sgd_momentum),
        "its time is that of what it reads and writes. adam8bit: that of bitsandbytes, with states "
        "of one byte"},
    Key{"optimizer.fp32_master", settings::Flag{}, Value(false),
        "16-bit parameters have fp32 copies, and states of fp32 (apex O2); else states are of "
        "their type"},
    Key{"optimizer.fused", settings::Flag{}, Value(false),
        "one kernel for all of its operations, which reads and writes each number once (PyTorch's "
        "fused=True, apex's FusedAdam)"},
    Key{"optimizer.ema", settings::Flag{}, Value(false),
        "it also keeps a moving average of the parameters in fp32, which is sharded as its states "
        "are"},
    Key{"optimizer.time", settings::Time{}, settings::automatic,
        "in place of the modelled one; a trace has its own unless it is given"},
    Key{"host.per_operation", settings::Time{}, settings::automatic,
        "CPU time to launch a layer's forward, its backward, or the optimizer; of a model's layers "
        "else what launches take on average. single_gpu_throughput includes what was exposed on "
        "one GPU"},
    Key{"host.per_gradient", settings::Time{}, settings::automatic,
        "and in a wrapper's hook, a parameter tensor: ddp, apex_ddp, horovod, fsdp (a flat one a "
        "unit), parameter_server, merged_gradient, wait_free, deepspeed_zero; where launches are "
        "modelled else 17us, fsdp 1.2ms, deepspeed_zero 200us"},
    Key{"host.per_call", settings::Time{}, settings::automatic,
        "and to launch a collective call; where launches are modelled else 40us"},
    Key{"host.computes", settings::Flag{}, "with nccl false; else true: calls hold the host",
        "ranks compute on the host itself, as CPUs: launches and compute take turns; false: GPUs "
        "do, beside it"},
};

}  // namespace

workload::DataType type_on_wire(const CommonSettings& common, workload::DataType type) {
  if (type == workload::DataType::int64) return type;
  return common.wire_type.value_or(type);
}

std::span<const Key> common_keys() { return keys_of_all; }

std::span<const Strategy* const> strategies() { return registered_strategies().all(); }

void add_strategy(const Strategy& row) {
  PACELINE_EXPECTS(!row.name.empty() && row.build != nullptr && row.memory != nullptr);
  registered_strategies().add(&row, [](const Strategy* a, const Strategy* b) {
    return a->name == b->name || std::ranges::any_of(a->keys, [&](const Key& key) {
             return std::ranges::find(b->keys, key.name, &Key::name) != b->keys.end();
           });
  });
}

const Strategy* find_strategy(std::string_view name) {
  const auto rows = strategies();
  const auto found = std::ranges::find(rows, name, [](const Strategy* row) { return row->name; });
  return found == rows.end() ? nullptr : *found;
}

bool are_alike(const StepProgram& a, const StepProgram& b, Seconds tolerance) {
  return std::ranges::equal(a.operations, b.operations, [&](const auto& x, const auto& y) {
    if (x.kind != y.kind || x.lane != y.lane || x.after != y.after) return false;
    const CollectiveCall *call = call_of(x), *other = call_of(y);
    if (call == nullptr && other == nullptr) {
      const double apart = (std::get<Seconds>(x.work) - std::get<Seconds>(y.work)).value();
      return std::abs(apart) < tolerance.value();
    }
    return call != nullptr && other != nullptr &&
           std::tie(call->collective, call->count, call->element_size, call->group) ==
               std::tie(other->collective, other->count, other->element_size, other->group);
  });
}

StepProgram plain_step(const StrategyRequest& request) {
  StepBuilder step(request);
  step.forward({});
  step.backward();
  return step.finish({});
}

workload::Launches HostCosts::with_hooks(std::span<const workload::TimedLayer> layers) const {
  double gradients = 0, launched = 1;
  std::set<workload::Block> units;
  for (const workload::TimedLayer& layer : layers) {
    gradients += static_cast<double>(layer.parameters.size());
    if (layer.has_kernels) ++launched;
    units.insert(layer.block);
  }
  // A sharded module has one flat parameter.
  if (per_unit > Seconds(0)) gradients = static_cast<double>(units.size());
  workload::Launches all = launches;
  all.forward += per_unit * (gradients / launched);
  all.backward += per_gradient * (gradients / launched);
  return all;
}

Seconds plain_step_time(const StrategyRequest& request) {
  const std::uint32_t passes = request.common.gradient_accumulation;
  return request.workload.one_gpu_step(passes, request.common.host.launches);
}

void take_out_copies(StepProgram& program) {
  constexpr double least = 0.1;
  std::map<LaneId, Seconds> compute, copies;
  const auto is_compute = [](const Operation& operation) {
    return operation.kind == OperationKind::forward || operation.kind == OperationKind::backward;
  };
  for (const Operation& operation : program.operations) {
    const auto* time = std::get_if<Seconds>(&operation.work);
    if (time == nullptr) continue;
    if (is_compute(operation)) compute[operation.lane] += *time;
    if (operation.kind == OperationKind::copy) copies[operation.lane] += *time;
  }
  for (Operation& operation : program.operations) {
    auto* time = std::get_if<Seconds>(&operation.work);
    if (time == nullptr || !is_compute(operation) || *time == Seconds(0)) continue;
    *time = *time * std::max(least, 1 - copies[operation.lane] / compute[operation.lane]);
  }
}

BuiltStep build_step(const Strategy& strategy, const StrategyRequest& request) {
  const bool is_alone = request.cluster.ranks() == RankCount(1);
  const bool is_plain = is_alone && !strategy.replays_trace;
  BuiltStep built = is_plain ? BuiltStep{plain_step(request), {}} : strategy.build(request);
  if (!is_plain && !strategy.is_measured) {
    built.assumptions.add({unmeasured_strategy, std::string(strategy.name)});
  }
  return built;
}

std::vector<workload::ParameterTensor> gradient_tensors(const workload::Workload& workload) {
  std::vector<workload::ParameterTensor> tensors;
  for (const workload::TimedLayer& layer : workload.layers) {
    tensors.insert(tensors.end(), layer.parameters.begin(), layer.parameters.end());
  }
  return tensors;
}

}  // namespace paceline::training
