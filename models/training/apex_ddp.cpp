#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "models/training/buckets.h"
#include "models/training/step_builder.h"
#include "models/training/strategies.h"

// NVIDIA apex's apex.parallel.DistributedDataParallel, apex/parallel/distributed.py as it was last
// (removed by cb65b8e in 2025); the iterations after the first:
// - buckets launch strictly in order, each when all its gradients are in and all buckets before it
//   have launched: one kernel on the compute stream flattens it; the rest is on a reduction stream,
//   beside the backward: a cast to fp32 and a division where they are asked for, the all-reduce,
//   the average, the cast back, and one kernel that unflattens (multi_tensor_scale);
// - so a bucket's all-reduce waits until the bucket before it is unflattened; with several streams,
//   each with a communicator, bucket i is on stream i modulo their number;
// - with delay_allreduce all this is after the backward on the compute stream, one bucket per type;
// - the optimizer runs when the streams are done. Buffers are not broadcast.
namespace paceline::training {
namespace {

constexpr AssumptionKind beside_the_backward{
    "{}: kernels on its reduction streams take the same time while the backward pass runs as "
    "alone, and do not slow it down"};
constexpr AssumptionKind launched_in_turn{
    "{}: all-reduces start in bucket order, whichever stream is free first"};

using workload::DataType;

// The types that apex has buckets of, in the order of the buckets that are left open.
constexpr std::array apex_types{DataType::float16, DataType::float32, DataType::float64};

bool has_apex_type(const workload::ParameterTensor& tensor) {
  return std::ranges::find(apex_types, tensor.type) != apex_types.end();
}

// fp16, fp32, fp64, then what apex refuses.
auto order_of(DataType type) { return std::pair{std::ranges::find(apex_types, type), type}; }

struct OpenBucket {
  Bucket bucket;
  ElementCount count;
};

class ApexStep {
 public:
  explicit ApexStep(const StrategyRequest& request)
      : settings_(request.settings),
        common_(with_streams(request)),
        step_({request.workload, request.cluster, request.settings, common_, request.traced}) {}

  BuiltStep build() {
    step_.forward({});
    if (settings_.get<bool>("delay_allreduce")) {
      reduce_after_backward();
    } else {
      reduce_beside_backward();
    }
    BuiltStep built{step_.finish(reduced_), {}};
    if (settings_.get<bool>("delay_allreduce")) return built;
    built.assumptions.add({beside_the_backward, "apex_ddp"});
    if (settings_.get<std::uint32_t>("num_allreduce_streams") > 1)
      built.assumptions.add({launched_in_turn, "apex_ddp"});
    return built;
  }

 private:
  // Each stream has a communicator of its own.
  static CommonSettings with_streams(const StrategyRequest& request) {
    CommonSettings common = request.common;
    common.collectives_in_flight = std::max(
        common.collectives_in_flight, request.settings.get<std::uint32_t>("num_allreduce_streams"));
    return common;
  }

  void reduce_after_backward() {
    step_.backward([](const auto&, std::size_t, OperationId) {});
    const ElementCount no_limit(std::numeric_limits<std::uint64_t>::max());
    const auto buckets = apex_buckets(step_.tensors(), no_limit);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const OperationId flattened = flatten(b, buckets[b]);
      reduced_ = {reduce(b, buckets[b], step_.compute_lane(), {flattened})};
    }
  }

  void reduce_beside_backward() {
    const ElementCount message_size(settings_.get<std::uint64_t>("message_size"));
    const auto buckets = apex_buckets(step_.tensors(), message_size);
    LaunchOrder order(buckets, step_.tensors().size());
    std::vector<LaneId> lanes;
    const auto streams = settings_.get<std::size_t>("num_allreduce_streams");
    for (std::size_t s = 0; s < std::min(streams, buckets.size()); ++s) {
      lanes.push_back(step_.add_lane({"reduction " + std::to_string(s), LaneKind::compute}));
    }
    step_.backward([&](const workload::TimedLayer& layer, std::size_t first, OperationId) {
      for (std::size_t i = 0; i < layer.parameters.size(); ++i) order.gradient_came(first + i);
      while (const auto b = order.next()) {
        const std::size_t stream = *b % lanes.size();
        std::vector<OperationId> after{flatten(*b, buckets[*b])};
        if (*b < lanes.size()) {
          reduced_.push_back(reduce(*b, buckets[*b], lanes[stream], std::move(after)));
        } else {
          after.push_back(reduced_[stream]);
          reduced_[stream] = reduce(*b, buckets[*b], lanes[stream], std::move(after));
        }
      }
    });
  }

  [[nodiscard]] DataType type_on_wire(const Bucket& bucket) const {
    const DataType type = step_.tensors()[bucket.front()].type;
    const bool is_float = type != DataType::int32 && type != DataType::int64;
    return is_float && settings_.get<bool>("allreduce_always_fp32") ? DataType::float32 : type;
  }

  // One kernel over the whole bucket that reads the one type and writes the other.
  [[nodiscard]] Seconds kernel(const Bucket& bucket, DataType from, DataType to) const {
    return step_.cast(bucket_count(step_.tensors(), bucket), from, to);
  }

  OperationId flatten(std::size_t number, const Bucket& bucket) {
    const DataType type = step_.tensors()[bucket.front()].type;
    return step_.compute("bucket " + std::to_string(number) + " flatten", OperationKind::copy,
                         kernel(bucket, type, type), {});
  }

  // All that comes after the flattening. Returns its last operation.
  OperationId reduce(std::size_t number, const Bucket& bucket, LaneId stream,
                     std::vector<OperationId> after) {
    const std::string name = "bucket " + std::to_string(number);
    const DataType type = step_.tensors()[bucket.front()].type;
    const DataType wire = type_on_wire(bucket);
    const bool casts = wire != type;
    const bool predivides = settings_.get<double>("gradient_predivide_factor") != 1.0;

    Seconds before;
    if (casts) before += kernel(bucket, type, wire);
    if (predivides) before += kernel(bucket, wire, wire);
    if (casts || predivides) {
      after = {step_.compute_on(stream, name + " prepare", OperationKind::copy, before,
                                std::move(after))};
    }
    const OperationId reduced =
        step_.call(name,
                   {collectives::Collective::all_reduce, bucket_count(step_.tensors(), bucket),
                    element_size(wire)},
                   std::move(after));
    Seconds behind = kernel(bucket, wire, wire);  // the average
    if (casts) behind += kernel(bucket, wire, type);
    if (!settings_.get<bool>("retain_allreduce_buffers")) behind += kernel(bucket, type, type);
    return step_.compute_on(stream, name + " average and unflatten", OperationKind::copy, behind,
                            {reduced});
  }

  const settings::Settings& settings_;
  CommonSettings common_;
  StepBuilder step_;
  std::vector<OperationId> reduced_;  // by stream, the last operation on it
};

BuiltStep build_apex_ddp(const StrategyRequest& request) { return ApexStep(request).build(); }

std::optional<Refusal> refuse_apex_ddp(const StrategyRequest& request) {
  if (request.common.wire_type) {
    return Refusal{"reduces gradients in their own type or in fp32",
                   "leave out precision.gradient, or set allreduce_always_fp32"};
  }
  if (request.settings.get<bool>("delay_allreduce") &&
      request.settings.get<std::uint32_t>("num_allreduce_streams") > 1) {
    return Refusal{
        "runs all-reduces after the backward with delay_allreduce, without streams of their own",
        "leave out delay_allreduce or num_allreduce_streams"};
  }
  const auto tensors = gradient_tensors(request.workload);
  const auto other = std::ranges::find_if_not(tensors, has_apex_type);
  if (other == tensors.end()) return std::nullopt;
  return Refusal{"reduces fp16, fp32 and fp64 only, and " + other->name + " is " +
                     std::string(to_text(other->type)),
                 "take strategy: ddp, or another precision"};
}

using settings::Count;
using settings::Flag;
using settings::Key;
using settings::Value;

// Defaults are those of DistributedDataParallel.__init__.
constexpr std::array apex_ddp_keys{
    Key{"message_size", Count{1, 1'000'000'000'000}, Value(std::uint64_t{10'000'000}),
        "elements, not bytes: a bucket that has so many is closed", "",
        settings::Needs{"delay_allreduce",
                        {"false"},
                        "has no effect: with delay_allreduce there are no buckets",
                        "leave one of the two out"}},
    Key{"delay_allreduce", Flag{}, Value(false),
        "all gradients are reduced after the backward, one buffer per type"},
    Key{"num_allreduce_streams", Count{1, 64}, Value(std::uint64_t{1}),
        "streams with a communicator each, to which buckets go in turn"},
    Key{"allreduce_always_fp32", Flag{}, Value(false), "gradients of other types are cast for it"},
    Key{"gradient_predivide_factor", settings::Number{0.001, 1e6}, Value(1.0),
        "one that is not 1 costs a division before the all-reduce"},
    Key{"retain_allreduce_buffers", Flag{}, Value(false),
        "gradients become views of the flat buffers, which are not copied back"},
};

}  // namespace

std::vector<Bucket> apex_buckets(std::span<const workload::ParameterTensor> tensors,
                                 ElementCount message_size) {
  std::map<decltype(order_of({})), OpenBucket> open_of;
  std::vector<Bucket> buckets;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    OpenBucket& open = open_of[order_of(tensors[i].type)];
    open.bucket.push_back(i);
    open.count += tensors[i].count;
    if (open.count < message_size) continue;
    buckets.push_back(std::exchange(open, {}).bucket);
  }
  for (auto& [type, open] : open_of) {
    if (!open.bucket.empty()) buckets.push_back(std::move(open.bucket));
  }
  return buckets;
}

constexpr TriedKey apex_ddp_tries[]{
    {"message_size", {"1000000", "2500000", "10000000", "25000000", "100000000"}}};

constinit const Strategy apex_ddp_strategy{
    .name = "apex_ddp",
    .summary = "NVIDIA apex's DistributedDataParallel: buckets by elements, overlapped or delayed",
    .framework = "apex",
    .keys = apex_ddp_keys,
    .build = build_apex_ddp,
    .refuse = refuse_apex_ddp,
    .memory = model_and_flat_gradients,
    .is_measured = true,
    .tries = apex_ddp_tries,
};

}  // namespace paceline::training
