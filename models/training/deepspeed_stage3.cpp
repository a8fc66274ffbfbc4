#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "models/training/deepspeed.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using workload::DataType;
using workload::ParameterTensor;
using workload::TimedLayer;

// In the order in which layers run: a checkpointed segment again before its backward.
std::vector<Visit> visits_of(std::span<const TimedLayer> layers,
                             workload::Checkpoints checkpoints) {
  std::vector<Visit> visits;
  const auto add = [&](std::optional<std::size_t> layer, VisitKind kind) {
    visits.push_back({layer, kind, {}, {}, {}});
  };
  add(std::nullopt, VisitKind::forward);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) add(layer, VisitKind::forward);
  add(std::nullopt, VisitKind::backward);
  auto segments = workload::segments_of(layers, checkpoints);
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    if (!segments.empty() && segments.back().end == layer + 1) {
      for (std::size_t i = segments.back().begin; i <= layer; ++i) add(i, VisitKind::recompute);
      segments.pop_back();
    }
    add(layer, VisitKind::backward);
  }
  return visits;
}

class Coordinator {
 public:
  Coordinator(std::span<const TimedLayer> layers, workload::Checkpoints checkpoints,
              const FetchRule& rule)
      : rule_(rule) {
    for (const TimedLayer& layer : layers) {
      Bucket& own = tensors_of_.emplace_back();
      for (const ParameterTensor& tensor : layer.parameters) {
        own.push_back(tensors_.size());
        tensors_.push_back(tensor);
        plan_.is_persistent.push_back(tensor.count <= rule.threshold);
      }
    }
    is_live_ = plan_.is_persistent;
    last_use_.assign(tensors_.size(), 0);
    fetched_by_.resize(tensors_.size());
    plan_.visits = visits_of(layers, checkpoints);
    uses_of_.resize(tensors_.size());
    for (std::size_t v = 0; v < plan_.visits.size(); ++v) {
      std::uint64_t after = passed_.back();
      for (const std::size_t tensor : tensors_at(v)) {
        uses_.push_back({tensor, v});
        uses_of_[tensor].push_back(v);
        after += elements(tensor);
      }
      passed_.push_back(after);
    }
  }

  FetchPlan run() {
    for (std::size_t v = 0; v < plan_.visits.size(); ++v) {
      fetch(v);
      release(v);
    }
    return std::move(plan_);
  }

 private:
  struct Use {
    std::size_t tensor, visit;
  };

  [[nodiscard]] const Bucket& tensors_at(std::size_t visit) const {
    static const Bucket none;
    const auto layer = plan_.visits[visit].layer;
    return layer ? tensors_of_[*layer] : none;
  }
  [[nodiscard]] std::uint64_t elements(std::size_t tensor) const {
    return tensors_[tensor].count.value();
  }
  [[nodiscard]] Bytes bytes(std::size_t tensor) const {
    return tensors_[tensor].count * element_size(tensors_[tensor].type);
  }

  void fetch(std::size_t v) {
    Visit& visit = plan_.visits[v];
    Bucket missing;
    for (const std::size_t tensor : tensors_at(v)) {
      if (!is_live_[tensor]) missing.push_back(tensor);
    }
    visit.own = fetched(std::move(missing));
    for (const std::size_t tensor : tensors_at(v)) {
      const auto awaited = std::exchange(fetched_by_[tensor], std::nullopt);
      if (!awaited || is_awaited_[*awaited]) continue;
      is_awaited_[*awaited] = true;
      visit.awaited.push_back(*awaited);
    }
    // What it uses itself is not looked at again.
    while (next_ < uses_.size() && uses_[next_].visit <= v) mark(uses_[next_++]);
    if (rule_.prefetch > ElementCount(0)) visit.ahead = fetched(next_uses());
    plan_.live = std::max(plan_.live, live_bytes_);
  }

  // The parameters to fetch ahead.
  Bucket next_uses() {
    const std::uint64_t room = rule_.live.value() - std::min(rule_.live.value(), live_);
    const std::uint64_t most = std::min(room, rule_.prefetch.value());
    Bucket ahead;
    for (std::uint64_t held = 0; next_ < uses_.size() && held < most;) {
      const Use use = uses_[next_++];
      mark(use);
      if (is_live_[use.tensor]) continue;
      is_live_[use.tensor] = true;
      ahead.push_back(use.tensor);
      held += elements(use.tensor);
    }
    std::ranges::sort(ahead);
    return ahead;
  }

  void mark(const Use& use) { last_use_[use.tensor] = use.visit; }

  std::optional<std::size_t> fetched(Bucket tensors) {
    if (tensors.empty()) return std::nullopt;
    for (const std::size_t tensor : tensors) {
      is_live_[tensor] = true;
      fetched_by_[tensor] = plan_.fetches.size();
      live_ += elements(tensor);
      live_bytes_ += bytes(tensor);
    }
    plan_.fetches.push_back(std::move(tensors));
    is_awaited_.push_back(false);
    return plan_.fetches.size() - 1;
  }

  void release(std::size_t v) {
    for (const std::size_t tensor : tensors_at(v)) {
      // A use that was passed over; DeepSpeed counts its steps from the next one on.
      const bool is_skipped = last_use_[tensor] > v + 1;
      if (plan_.is_persistent[tensor] || is_skipped || comes_again(tensor, v)) continue;
      is_live_[tensor] = false;
      live_ -= elements(tensor);
      live_bytes_ -= bytes(tensor);
    }
  }

  // Whether less than the reuse distance is used between a visit and the tensor's next one.
  [[nodiscard]] bool comes_again(std::size_t tensor, std::size_t visit) const {
    const auto next = std::ranges::upper_bound(uses_of_[tensor], visit);
    if (next == uses_of_[tensor].end()) return false;
    return passed_[*next] - passed_[visit + 1] < rule_.reuse.value();
  }

  FetchRule rule_;
  FetchPlan plan_;
  std::vector<ParameterTensor> tensors_;
  std::vector<Bucket> tensors_of_;  // by layer
  std::vector<Use> uses_;           // of a whole pass, in its order
  std::size_t next_ = 0;            // of them that was neither fetched nor passed over
  std::vector<std::vector<std::size_t>> uses_of_;  // visits by tensor
  std::vector<std::uint64_t> passed_{0};           // elements used before each visit
  // By tensor: there or on its way; the visit up to which uses are provided for; the fetch that
  // brings it, until it is waited for.
  std::vector<bool> is_live_;
  std::vector<std::size_t> last_use_;
  std::vector<std::optional<std::size_t>> fetched_by_;
  std::vector<bool> is_awaited_;  // by fetch
  std::uint64_t live_ = 0;        // elements, without persistent ones
  Bytes live_bytes_;
};

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
  for (const auto& segment : workload::segments_of(std::span(layers), request.common.checkpoints)) {
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
    const bool is_backward = visit.kind == VisitKind::backward;
    const workload::Launches& launches = request_.common.host.launches;
    const Seconds launch = is_backward ? launches.backward : launches.forward;
    step_.operation(is_again ? layer.name + " again" : layer.name,
                    is_forward ? OperationKind::forward : OperationKind::backward,
                    is_backward ? backwards_[*visit.layer] : layer.forward,
                    layer.has_kernels ? launch : Seconds(0), gathered);
    if (!is_backward || layer.parameters.empty()) return;
    step_.hooks(layer.name, layer.parameters.size());
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
    const OperationId updated =
        step_.optimizer("optimizer", request_.workload.optimizer * (1.0 / ranks_), {});
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

FetchPlan plan_fetches(std::span<const TimedLayer> layers, workload::Checkpoints checkpoints,
                       const FetchRule& rule) {
  return Coordinator(layers, checkpoints, rule).run();
}

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
