#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/training/call_plan.h"
#include "models/training/host_offload.h"
#include "models/training/step_builder.h"
#include "models/training/strategies.h"

// PyTorch's FullyShardedDataParallel (ZeRO, stage 3): every rank keeps 1/n of each unit's
// parameters, gradients and optimizer states. torch/distributed/fsdp/_runtime_utils.py,
// _limiter_utils.py and wrap.py (2023); Zhao et al., PyTorch FSDP, VLDB 2023 (arXiv 2304.11277).
// - A unit is a layer with parameters and the layers without that follow it; with min_num_params it
//   is consecutive layers until they have that many (size_based_auto_wrap_policy, for a model
//   without nested modules). Its parameters of one type are one flat array, padded.
// - Before a unit's forward its array is all-gathered. With reshard_after_forward (FULL_SHARD, else
//   SHARD_GRAD_OP) it is freed afterwards and gathered again before the unit's backward, except
//   the root's, which is kept (_post_forward_reshard). The first unit stands for the root.
// - With limit_all_gathers the host issues an all-gather when fewer than two frees are pending, and
//   else waits for the oldest (_FreeEventQueue): in the forward that is the forward two units back.
// - Backward prefetch: the next unit's all-gather is issued before this one's backward (pre), after
//   it and before its reduce-scatter (post), or in its own turn (none). The documentation of
//   BackwardPrefetch says that with post it starts after this backward.
// - All calls are on the one communication stream of their process group, in the order in which the
//   host issues them: a call waits for those before it. The host is never late.
// - With wrap: blocks a unit is a block, or all layers before, between or behind blocks; the policy
//   for transformers leaves those to the root, here they are units of their own.
// - With forward_prefetch the next unit's all-gather is issued before this one's forward.
// - After its backward a unit's gradients are divided, with another type on the wire cast, and
//   reduce-scattered; each rank's shard is divided again (_get_gradient_predivide_factor), cast
//   back and added to those of earlier passes. These kernels are on the compute lane.
// - Every pass gathers and reduces. With unsharded_accumulation all but the last are in no_sync:
//   gradients stay whole and add up, parameters that are not freed after a forward stay gathered
//   until the next pass (_should_free_in_backward), and the last pass reduces.
// - The optimizer takes 1/n of its time.
// - sharding: hybrid (HYBRID_SHARD): n is the ranks of a node, which gather and reduce-scatter
//   units; then ranks of all nodes that have the same shard all-reduce it, on a stream of its own
//   (_reduce_grad). Without reshard_after_forward that is _HYBRID_SHARD_ZERO2.
// - With cpu_offload (CPUOffload(offload_params=True)) a unit's shard is copied from the host
//   before each of its all-gathers, on their stream, and its reduced gradients to the host; CPUs
//   optimize shards when the last copy is there (pre_unshard and _offload_grad, _flat_param.py).
// - Checkpointed blocks are recomputed within a unit, which by then is gathered for its backward.
namespace paceline::training {
namespace {

constexpr AssumptionKind first_is_root{
    "{}: {} units; the first stands for the root unit, whose parameters stay gathered until "
    "its backward"};
constexpr AssumptionKind prompt_host{
    "{}: the host is assumed never to be late when it issues calls and kernels"};

using collectives::Collective;
using workload::TimedLayer;

enum class Sharding { full, hybrid };

constexpr auto words_of(Sharding) { return words_up_to<Sharding::hybrid>("full", "hybrid"); }

enum class Wrap { layers, blocks };

constexpr auto words_of(Wrap) { return words_up_to<Wrap::blocks>("layers", "blocks"); }

enum class BackwardPrefetch { pre, post, none };

constexpr auto words_of(BackwardPrefetch) {
  return words_up_to<BackwardPrefetch::none>("pre", "post", "none");
}

// A unit's parameters of one type.
struct FlatParameter {
  workload::DataType type;
  ElementCount count;          // that are trained
  ElementCount frozen = {};    // beside them
  ElementCount padded = {};    // what is trained, to a multiple of the ranks
  ElementCount gathered = {};  // all, likewise
};

struct Unit {
  std::string name;
  Seconds forward, backward;
  std::vector<FlatParameter> parameters;
  std::span<const TimedLayer> layers;
  std::optional<std::vector<OperationId>> gathered = {};  // by these; nullopt: sharded
};

ElementCount parameters_of(const TimedLayer& layer) {
  ElementCount count;
  for (const auto& tensor : layer.parameters) count += tensor.count;
  for (const auto& tensor : layer.frozen) count += tensor.count;
  return count;
}

// Where units begin. What is left behind the last full one joins it.
std::vector<std::size_t> unit_begins(std::span<const TimedLayer> layers, ElementCount minimum) {
  std::vector<std::size_t> begins{0};
  ElementCount open;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ElementCount count = parameters_of(layers[i]);
    if (count > ElementCount(0) && open > ElementCount(0) && open >= minimum) {
      begins.push_back(i);
      open = ElementCount(0);
    }
    open += count;
  }
  if (begins.size() > 1 && open < minimum) begins.pop_back();
  return begins;
}

// Where units of whole blocks begin: each block, and what is before, between and behind them.
std::vector<std::size_t> block_begins(std::span<const TimedLayer> layers) {
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (layers[i].block != layers[i - 1].block) begins.push_back(i);
  }
  return begins;
}

// The last one is the end of the layers.
std::vector<std::size_t> unit_borders(const StrategyRequest& request) {
  const std::span<const TimedLayer> layers = request.workload.layers;
  const ElementCount minimum(request.settings.get<std::uint64_t>("min_num_params"));
  const bool are_blocks = request.settings.get<Wrap>("wrap") == Wrap::blocks;
  auto borders = are_blocks ? block_begins(layers) : unit_begins(layers, minimum);
  borders.push_back(layers.size());
  return borders;
}

FlatParameter& flat_of(workload::DataType type, Unit& unit) {
  const auto same = std::ranges::find(unit.parameters, type, &FlatParameter::type);
  if (same != unit.parameters.end()) return *same;
  unit.parameters.push_back({type, {}});
  return unit.parameters.back();
}

Unit unit_of(std::span<const TimedLayer> layers, RankCount ranks) {
  Unit unit{layers.front().name, {}, {}, {}, layers};
  for (const TimedLayer& layer : layers) {
    unit.forward += layer.forward;
    unit.backward += layer.backward;
    for (const auto& tensor : layer.parameters) flat_of(tensor.type, unit).count += tensor.count;
    for (const auto& tensor : layer.frozen) flat_of(tensor.type, unit).frozen += tensor.count;
  }
  for (FlatParameter& flat : unit.parameters) {
    flat.padded = padded_to(flat.count, ranks.value());
    flat.gathered = padded_to(flat.count + flat.frozen, ranks.value());
  }
  return unit;
}

// The ranks that share one set of shards.
Group sharing(const StrategyRequest& request) {
  const bool is_hybrid = request.settings.get<Sharding>("sharding") == Sharding::hybrid;
  return is_hybrid ? Group::node : Group::all;
}

std::vector<Unit> units_of(const StrategyRequest& request) {
  const RankCount ranks = group_cluster(request.cluster, sharing(request)).ranks();
  const std::span<const TimedLayer> layers = request.workload.layers;
  const auto borders = unit_borders(request);
  std::vector<Unit> units;
  for (std::size_t u = 0; u + 1 < borders.size(); ++u) {
    units.push_back(unit_of(layers.subspan(borders[u], borders[u + 1] - borders[u]), ranks));
  }
  return units;
}

// _get_gradient_predivide_factor: about the square root of the ranks.
std::uint32_t predivide_factor(std::uint32_t ranks) {
  std::uint32_t factor = 1;
  while (ranks % factor == 0 && ranks / factor > factor) factor *= 2;
  return factor;
}

// _FreeEventQueue: the host issues no more all-gathers than two ahead of the frees.
class RateLimiter {
 public:
  explicit RateLimiter(bool is_on) : is_on_(is_on) {}

  void freed_by(OperationId compute) {
    if (is_on_) frees_.push_back(compute);
  }

  // As a unit is to be gathered, whether or not it is already.
  void pass() {
    constexpr std::size_t in_flight_max = 2;
    if (frees_.size() < in_flight_max) return;
    awaited_ = frees_.front();
    frees_.pop_front();
  }

  // What the host has waited for last: everything issued later starts after it.
  [[nodiscard]] std::optional<OperationId> awaited() const { return awaited_; }

 private:
  bool is_on_;
  std::deque<OperationId> frees_;
  std::optional<OperationId> awaited_;
};

// What a rank keeps of the model.
ModelMemory fsdp_shards(const StrategyRequest& request) {
  const std::uint64_t shards = group_cluster(request.cluster, sharing(request)).ranks().value();
  ModelMemory memory;
  for (const Unit& unit : units_of(request)) {
    for (const FlatParameter& flat : unit.parameters) {
      const ElementCount shard(flat.padded.value() / shards);
      memory.parameters += ElementCount(flat.gathered.value() / shards) * element_size(flat.type);
      memory.gradients += shard * element_size(flat.type);
      memory.optimizer += optimizer_memory(request.workload.optimizer_states, shard, flat.type);
    }
  }
  return memory;
}

class FsdpStep {
 public:
  explicit FsdpStep(const StrategyRequest& request)
      : request_(request),
        step_(request),
        units_(units_of(request)),
        group_(sharing(request)),
        shards_(group_cluster(request.cluster, group_).ranks().value()),
        prefetch_(request.settings.get<BackwardPrefetch>("backward_prefetch")),
        reshards_(request.settings.get<bool>("reshard_after_forward")),
        prefetches_forward_(request.settings.get<bool>("forward_prefetch")),
        keeps_gradients_(request.settings.get<bool>("unsharded_accumulation")),
        limiter_(request.settings.get<bool>("limit_all_gathers")) {
    if (request.settings.get<bool>("cpu_offload")) {
      offload_.emplace(request, HostOffload::Kernels::each_operation);
      to_gpu_ = step_.add_lane({"host to GPU", LaneKind::host});
      to_host_ = step_.add_lane({"GPU to host", LaneKind::host});
    }
    if (group_ == Group::node && request.cluster.nodes > 1) {
      across_ = step_.add_lane({"across nodes", LaneKind::communication});
    }
  }

  BuiltStep build() {
    last_compute_ = step_.input();
    const std::uint32_t passes = request_.common.gradient_accumulation;
    for (std::uint32_t pass = 0; pass < passes; ++pass) {
      // The stream of all-gathers waits for the one of compute (_root_pre_forward).
      pass_begins_after_ = last_compute_;
      const bool reduces = !keeps_gradients_ || pass + 1 == passes;
      forward();
      backward(reduces, pass > 0);
      if (reduces) take_shards(!keeps_gradients_ && pass > 0);
    }
    optimize();
    BuiltStep built{step_.take(), {}};
    if (offload_) {
      const ModelMemory held = fsdp_shards(request_);
      offload_->assume("fsdp", held.parameters + held.gradients + held.optimizer,
                       built.assumptions);
    }
    built.assumptions.add({first_is_root, "fsdp", {std::to_string(units_.size())}});
    if (!request_.common.host.any()) built.assumptions.add({prompt_host, "fsdp"});
    return built;
  }

 private:
  [[nodiscard]] std::uint32_t ranks() const { return request_.cluster.ranks().value(); }

  void gather(Unit& unit, std::vector<OperationId> after) {
    limiter_.pass();
    if (const auto awaited = limiter_.awaited()) step_.host_waits_for({*awaited});
    for (const auto before : {pass_begins_after_, limiter_.awaited()}) {
      if (before) after.push_back(*before);
    }
    unit.gathered.emplace();
    for (const FlatParameter& flat : unit.parameters) {
      unit.gathered->push_back(
          step_.call(unit.name + " all-gather",
                     in_group({Collective::all_gather, flat.gathered, element_size(flat.type)}),
                     offload_ ? from_host(unit, flat, after) : after));
      last_gather_ = unit.gathered->back();
    }
  }

  std::vector<OperationId> from_host(const Unit& unit, const FlatParameter& flat,
                                     std::vector<OperationId> after) {
    if (last_gather_) after.push_back(*last_gather_);
    const ElementCount shard(flat.gathered.value() / shards_);
    return {step_.compute_on(to_gpu_, unit.name + " from host", OperationKind::copy,
                             offload_->copy(shard * element_size(flat.type)), std::move(after))};
  }

  void optimize() {
    if (!offload_) {
      step_.optimizer("optimizer", request_.workload.optimizer * (1.0 / shards_), {});
      return;
    }
    Seconds optimizer;
    for (const Unit& unit : units_) {
      for (const FlatParameter& flat : unit.parameters) {
        optimizer += offload_->optimizer(shard_of(flat), flat.type);
      }
    }
    step_.compute("optimizer", OperationKind::optimizer, optimizer, std::move(on_host_));
  }

  void forward() {
    for (std::size_t u = 0; u < units_.size(); ++u) {
      Unit& unit = units_[u];
      step_.unit_hooks(unit.name);
      if (!unit.gathered) gather(unit, {});
      const bool has_next = u + 1 < units_.size() && !units_[u + 1].gathered;
      if (prefetches_forward_ && has_next) gather(units_[u + 1], {});
      const OperationId done = step_.layers(unit.name, OperationKind::forward, unit.forward,
                                            unit.layers, *unit.gathered);
      const bool is_root = &unit == &units_.front();
      if (!reshards_ || is_root) continue;
      limiter_.freed_by(done);
      unit.gathered.reset();
    }
  }

  // Gradients that are kept whole are those of a pass without reduction, and add up.
  void backward(bool reduces, bool follows_another) {
    limiter_.pass();  // the root's hook comes first; its parameters are there
    for (std::size_t u = units_.size(); u-- > 0;) {
      Unit& unit = units_[u];
      Unit* const next = u == 0 || units_[u - 1].gathered ? nullptr : &units_[u - 1];
      if (!unit.gathered) gather(unit, {});
      if (next != nullptr && prefetch_ == BackwardPrefetch::pre) gather(*next, {});
      const OperationId done = step_.layers(unit.name, OperationKind::backward, unit.backward,
                                            unit.layers, *unit.gathered);
      step_.hooks(unit.name, unit.parameters.size());
      if (reduces || reshards_) {  // _should_free_in_backward
        limiter_.freed_by(done);
        unit.gathered.reset();
      }
      if (next != nullptr && prefetch_ == BackwardPrefetch::post) gather(*next, {done});
      if (keeps_gradients_ && follows_another) add_up(unit);
      if (reduces) reduce(unit);
    }
    if (!reduces) last_compute_ = step_.last();
  }

  void add_up(const Unit& unit) {
    Seconds time;
    for (const FlatParameter& flat : unit.parameters) {
      if (flat.count > ElementCount(0)) time += step_.kernel(flat.count, flat.type, 3);
    }
    step_.compute(unit.name + " accumulate", OperationKind::copy, time, {});
  }

  void reduce(const Unit& unit) {
    for (const FlatParameter& flat : unit.parameters) {
      if (flat.count == ElementCount(0)) continue;
      const auto type = step_.type_on_wire(flat.type);
      Seconds time = step_.kernel(flat.count, type, 2);  // the division
      if (type != flat.type) time += step_.cast(flat.count, flat.type, type);
      if (flat.padded != flat.count) time += step_.kernel(flat.count, type, 2);
      const OperationId divided =
          step_.compute(unit.name + " divide", OperationKind::copy, time, {});
      const OperationId scattered = step_.call(
          unit.name + " reduce-scatter",
          in_group({Collective::reduce_scatter, flat.padded, element_size(type)}), {divided});
      reduced_.push_back(across_ ? reduce_across(unit, flat, type, scattered) : scattered);
      if (!offload_) continue;
      on_host_.push_back(step_.compute_on(to_host_, unit.name + " to host", OperationKind::copy,
                                          offload_->copy(shard_of(flat) * element_size(flat.type)),
                                          {reduced_.back()}));
    }
  }

  // A shard, among the ranks of all nodes that have it.
  OperationId reduce_across(const Unit& unit, const FlatParameter& flat, workload::DataType type,
                            OperationId scattered) {
    CollectiveCall call{Collective::all_reduce, shard_of(flat), element_size(type)};
    call.group = Group::across_nodes;
    return step_.call_on(*across_, unit.name + " all-reduce", call, {scattered});
  }

  [[nodiscard]] CollectiveCall in_group(CollectiveCall call) const {
    call.group = group_;
    return call;
  }

  [[nodiscard]] ElementCount shard_of(const FlatParameter& flat) const {
    return ElementCount(flat.padded.value() / shards_);
  }

  // What is done with each rank's reduced shards, and the end of a pass.
  void take_shards(bool accumulates) {
    Seconds time;
    for (const Unit& unit : units_) {
      for (const FlatParameter& flat : unit.parameters) {
        const ElementCount shard = shard_of(flat);
        if (shard == ElementCount(0)) continue;
        const auto type = step_.type_on_wire(flat.type);
        if (ranks() > predivide_factor(ranks())) time += step_.kernel(shard, type, 2);
        if (type != flat.type) time += step_.cast(shard, type, flat.type);
        if (accumulates) time += step_.kernel(shard, flat.type, 3);
      }
    }
    last_compute_ = step_.compute("shards", OperationKind::copy, time, std::exchange(reduced_, {}));
  }

  const StrategyRequest& request_;
  StepBuilder step_;
  std::vector<Unit> units_;
  Group group_;           // that shares one set of shards
  std::uint32_t shards_;  // of each array
  BackwardPrefetch prefetch_;
  bool reshards_, prefetches_forward_, keeps_gradients_;
  RateLimiter limiter_;
  std::optional<LaneId> across_;      // where shards are reduced across nodes
  std::vector<OperationId> reduced_;  // in this pass
  std::optional<OperationId> last_compute_, pass_begins_after_, last_gather_;
  std::optional<HostOffload> offload_;
  LaneId to_gpu_ = 0, to_host_ = 0;   // of copies, if offloaded
  std::vector<OperationId> on_host_;  // gradients, by these
};

BuiltStep build_fsdp(const StrategyRequest& request) { return FsdpStep(request).build(); }

Bytes size_of(const Unit& unit) {
  Bytes size;
  for (const FlatParameter& flat : unit.parameters) size += flat.gathered * element_size(flat.type);
  return size;
}

// The most that so many units next to each other have.
Bytes largest_neighbours(std::span<const Bytes> sizes, std::size_t units) {
  Bytes largest, sum;
  for (std::size_t u = 0; u < sizes.size(); ++u) {
    sum += sizes[u];
    if (u >= units) sum -= sizes[u - units];
    largest = std::max(largest, sum);
  }
  return largest;
}

// How many units are gathered at once, beside the root: the one that computes and, with a limit,
// the next or the one whose free is pending; both of them where the next is gathered before this
// one's forward or backward. Without a limit the host, which is never late, gathers all.
std::size_t gathered_at_once(const StrategyRequest& request, std::size_t units) {
  const auto prefetch = request.settings.get<BackwardPrefetch>("backward_prefetch");
  const bool reshards = request.settings.get<bool>("reshard_after_forward");
  if (!reshards || !request.settings.get<bool>("limit_all_gathers")) return units;
  const bool is_ahead =
      prefetch == BackwardPrefetch::pre || request.settings.get<bool>("forward_prefetch");
  return is_ahead ? 3 : 2;
}

// Whether passes but the last keep whole gradients.
bool keeps_gradients(const StrategyRequest& request) {
  return request.common.gradient_accumulation > 1 &&
         request.settings.get<bool>("unsharded_accumulation");
}

// Shards of everything, or nothing where these are on the host; what is gathered; and whole
// gradients of two units, of which one is computed and the other reduced: casts of theirs beside
// those of all units, where those are kept.
ModelMemory fsdp_memory(const StrategyRequest& request) {
  ModelMemory memory;
  if (!request.settings.get<bool>("cpu_offload")) memory = fsdp_shards(request);
  std::vector<Bytes> sizes, gradients;
  Bytes whole;  // gradients of all units
  for (const Unit& unit : units_of(request)) {
    sizes.push_back(size_of(unit));
    Bytes trained;
    for (const FlatParameter& flat : unit.parameters)
      trained += flat.padded * element_size(flat.type);
    whole += trained;
    gradients.push_back(keeps_gradients(request) ? Bytes(0) : trained);
    for (const FlatParameter& flat : unit.parameters) {
      const auto wire = type_on_wire(request.common, flat.type);
      if (wire != flat.type) gradients.back() += flat.padded * element_size(wire);
    }
  }
  if (keeps_gradients(request)) memory.gathered += whole;
  const auto others = std::span(sizes).subspan(1);
  memory.gathered += sizes.front() +
                     largest_neighbours(others, gathered_at_once(request, others.size())) +
                     largest_neighbours(gradients, 2);
  return memory;
}

// What is recomputed is a part of one unit: of several they would be gathered again for it.
std::optional<Refusal> refuse_units(const StrategyRequest& request) {
  const std::span<const TimedLayer> layers = request.workload.layers;
  const auto blocks = workload::blocks_of(layers);
  const bool are_blocks = request.settings.get<Wrap>("wrap") == Wrap::blocks;
  if (are_blocks && request.settings.is_given("min_num_params")) {
    return Refusal{"ignores min_num_params with wrap: blocks", "leave one of them out"};
  }
  if (are_blocks && workload::segments_of(blocks, {1}).empty()) {
    return Refusal{"finds no blocks in " + request.workload.name, "take wrap: layers"};
  }
  const auto borders = unit_borders(request);
  for (const auto& segment : workload::segments_of(layers, request.common.checkpoints)) {
    const auto inside = std::ranges::upper_bound(borders, segment.begin);
    if (inside == borders.end() || *inside >= segment.end) continue;
    return Refusal{"recomputes within a unit, and some checkpoints hold layers of several units",
                   "take wrap: blocks with blocks_per_checkpoint: 1, or a larger min_num_params"};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_fsdp(const StrategyRequest& request) {
  if (request.settings.get<bool>("cpu_offload")) {
    if (auto refusal = refuse_offload(request, "cpu_offload")) return refusal;
    if (request.common.gradient_accumulation > 1 && !keeps_gradients(request)) {
      return Refusal{"with cpu_offload takes a pass's gradients in place of those before",
                     "add unsharded_accumulation: true"};
    }
  }
  if (auto refusal = refuse_units(request)) return refusal;
  const bool is_alone = request.cluster.ranks() == RankCount(1);
  const bool is_possible = is_alone || request.cluster.gpus_per_node > 1;
  if (sharing(request) == Group::all || is_possible) return std::nullopt;
  return Refusal{"needs several GPUs per node for sharding: hybrid", "take sharding: full"};
}

constexpr std::array fsdp_keys{
    settings::Key{
        "sharding", settings::OneOf{settings::texts_of<Sharding>},
        settings::value_of(Sharding::full),
        "over all GPUs, or within each node with an all-reduce of the shards across nodes "
        "(HYBRID_SHARD)"},
    settings::Key{"min_num_params", settings::Count{0, 1'000'000'000'000},
                  settings::Value(std::uint64_t{0}),
                  "layers join until a unit has so many parameters; 0: every layer with parameters "
                  "is one"},
    settings::Key{"wrap", settings::OneOf{settings::texts_of<Wrap>},
                  settings::value_of(Wrap::layers),
                  "units: layers, or what min_num_params makes of them; or each of the network's "
                  "blocks and what is between them (transformer_auto_wrap_policy)"},
    settings::Key{"cpu_offload", settings::Flag{}, settings::Value(false),
                  "parameters, gradients and the optimizer's states are in host memory, and CPUs "
                  "run the optimizer (CPUOffload)"},
    settings::Key{"forward_prefetch", settings::Flag{}, settings::Value(false),
                  "the next unit is gathered before the forward of this one"},
    settings::Key{
        "unsharded_accumulation", settings::Flag{}, settings::Value(false),
        "no_sync around all passes of gradient_accumulation but the last: they keep whole "
        "gradients, and do not reduce them"},
    settings::Key{"reshard_after_forward", settings::Flag{}, settings::Value(true),
                  "parameters are freed after the forward and gathered again (FULL_SHARD), or kept "
                  "(SHARD_GRAD_OP)"},
    settings::Key{"limit_all_gathers", settings::Flag{}, settings::Value(true),
                  "at most two units are gathered ahead of compute"},
    settings::Key{"backward_prefetch", settings::OneOf{settings::texts_of<BackwardPrefetch>},
                  settings::value_of(BackwardPrefetch::pre),
                  "the next unit is gathered before the backward of this one, after it, or when it "
                  "is needed"},
};

}  // namespace

constexpr TriedKey fsdp_tries[]{{"min_num_params", {"0", "1000000", "10000000", "100000000"}},
                                {"wrap", {"blocks"}},
                                {"sharding", {"full", "hybrid"}, true},
                                {"reshard_after_forward", {"true", "false"}, true},
                                {"backward_prefetch", {"pre", "post"}, true},
                                {"forward_prefetch", {"true"}, true},
                                {"limit_all_gathers", {"true"}, true},
                                {"unsharded_accumulation", {"true"}, true}};

constinit const Strategy fsdp_strategy{
    .name = "fsdp",
    .summary = "PyTorch FullyShardedDataParallel: all-gather before use, reduce-scatter after",
    .framework = "PyTorch",
    .keys = fsdp_keys,
    .build = build_fsdp,
    .refuse = refuse_fsdp,
    .memory = fsdp_memory,
    // 24 units took 24 and 29 ms beside an H100 (tests/gpu/RESULTS.md, Shards)
    .hooks = {.per_gradient = Seconds(1.2e-3), .per_unit = Seconds(1e-3), .is_measured = true},
    .tries = fsdp_tries,
};

}  // namespace paceline::training
