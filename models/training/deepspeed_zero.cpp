#include "models/training/deepspeed_zero.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/training/step_builder.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using workload::DataType;
using workload::ParameterTensor;
using workload::TimedLayer;

constexpr AssumptionKind no_norm{"{}: checks of overflow and the norm of gradients take no time"};

// How DeepSpeed was configured: zero_optimization of its file.
struct ZeroSettings {
  bool shards_gradients;  // stage 2
  ElementCount bucket_size;
  bool overlaps, is_contiguous, reduces_to_owners, owners_share_calls;
};

ZeroSettings zero_settings(const settings::Settings& settings) {
  constexpr std::uint64_t gradients = 2;
  return {settings.get<std::uint64_t>("stage") == gradients,
          ElementCount(settings.get<std::uint64_t>("reduce_bucket_size")),
          settings.get<bool>("overlap_comm"),
          settings.get<bool>("contiguous_gradients"),
          settings.get<bool>("reduce_scatter"),
          settings.get<bool>("use_multi_rank_bucket_allreduce")};
}

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
    const std::uint64_t alignment = std::uint64_t{2} * ranks_;
    for (auto& [type, group] : groups_) {
      const std::uint64_t count = group.count.value();
      group.padded = ElementCount((count + alignment - 1) / alignment * alignment);
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

class ZeroStep {
 public:
  explicit ZeroStep(const StrategyRequest& request)
      : request_(request),
        zero_(zero_settings(request.settings)),
        passes_(zero_.shards_gradients ? request.common.gradient_accumulation : 1),
        common_(with_reduced_passes(request, zero_)),
        step_({request.workload, request.cluster, request.settings, common_, request.traced}),
        groups_(step_.tensors(), request.cluster.ranks()) {}

  BuiltStep build() {
    for (std::uint32_t pass = 0; pass < passes_; ++pass) {
      forward(pass);
      backward(pass);
    }
    update();
    BuiltStep built{step_.take(), {}};
    built.assumptions.add({no_norm, "deepspeed_zero"});
    built.assumptions.add({unmeasured_strategy, "deepspeed_zero"});
    return built;
  }

 private:
  // Stage 2 reduces in every pass; they are made here.
  static CommonSettings with_reduced_passes(const StrategyRequest& request,
                                            const ZeroSettings& zero) {
    CommonSettings common = request.common;
    if (zero.shards_gradients) common.gradient_accumulation = 1;
    return common;
  }

  void forward(std::uint32_t pass) {
    if (pass == 0) return step_.forward({});
    step_.layers("forward", OperationKind::forward, request_.workload.forward(),
                 request_.workload.layers, std::exchange(reduced_, {}));
  }

  void backward(std::uint32_t pass) {
    adds_ = pass > 0;
    const bool as_they_come = zero_.shards_gradients || zero_.overlaps;
    if (as_they_come) {
      step_.backward([&](const TimedLayer& layer, std::size_t first, OperationId) {
        // Of one layer in reverse, as gradients come.
        for (std::size_t i = layer.parameters.size(); i-- > 0;) collect(first + i);
      });
    } else {
      step_.backward();
      for (std::size_t i = 0; i < step_.tensors().size(); ++i) collect(i);
    }
    for (auto& [type, bucket] : open_) reduce(std::exchange(bucket, {}));
  }

  void collect(std::size_t tensor) {
    const ParameterTensor& gradient = step_.tensors()[tensor];
    Bucket& bucket = open_[gradient.type];
    const auto held = bucket.empty() ? ElementCount(0) : bucket_count(step_.tensors(), bucket);
    if (!bucket.empty() && held + gradient.count > zero_.bucket_size) {
      reduce(std::exchange(bucket, {}));
    }
    open_[gradient.type].push_back(tensor);
    if (zero_.is_contiguous && gradient.count <= zero_.bucket_size) {
      step_.copies(gradient.name + " to bucket", std::span(&gradient, 1), 2, {});
    }
  }

  void reduce(const Bucket& bucket) {
    if (bucket.empty()) return;
    const std::string name = "bucket " + std::to_string(buckets_++);
    // The kernels of a bucket, which a stream of its own would have beside the backward.
    const OperationId ready =
        step_.compute(name + " divide", OperationKind::copy, time_before(bucket), previous());
    std::vector<OperationId> calls;
    for (const CollectiveCall& call : calls_of(bucket)) {
      calls.push_back(step_.call(name, call, {ready}));
    }
    last_bucket_ = calls;
    reduced_.insert(reduced_.end(), calls.begin(), calls.end());
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

  [[nodiscard]] Seconds kernel(ElementCount count, DataType type, std::uint64_t passes) const {
    return kernel_time(request_.workload.device, count * element_size(type) * passes);
  }

  // Without contiguous_gradients, or for owners, a bucket is copied into one array.
  [[nodiscard]] Seconds time_before(const Bucket& bucket) const {
    const DataType type = type_of(bucket);
    const ElementCount count = bucket_count(step_.tensors(), bucket);
    Seconds time = kernel(count, type, 2);  // the division
    if (zero_.reduces_to_owners || !zero_.is_contiguous) time += kernel(count, type, 2);
    const DataType wire = step_.type_on_wire(type);
    if (wire != type) time += cast(count, type, wire);
    return time;
  }

  // The rank that has the most to do owns all of a bucket: it takes its part, and keeps it.
  [[nodiscard]] Seconds time_after(const Bucket& bucket) const {
    const DataType type = type_of(bucket), wire = step_.type_on_wire(type);
    const ElementCount count = bucket_count(step_.tensors(), bucket);
    const ElementCount owned = std::min(count, groups_.part(type));
    Seconds time;
    if (wire != type) time += cast(count, wire, type);
    if (zero_.reduces_to_owners) time += kernel(owned, type, 2);
    if (zero_.is_contiguous) time += kernel(owned, type, 2);
    if (adds_) time += kernel(owned, type, 3);
    return time;
  }

  [[nodiscard]] Seconds cast(ElementCount count, DataType from, DataType to) const {
    return kernel_time(request_.workload.device,
                       count * element_size(from) + count * element_size(to));
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
    const double share = 1.0 / request_.cluster.ranks().value();
    const OperationId updated = step_.operation("optimizer", OperationKind::optimizer,
                                                request_.workload.optimizer * share, reduced_);
    for (const auto& [type, group] : groups_.all()) {
      step_.call("parameters " + std::string(to_text(type)),
                 {Collective::all_gather, group.padded, element_size(type)}, {updated});
    }
  }

  const StrategyRequest& request_;
  ZeroSettings zero_;
  std::uint32_t passes_;  // that reduce
  CommonSettings common_;
  StepBuilder step_;
  FlatGroups groups_;
  std::map<DataType, Bucket> open_;
  Seconds parts_;  // what takes owners' parts when all is reduced
  std::vector<OperationId> last_bucket_, reduced_;
  std::uint32_t buckets_ = 0;
  bool adds_ = false;  // to the parts of passes before
};

BuiltStep build_zero(const StrategyRequest& request) { return ZeroStep(request).build(); }

// The most elements of a type in one bucket.
ElementCount fullest_bucket(const ZeroSettings& zero, std::span<const ParameterTensor> tensors,
                            DataType type) {
  ElementCount all, largest;
  for (const ParameterTensor& tensor : tensors) {
    if (tensor.type != type) continue;
    all += tensor.count;
    largest = std::max(largest, tensor.count);
  }
  return std::max(largest, std::min(all, zero.bucket_size));
}

// All parameters; gradients, or a part of them and what is in the layer that computes; parts of the
// optimizer; buffers of reduce_bucket_size, two with overlap_comm, whatever the gradients' size
// (setup_buckets), and the copy of a bucket that is reduced.
ModelMemory zero_memory(const StrategyRequest& request) {
  const ZeroSettings zero = zero_settings(request.settings);
  const auto tensors = gradient_tensors(request.workload);
  const FlatGroups groups(tensors, request.cluster.ranks());
  ModelMemory memory;
  for (const auto& [type, group] : groups.all()) {
    const ElementSize size = element_size(type);
    const ElementCount part = groups.part(type);
    memory.parameters += group.padded * size;
    memory.gradients += (zero.shards_gradients ? part : group.count) * size;
    memory.optimizer += optimizer_memory(request.workload.optimizer_states, part, type);
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
  if (!is_told || settings.get<bool>("reduce_scatter")) return std::nullopt;
  return Refusal{"gives owners no parts of their own with reduce_scatter: false",
                 "leave out use_multi_rank_bucket_allreduce"};
}

using settings::Flag;
using settings::Key;
using settings::Value;

constexpr std::array zero_keys{
    Key{"stage", settings::Count{1, 2}, Value(std::uint64_t{1}),
        "1: the optimizer's states are sharded; 2: gradients too"},
    Key{"reduce_bucket_size", settings::Count{1, 1'000'000'000'000},
        Value(std::uint64_t{500'000'000}), "gradients of so many elements are reduced at once"},
    Key{"overlap_comm", Flag{}, Value(false), "buckets are reduced beside the backward"},
    Key{"contiguous_gradients", Flag{}, Value(true), "gradients are copied to a buffer"},
    Key{"reduce_scatter", Flag{}, Value(true),
        "owners take their parts of a copy; false: buckets are all-reduced where they are"},
    Key{"use_multi_rank_bucket_allreduce", Flag{}, Value(true),
        "with reduce_scatter: a bucket is one all-reduce; false: a reduce to each owner"},
};

}  // namespace

constinit const Strategy deepspeed_zero_strategy{
    .name = "deepspeed_zero",
    .summary = "DeepSpeed's ZeRO, stages 1 and 2: sharded optimizer, all-gather after the step",
    .keys = zero_keys,
    .build = build_zero,
    .refuse = refuse_zero,
    .memory = zero_memory,
};

}  // namespace paceline::training
