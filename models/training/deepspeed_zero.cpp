#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "models/training/deepspeed.h"
#include "models/training/host_offload.h"
#include "models/training/strategies.h"

// DeepSpeed's ZeRO, stages 1 and 2: every rank keeps all parameters and 1/n of the optimizer's
// states; of the gradients it keeps all (stage 1) or 1/n (stage 2). deepspeed_stage3.h describes
// stage 3. deepspeed/runtime/zero/stage_1_and_2.py of deepspeedai/DeepSpeed at 7dee2e06, config.py
// beside it; Rajbhandari et al., ZeRO, SC 2020 (arXiv 1910.02054).
// - Gradients of one type collect in a bucket (ZeroBuckets).
// - They are collected as the backward makes them in stage 2, and with overlap_comm; else, in stage
//   1, after the backward, from the first parameter to the last (reduce_gradients).
// - A bucket is divided. With reduce_scatter (only the name of the setting: no such call is made) a
//   copy of all of it is all-reduced, and each owner takes its part (allreduce_and_scatter); with
//   use_multi_rank_bucket_allreduce: false each owner's part is reduced to it instead. Without
//   reduce_scatter the bucket is all-reduced where it is. Another type on the wire has its copy.
// - Without overlap_comm all of this is on the stream of compute: the backward waits for each
//   bucket. With it, it waits for the bucket before, whose buffer is filled next
//   (average_tensor: current_stream().wait_stream).
// - Passes that accumulate reduce in stage 2, where each adds to its owners' parts; in stage 1 only
//   the last pass reduces (is_gradient_accumulation_boundary).
// - After the optimizer, which takes 1/n of its time, all parameters of a type are all-gathered at
//   once (all_gather_into_tensor_dp_groups: since PyTorch has that call, 1.13, nobody reads
//   allgather_bucket_size), padded to a multiple of twice the ranks.
// - All kernels are on the compute lane; with overlap_comm the owners take their parts at its end.
// Left out: the calls with one number that look for overflows and add up the norm.
namespace paceline::training {
namespace {

using collectives::Collective;
using workload::DataType;
using workload::ParameterTensor;
using workload::TimedLayer;

bool shards_gradients(const ZeroSettings& zero) { return zero.stage == 2; }

// All parameters of one type in a row, of which each rank owns an equal part.
struct FlatGroup {
  ElementCount count;
  ElementCount padded;  // nccl_start_alignment_factor is 2
};

class FlatGroups {
 public:
  FlatGroups(std::span<const ParameterTensor> tensors, RankCount ranks) : ranks_(ranks.value()) {
    for (const ParameterTensor& tensor : tensors) {
      begins_.push_back(groups_[tensor.type].count);
      groups_[tensor.type].count += tensor.count;
    }
    for (auto& [type, group] : groups_) {
      group.padded = padded_to(group.count, std::uint64_t{2} * ranks_);
    }
  }

  [[nodiscard]] const std::map<DataType, FlatGroup>& all() const { return groups_; }
  [[nodiscard]] ElementCount part(DataType type) const {
    return ElementCount(groups_.at(type).padded.value() / ranks_);
  }

  // How much of each owner's part there is in these tensors of one type.
  [[nodiscard]] std::map<std::uint64_t, ElementCount> owners(
      std::span<const ParameterTensor> tensors, const Bucket& bucket) const {
    std::map<std::uint64_t, ElementCount> owned;
    for (const std::size_t i : bucket) {
      const std::uint64_t each = part(tensors[i].type).value();
      std::uint64_t at = begins_[i].value();
      const std::uint64_t end = at + tensors[i].count.value();
      while (at < end) {
        const std::uint64_t owner = at / each, next = std::min(end, (owner + 1) * each);
        owned[owner] += ElementCount(next - at);
        at = next;
      }
    }
    return owned;
  }

 private:
  std::uint64_t ranks_;
  std::map<DataType, FlatGroup> groups_;
  std::vector<ElementCount> begins_;  // by tensor, in its group
};

// What stages 1 and 2 keep for a rank, whole parameters beside it.
ModelMemory zero_states(const StrategyRequest& request) {
  const ZeroSettings zero = zero_settings(request.settings);
  const FlatGroups groups(gradient_tensors(request.workload), request.cluster.ranks());
  ModelMemory memory;
  memory.parameters = workload::frozen_memory(request.workload.layers);
  for (const auto& [type, group] : groups.all()) {
    const ElementSize size = element_size(type);
    const ElementCount part = groups.part(type);
    memory.parameters += group.padded * size;
    memory.gradients += (shards_gradients(zero) ? part : group.count) * size;
    memory.optimizer += optimizer_memory(request.workload.optimizer_states, part, type);
  }
  return memory;
}

class ZeroStep {
 public:
  explicit ZeroStep(const StrategyRequest& request)
      : request_(request),
        zero_(zero_settings(request.settings)),
        passes_(shards_gradients(zero_) ? request.common.gradient_accumulation : 1),
        common_(shards_gradients(zero_) ? with_one_pass(request.common) : request.common),
        step_({request.workload, request.cluster, request.settings, common_, request.traced}),
        groups_(step_.tensors(), request.cluster.ranks()),
        buckets_(step_, zero_, [this](const Bucket& bucket) { reduce(bucket); }) {
    if (!request.settings.get<bool>("offload_optimizer")) return;
    offload_.emplace(request, HostOffload::Kernels::fused);
    to_host_ = step_.add_lane({"GPU to host", LaneKind::host});
  }

  BuiltStep build() {
    for (std::uint32_t pass = 0; pass < passes_; ++pass) {
      forward(pass);
      backward(pass);
    }
    update();
    BuiltStep built{step_.take(), {}};
    built.assumptions.add({zero_without_norm, "deepspeed_zero"});
    if (offload_) {
      Bytes held = zero_states(request_).optimizer;  // and gradients, of each rank's part
      for (const auto& [type, group] : groups_.all())
        held += groups_.part(type) * element_size(type);
      offload_->assume("deepspeed_zero", held, built.assumptions);
    }
    return built;
  }

 private:
  void forward(std::uint32_t pass) {
    if (pass == 0) return step_.forward({});
    step_.forward_pass(std::exchange(reduced_, {}));
  }

  void backward(std::uint32_t pass) {
    adds_ = pass > 0;
    const bool as_they_come = shards_gradients(zero_) || zero_.overlaps;
    if (as_they_come) {
      step_.backward([&](const TimedLayer& layer, std::size_t first, OperationId) {
        buckets_.collect_layer(layer, first);
      });
    } else {
      step_.backward();
      step_.hooks("gradients", step_.tensors().size());
      for (std::size_t i = 0; i < step_.tensors().size(); ++i) buckets_.collect(i);
    }
    buckets_.flush();
  }

  void reduce(const Bucket& bucket) {
    const std::string name = "bucket " + std::to_string(reduced_buckets_++);
    // The kernels of a bucket, which a stream of its own would have beside the backward.
    const OperationId ready =
        step_.compute(name + " divide", OperationKind::copy, time_before(bucket), previous());
    std::vector<OperationId> calls;
    for (const CollectiveCall& call : calls_of(bucket)) {
      calls.push_back(step_.call(name, call, {ready}));
    }
    last_bucket_ = calls;
    reduced_.insert(reduced_.end(), calls.begin(), calls.end());
    if (offload_) {
      const Bytes size = bucket_count(step_.tensors(), bucket) * element_size(type_of(bucket));
      const Seconds part = offload_->copy(size) / request_.cluster.ranks().value();
      on_host_.push_back(
          step_.compute_on(to_host_, name + " to host", OperationKind::copy, part, calls));
    }
    if (zero_.overlaps) {
      parts_ += time_after(bucket);
    } else {
      step_.compute(name + " parts", OperationKind::copy, time_after(bucket), calls);
    }
  }

  // What the stream of compute waits for before it hands over another bucket.
  [[nodiscard]] std::vector<OperationId> previous() const {
    return zero_.overlaps ? last_bucket_ : std::vector<OperationId>{};
  }

  // Without contiguous_gradients, or for owners, a bucket is copied into one array.
  [[nodiscard]] Seconds time_before(const Bucket& bucket) const {
    const DataType type = type_of(bucket);
    const ElementCount count = bucket_count(step_.tensors(), bucket);
    Seconds time = step_.kernel(count, type, 2);  // the division
    if (zero_.reduces_to_owners || !zero_.is_contiguous) time += step_.kernel(count, type, 2);
    const DataType wire = step_.type_on_wire(type);
    if (wire != type) time += step_.cast(count, type, wire);
    return time;
  }

  // The rank that has the most to do owns all of a bucket: it takes its part, and keeps it.
  [[nodiscard]] Seconds time_after(const Bucket& bucket) const {
    const DataType type = type_of(bucket), wire = step_.type_on_wire(type);
    const ElementCount count = bucket_count(step_.tensors(), bucket);
    const ElementCount owned = std::min(count, groups_.part(type));
    Seconds time;
    if (wire != type) time += step_.cast(count, wire, type);
    if (zero_.reduces_to_owners) time += step_.kernel(owned, type, 2);
    if (zero_.is_contiguous) time += step_.kernel(owned, type, 2);
    if (adds_) time += step_.kernel(owned, type, 3);
    return time;
  }

  [[nodiscard]] DataType type_of(const Bucket& bucket) const {
    return step_.tensors()[bucket.front()].type;
  }

  [[nodiscard]] std::vector<CollectiveCall> calls_of(const Bucket& bucket) const {
    const ElementSize size = element_size(step_.type_on_wire(type_of(bucket)));
    if (!zero_.reduces_to_owners || zero_.owners_share_calls) {
      return {{Collective::all_reduce, bucket_count(step_.tensors(), bucket), size}};
    }
    std::vector<CollectiveCall> calls;
    for (const auto& [owner, count] : groups_.owners(step_.tensors(), bucket)) {
      calls.push_back({Collective::reduce, count, size, Rank(static_cast<std::uint32_t>(owner))});
    }
    return calls;
  }

  // The optimizer of each rank's part, and all parameters from their owners.
  void update() {
    if (zero_.overlaps) step_.compute("parts", OperationKind::copy, parts_, reduced_);
    const OperationId updated = optimize();
    for (const auto& [type, group] : groups_.all()) {
      step_.call("parameters " + std::string(to_text(type)),
                 {Collective::all_gather, group.padded, element_size(type)}, {updated});
    }
  }

  // Of each rank's part; CPUs update it when the last gradient is there, and it comes back.
  OperationId optimize() {
    if (!offload_) {
      const double share = 1.0 / request_.cluster.ranks().value();
      return step_.optimizer("optimizer", request_.workload.optimizer * share, reduced_);
    }
    Seconds optimizer, copies;
    for (const auto& [type, group] : groups_.all()) {
      optimizer += offload_->optimizer(groups_.part(type), type);
      copies += offload_->copy(groups_.part(type) * element_size(type));
    }
    step_.compute("optimizer", OperationKind::optimizer, optimizer, std::move(on_host_));
    return step_.compute("parameters from host", OperationKind::copy, copies, {});
  }

  const StrategyRequest& request_;
  ZeroSettings zero_;
  std::uint32_t passes_;  // that reduce
  CommonSettings common_;
  StepBuilder step_;
  FlatGroups groups_;
  ZeroBuckets buckets_;
  Seconds parts_;  // what takes owners' parts when all is reduced
  std::vector<OperationId> last_bucket_, reduced_;
  std::uint32_t reduced_buckets_ = 0;
  bool adds_ = false;  // to the parts of passes before
  std::optional<HostOffload> offload_;
  LaneId to_host_ = 0;                // of copies, if offloaded
  std::vector<OperationId> on_host_;  // gradients, by these
};

bool shards_parameters(const StrategyRequest& request) {
  return zero_settings(request.settings).stage == 3;
}

BuiltStep build_zero(const StrategyRequest& request) {
  return shards_parameters(request) ? build_stage3(request) : ZeroStep(request).build();
}

// All parameters; gradients, or a part of them and what is in the layer that computes; parts of the
// optimizer; buffers of reduce_bucket_size, two with overlap_comm, whatever the gradients' size
// (setup_buckets), and the copy of a bucket that is reduced.
ModelMemory zero_memory(const StrategyRequest& request) {
  if (shards_parameters(request)) return stage3_memory(request);
  const ZeroSettings zero = zero_settings(request.settings);
  const auto tensors = gradient_tensors(request.workload);
  const FlatGroups groups(tensors, request.cluster.ranks());
  ModelMemory memory = zero_states(request);
  if (request.settings.get<bool>("offload_optimizer")) {
    memory.optimizer = {};
    if (shards_gradients(zero)) memory.gradients = {};
  }
  for (const auto& [type, group] : groups.all()) {
    const ElementSize size = element_size(type);
    if (zero.is_contiguous) memory.buckets += zero.bucket_size * size * (zero.overlaps ? 2 : 1);
    const auto wire = type_on_wire(request.common, type);
    const ElementCount bucket = fullest_bucket(zero, tensors, type);
    if (zero.reduces_to_owners || !zero.is_contiguous) memory.buckets += bucket * size;
    if (wire != type) memory.buckets += bucket * element_size(wire);
  }
  return memory;
}

std::optional<Refusal> refuse_zero(const StrategyRequest& request) {
  const auto& settings = request.settings;
  const bool is_told = settings.is_given("use_multi_rank_bucket_allreduce");
  if (settings.get<bool>("offload_optimizer")) {
    if (auto refusal = refuse_offload(request, "offload_optimizer")) return refusal;
  }
  if (shards_parameters(request)) {
    if (workload::frozen_memory(request.workload.layers) > Bytes(0)) {
      return Refusal{"does not describe frozen parameters with stage: 3", "take stage: 2, or fsdp"};
    }
    if (settings.get<bool>("offload_optimizer")) {
      return Refusal{"does not describe offload_optimizer with stage: 3",
                     "take stage: 2, or fsdp with cpu_offload"};
    }
    if (!is_told) return std::nullopt;
    return Refusal{"ignores use_multi_rank_bucket_allreduce with stage: 3", "leave it out"};
  }
  for (const settings::Key& key : deepspeed_zero_strategy.keys) {
    if (!key.name.starts_with("stage3_") || !settings.is_given(key.name)) continue;
    return Refusal{"ignores " + std::string(key.name) +
                       " before stage 3, where every rank has all "
                       "parameters",
                   "add stage: 3, or leave it out"};
  }
  if (!is_told || settings.get<bool>("reduce_scatter")) return std::nullopt;
  return Refusal{"ignores use_multi_rank_bucket_allreduce with reduce_scatter: false",
                 "leave out use_multi_rank_bucket_allreduce"};
}

using settings::Flag;
using settings::Key;
using settings::Value;

constexpr settings::Count stage3_elements{0, 1'000'000'000'000};

constexpr std::array zero_keys{
    Key{"stage", settings::Count{1, 3}, Value(std::uint64_t{1}),
        "1: the optimizer's states are sharded; 2: gradients too; 3: parameters too"},
    Key{"reduce_bucket_size", settings::Count{1, 1'000'000'000'000},
        Value(std::uint64_t{500'000'000}), "gradients of so many elements are reduced at once"},
    Key{"overlap_comm", Flag{}, settings::automatic,
        "buckets are reduced beside the backward; auto: in stage 3"},
    Key{"contiguous_gradients", Flag{}, Value(true), "gradients are copied to a buffer"},
    Key{"reduce_scatter", Flag{}, Value(true),
        "owners take their parts of a copy, in stage 3 by reduce-scatter; false: buckets are "
        "all-reduced where they are"},
    Key{"use_multi_rank_bucket_allreduce", Flag{}, Value(true),
        "with reduce_scatter, before stage 3: a bucket is one all-reduce; false: a reduce to each "
        "owner"},
    Key{"offload_optimizer", Flag{}, Value(false),
        "before stage 3: gradients and the optimizer's states are in host memory, and CPUs run the "
        "optimizer (ZeRO-Offload, device: cpu)"},
    // Defaults of config.py.
    Key{"stage3_prefetch_bucket_size", stage3_elements, Value(std::uint64_t{50'000'000}),
        "with stage: 3: so many elements of parameters are gathered ahead of a layer that runs"},
    Key{"stage3_max_live_parameters", stage3_elements, Value(std::uint64_t{1'000'000'000}),
        "with stage: 3: none are gathered ahead that would be more on a GPU at once"},
    Key{"stage3_max_reuse_distance", stage3_elements, Value(std::uint64_t{1'000'000'000}),
        "with stage: 3: what comes again within so many elements is kept"},
    Key{"stage3_param_persistence_threshold", stage3_elements, Value(std::uint64_t{100'000}),
        "with stage: 3: tensors of so many elements or fewer stay on every GPU"},
};

}  // namespace

ZeroSettings zero_settings(const settings::Settings& settings) {
  constexpr std::uint64_t parameters = 3;
  const auto stage = settings.get<std::uint64_t>("stage");
  // config.py, overlap_comm_valid
  const bool overlaps = settings.find<bool>("overlap_comm").value_or(stage == parameters);
  return {stage,
          ElementCount(settings.get<std::uint64_t>("reduce_bucket_size")),
          overlaps,
          settings.get<bool>("contiguous_gradients"),
          settings.get<bool>("reduce_scatter"),
          settings.get<bool>("use_multi_rank_bucket_allreduce")};
}

ElementCount fullest_bucket(const ZeroSettings& zero,
                            std::span<const workload::ParameterTensor> tensors,
                            workload::DataType type) {
  ElementCount all, largest;
  for (const workload::ParameterTensor& tensor : tensors) {
    if (tensor.type != type) continue;
    all += tensor.count;
    largest = std::max(largest, tensor.count);
  }
  return std::max(largest, std::min(all, zero.bucket_size));
}

void ZeroBuckets::collect(std::size_t tensor) {
  const workload::ParameterTensor& gradient = step_.tensors()[tensor];
  Open& open = open_[gradient.type];
  if (!open.tensors.empty() && open.count + gradient.count > zero_.bucket_size) {
    reduce_(std::exchange(open, {}).tensors);
  }
  open.tensors.push_back(tensor);
  open.count += gradient.count;
  if (zero_.is_contiguous && gradient.count <= zero_.bucket_size) {
    step_.copies(gradient.name + " to bucket", std::span(&gradient, 1), 2, {});
  }
}

void ZeroBuckets::collect_layer(const workload::TimedLayer& layer, std::size_t first_tensor) {
  for (std::size_t i = layer.parameters.size(); i-- > 0;) collect(first_tensor + i);
}

void ZeroBuckets::flush() {
  for (auto& [type, open] : open_) {
    if (!open.tensors.empty()) reduce_(std::exchange(open, {}).tensors);
  }
}

constexpr TriedKey zero_tries[]{
    {"stage", {"1", "2", "3"}, true},
    {"overlap_comm", {"true"}, true},
    {"reduce_bucket_size", {"50000000", "200000000", "500000000"}, true}};

constinit const Strategy deepspeed_zero_strategy{
    .name = "deepspeed_zero",
    .summary = "DeepSpeed's ZeRO, stages 1 to 3: sharded optimizer, gradients, parameters",
    .framework = "DeepSpeed",
    .keys = zero_keys,
    .build = build_zero,
    .refuse = refuse_zero,
    .memory = zero_memory,
    .hooks = {.per_gradient = Seconds(200e-6)},  // of Python, with copies into buckets
    .tries = zero_tries,
};

}  // namespace paceline::training
