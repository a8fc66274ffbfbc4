#include "models/training/deepspeed_stage3.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/training/deepspeed_buckets.h"
#include "models/training/fetch_plan.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using workload::DataType;
using workload::ParameterTensor;
using workload::TimedLayer;

constexpr AssumptionKind host_in_step{
    "{}: parameters are gathered once the work queued before them has computed, as if the "
    "host kept pace with the GPU"};
constexpr AssumptionKind layers_are_modules{"{}: each of the {} layers counts as one module"};

FetchPlan fetches_of(const StrategyRequest& request) {
  const auto elements = [&](std::string_view key) {
    return ElementCount(request.settings.get<std::uint64_t>(key));
  };
  return plan_fetches(
      request.workload.layers, request.common.checkpoints,
      {elements("stage3_prefetch_bucket_size"), elements("stage3_max_live_parameters"),
       elements("stage3_max_reuse_distance"), elements("stage3_param_persistence_threshold")});
}

// By layer, without the forward that checkpoints put before it.
std::vector<Seconds> backwards_of(const StrategyRequest& request) {
  const std::vector<TimedLayer>& layers = request.workload.layers;
  std::vector<Seconds> times;
  for (const TimedLayer& layer : layers) times.push_back(layer.backward);
  for (const auto& segment :
       workload::segments_of(workload::blocks_of(layers), request.common.checkpoints)) {
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      times[segment.end - 1] -= layers[i].forward;
    }
    times[segment.end - 1] = std::max(times[segment.end - 1], Seconds(0));  // of rounding
  }
  return times;
}

// Tensors of one type, each padded to a multiple of the ranks.
ElementCount padded_count(std::span<const ParameterTensor> tensors, const Bucket& bucket,
                          std::uint32_t ranks) {
  ElementCount count;
  for (const std::size_t i : bucket) count += padded_to(tensors[i].count, ranks);
  return count;
}

std::map<DataType, Bucket> by_type(std::span<const ParameterTensor> tensors, const Bucket& all) {
  std::map<DataType, Bucket> buckets;
  for (const std::size_t i : all) buckets[tensors[i].type].push_back(i);
  return buckets;
}

// Whether a bucket is all-reduced in its buffer.
bool is_reduced_in_place(const ZeroSettings& zero, ElementCount bucket) {
  return !zero.reduces_to_owners && zero.is_contiguous && bucket <= zero.bucket_size;
}

class Stage3Step {
 public:
  explicit Stage3Step(const StrategyRequest& request)
      : request_(request),
        layers_(request.workload.layers),
        backwards_(backwards_of(request)),
        zero_(zero_settings(request.settings)),
        ranks_(request.cluster.ranks().value()),
        plan_(fetches_of(request)),
        step_(request),
        buckets_(step_, zero_, [this](const Bucket& bucket) { reduce(bucket); }) {
    for (const TimedLayer& layer : layers_) {
      firsts_.push_back(tensors_);
      tensors_ += layer.parameters.size();
    }
  }

  BuiltStep build() {
    step_.input();
    for (std::uint32_t pass = 0; pass < request_.common.gradient_accumulation; ++pass) {
      adds_ = pass > 0;
      gathers_.assign(plan_.fetches.size(), {});
      for (const Visit& visit : plan_.visits) run(visit);
      buckets_.flush();
      end_pass();
    }
    update();
    BuiltStep built{step_.take(), {}};
    built.assumptions.add({layers_are_modules, "deepspeed_zero", {std::to_string(layers_.size())}});
    if (zero_.overlaps) built.assumptions.add({host_in_step, "deepspeed_zero"});
    built.assumptions.add({zero_without_norm, "deepspeed_zero"});
    return built;
  }

 private:
  // The last of the compute lane, where the host is.
  [[nodiscard]] std::vector<OperationId> before() const {
    const auto last = step_.last_compute();
    return last ? std::vector{*last} : std::vector<OperationId>{};
  }

  void run(const Visit& visit) {
    if (!visit.layer) {
      if (visit.ahead) gather(*visit.ahead, "model prefetch");
      return;
    }
    const TimedLayer& layer = layers_[*visit.layer];
    const bool is_forward = visit.kind == VisitKind::forward;
    if (visit.own) gather(*visit.own, layer.name + " all-gather");
    if (visit.ahead) gather(*visit.ahead, layer.name + " prefetch");
    std::vector<OperationId> gathered;
    for (const std::size_t fetch : visit.awaited) {
      gathered.insert(gathered.end(), gathers_[fetch].begin(), gathers_[fetch].end());
    }
    Seconds unpacking;
    for (const std::size_t fetch : visit.awaited) unpacking += unpacking_time(fetch);
    if (unpacking > Seconds(0)) {
      step_.compute(layer.name + " unpack", OperationKind::copy, unpacking,
                    std::exchange(gathered, {}));
    }
    const bool is_again = visit.kind == VisitKind::recompute;
    step_.operation(is_again ? layer.name + " again" : layer.name,
                    is_forward ? OperationKind::forward : OperationKind::backward,
                    visit.kind == VisitKind::backward ? backwards_[*visit.layer] : layer.forward,
                    gathered);
    if (visit.kind != VisitKind::backward || layer.parameters.empty()) return;
    buckets_.collect_layer(layer, firsts_[*visit.layer]);
  }

  void gather(std::size_t fetch, const std::string& name) {
    for (const auto& [type, tensors] : by_type(step_.tensors(), plan_.fetches[fetch])) {
      const ElementCount count = padded_count(step_.tensors(), tensors, ranks_);
      gathers_[fetch].push_back(
          step_.call(name, {Collective::all_gather, count, element_size(type)}, before()));
    }
  }

  // The shards into one array, and each tensor out of it.
  [[nodiscard]] Seconds unpacking_time(std::size_t fetch) const {
    const Bucket& fetched = plan_.fetches[fetch];
    if (fetched.size() == 1) return Seconds(0);
    Seconds time;
    for (const auto& [type, tensors] : by_type(step_.tensors(), fetched)) {
      const ElementCount all = padded_count(step_.tensors(), tensors, ranks_);
      time += step_.kernel(ElementCount(all.value() / ranks_), type, 2);
      for (const std::size_t i : tensors) time += step_.kernel(step_.tensors()[i].count, type, 2);
    }
    return time;
  }

  void reduce(const Bucket& bucket) {
    const std::string name = "bucket " + std::to_string(reduced_.size());
    const DataType type = step_.tensors()[bucket.front()].type, wire = step_.type_on_wire(type);
    const ElementCount count = bucket_count(step_.tensors(), bucket);
    const ElementCount padded = padded_count(step_.tensors(), bucket, ranks_);
    const ElementCount shard(padded.value() / ranks_);
    const bool in_place = is_reduced_in_place(zero_, count);
    Seconds ahead = step_.kernel(in_place ? count : padded, wire, 2);  // the division
    if (wire != type) ahead += step_.cast(count, type, wire);
    const bool is_copied = bucket.size() > 1 || padded != count;
    if (!in_place && is_copied) ahead += step_.kernel(padded, wire, 2);
    Seconds behind = step_.kernel(shard, type, adds_ ? 3 : 2);
    if (wire != type) behind += step_.cast(in_place ? count : shard, wire, type);
    step_.compute(name + " divide", OperationKind::copy, ahead, third_before());
    const OperationId reduced =
        step_.call(name,
                   {in_place ? Collective::all_reduce : Collective::reduce_scatter,
                    in_place ? count : padded, element_size(wire)},
                   before());
    reduced_.push_back(reduced);
    if (zero_.overlaps) {
      shards_ += behind;
    } else {
      step_.compute(name + " shards", OperationKind::copy, behind, {reduced});
    }
  }

  // What the host waits for before it issues another reduction beside compute.
  [[nodiscard]] std::vector<OperationId> third_before() const {
    constexpr std::size_t events = 3;
    if (!zero_.overlaps || reduced_.size() < events) return {};
    return {reduced_[reduced_.size() - events]};
  }

  void end_pass() {
    step_.compute("shards", OperationKind::copy, std::exchange(shards_, Seconds(0)),
                  std::exchange(reduced_, {}));
  }

  // The optimizer of each rank's shards, and the tensors that all ranks keep.
  void update() {
    const OperationId updated = step_.operation("optimizer", OperationKind::optimizer,
                                                request_.workload.optimizer * (1.0 / ranks_), {});
    for (std::size_t i = 0; i < step_.tensors().size(); ++i) {
      if (!plan_.is_persistent[i]) continue;
      const ParameterTensor& tensor = step_.tensors()[i];
      step_.call(
          tensor.name + " all-gather",
          {Collective::all_gather, padded_to(tensor.count, ranks_), element_size(tensor.type)},
          {updated});
    }
  }

  const StrategyRequest& request_;
  const std::vector<TimedLayer>& layers_;
  std::vector<Seconds> backwards_;
  ZeroSettings zero_;
  std::uint32_t ranks_;
  FetchPlan plan_;
  StepBuilder step_;
  ZeroBuckets buckets_;
  std::size_t tensors_ = 0;
  std::vector<std::size_t> firsts_;                // by layer, of its tensors
  std::vector<std::vector<OperationId>> gathers_;  // by fetch, in this pass
  std::vector<OperationId> reduced_;               // buckets of this pass
  Seconds shards_;                                 // what keeps them when all is reduced
  bool adds_ = false;                              // to the shards of passes before
};

}  // namespace

BuiltStep build_stage3(const StrategyRequest& request) { return Stage3Step(request).build(); }

ModelMemory stage3_memory(const StrategyRequest& request) {
  const ZeroSettings zero = zero_settings(request.settings);
  const FetchPlan plan = fetches_of(request);
  const auto tensors = gradient_tensors(request.workload);
  const std::uint32_t ranks = request.cluster.ranks().value();
  const auto bytes = [&](std::size_t i, std::uint32_t part) {
    const ElementCount padded = padded_to(tensors[i].count, ranks);
    return ElementCount(padded.value() / part) * element_size(tensors[i].type);
  };
  ModelMemory memory;
  Bytes unpacked;
  memory.gathered = plan.live;
  std::map<DataType, bool> types;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ElementCount shard(padded_to(tensors[i].count, ranks).value() / ranks);
    types[tensors[i].type] = true;
    memory.parameters += bytes(i, ranks);
    memory.optimizer += optimizer_memory(request.workload.optimizer_states, shard, tensors[i].type);
    if (plan.is_persistent[i]) memory.gathered += bytes(i, 1);
  }
  memory.gradients = memory.parameters;
  for (const Bucket& fetch : plan.fetches) {
    if (fetch.size() == 1) continue;
    Bytes all;
    for (const std::size_t i : fetch) all += bytes(i, 1);
    unpacked = std::max(unpacked, all);
  }
  memory.gathered += unpacked;
  for (const auto& [type, has] : types) {
    const ElementCount bucket = fullest_bucket(zero, tensors, type);
    if (zero.is_contiguous) memory.buckets += zero.bucket_size * element_size(type);
    const auto wire = type_on_wire(request.common, type);
    if (!is_reduced_in_place(zero, bucket) || wire != type) {
      memory.buckets += bucket * element_size(wire);
    }
  }
  return memory;
}

}  // namespace paceline::training
