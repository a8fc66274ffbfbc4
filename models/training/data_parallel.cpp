#include <array>
#include <string>
#include <utility>
#include <vector>

#include "models/assumption.h"
#include "models/training/buckets.h"
#include "models/training/step_builder.h"
#include "models/training/strategies.h"

// torch.nn.DataParallel: one process with a thread per GPU, on one node. In every pass
// (torch/nn/parallel/data_parallel.py, replicate.py; torch/csrc/cuda/comm.cpp, 2022):
// - GPU 0 scatters the inputs of all GPUs, and broadcasts parameters and buffers, coalesced to
//   10 MiB; one kernel first flattens a coalesced buffer of several tensors;
// - all GPUs run the forward; GPU 0 gathers the outputs, computes the loss, and scatters the
//   gradients of the outputs;
// - all GPUs run the backward; then gradients are reduced to GPU 0 in buffers of 10 MiB. One
//   autograd function broadcast all parameters, so its backward, which reduces them, comes last.
// Only GPU 0 runs the optimizer. Everything is on the current streams: nothing overlaps.
namespace paceline::training {
namespace {

using collectives::Collective;
using workload::ParameterTensor;

constexpr Bytes buffer_size(10'485'760);  // of broadcast_coalesced and reduce_add_coalesced
constexpr Rank first_gpu(0);

// An image of 224 x 224 pixels of three floats, and scores of ImageNet's classes.
constexpr Bytes image(224 * 224 * 3 * 4), scores(1000 * 4);

// Tensors that travel as one.
struct Coalesced {
  ElementCount count;
  workload::DataType type;
  bool is_flattened;  // of several
};

// take_tensors of comm.cpp closes its groups as assign_buckets does.
std::vector<Coalesced> coalesced(std::span<const ParameterTensor> tensors) {
  std::vector<Coalesced> all;
  for (const Bucket& bucket : assign_buckets(tensors, std::array{buffer_size})) {
    all.push_back({bucket_count(tensors, bucket), tensors[bucket.front()].type, bucket.size() > 1});
  }
  return all;
}

std::vector<ParameterTensor> buffers_of(const workload::Workload& workload) {
  std::vector<ParameterTensor> buffers;
  for (const workload::TimedLayer& layer : workload.layers) {
    for (const auto& buffer : layer.buffers) buffers.push_back({"", buffer.count, buffer.type});
  }
  return buffers;
}

// Every operation after the one before it.
class DataParallelStep {
 public:
  explicit DataParallelStep(const StrategyRequest& request) : request_(request), step_(request) {}

  StepProgram build() {
    if (const auto input = step_.input()) last_ = {*input};
    for (std::uint32_t pass = 0; pass < request_.common.gradient_accumulation; ++pass) {
      forward();
      backward();
    }
    last_ = {step_.optimizer("optimizer", request_.workload.optimizer, last_)};
    step_.only_on(first_gpu, last_.front());
    return step_.take();
  }

 private:
  void compute(std::string name, OperationKind kind, Seconds time) {
    last_ = {step_.compute(std::move(name), kind, time, last_)};
  }

  void call(std::string name, Collective collective, ElementCount count, ElementSize size) {
    last_ = {step_.call(std::move(name), {collective, count, size, first_gpu, {}}, last_)};
  }

  // `key` has the bytes of a sample.
  void call_on_samples(std::string name, Collective collective, std::string_view key) {
    const std::uint64_t samples =
        std::uint64_t{request_.workload.batch_per_gpu} * request_.cluster.ranks().value();
    const Bytes all = request_.settings.get<Bytes>(key) * samples;
    constexpr std::uint64_t float_size = 4;  // backends send no bytes
    call(std::move(name), collective, ElementCount((all.value() + float_size - 1) / float_size),
         ElementSize(float_size));
  }

  // Whether there was something to flatten.
  bool flatten(const Coalesced& one) {
    if (!one.is_flattened) return false;
    compute("flatten", OperationKind::copy, step_.kernel(one.count, one.type, 2));
    return true;
  }

  void broadcast(std::span<const ParameterTensor> tensors, const std::string& name) {
    for (const Coalesced& one : coalesced(tensors)) {
      if (flatten(one)) step_.only_on(first_gpu, last_.front());
      call(name, Collective::broadcast, one.count, element_size(one.type));
    }
  }

  void forward() {
    call_on_samples("scatter inputs", Collective::scatter, "input_size");
    broadcast(step_.tensors(), "parameters");
    broadcast(buffers_of(request_.workload), "buffers");
    const workload::Workload& workload = request_.workload;
    last_ = {step_.layers("forward", OperationKind::forward, workload.forward(), workload.layers,
                          last_)};
    call_on_samples("gather outputs", Collective::gather, "output_size");
  }

  void backward() {
    call_on_samples("scatter gradients of outputs", Collective::scatter, "output_size");
    const workload::Workload& workload = request_.workload;
    last_ = {step_.layers("backward", OperationKind::backward, workload.backward(), workload.layers,
                          last_)};
    for (const Coalesced& one : coalesced(step_.tensors())) {
      flatten(one);
      call("gradients", Collective::reduce, one.count, element_size(one.type));
    }
  }

  const StrategyRequest& request_;
  StepBuilder step_;
  std::vector<OperationId> last_;
};

constexpr AssumptionKind imagenet_size{
    "{}: {} is assumed to have {} bytes, as in an ImageNet classifier"};
constexpr AssumptionKind free_loss{
    "{}: the loss on GPU 0 is assumed to take no time, and threads not to delay each other"};

BuiltStep build_data_parallel(const StrategyRequest& request) {
  BuiltStep built{DataParallelStep(request).build(), {}};
  for (const auto& [key, what] :
       {std::pair{"input_size", "a sample's input"}, std::pair{"output_size", "its output"}}) {
    if (request.settings.is_given(key)) continue;
    built.assumptions.add({imagenet_size,
                           "data_parallel",
                           {what, std::to_string(request.settings.get<Bytes>(key).value())}});
  }
  built.assumptions.add({free_loss, "data_parallel"});
  return built;
}

std::optional<Refusal> refuse_data_parallel(const StrategyRequest& request) {
  if (workload::frozen_memory(request.workload.layers) > Bytes(0)) {
    return Refusal{"does not describe frozen parameters", "take ddp"};
  }
  if (request.cluster.nodes > 1) {
    return Refusal{
        "is one process on one node, and the cluster has " + std::to_string(request.cluster.nodes),
        "take strategy: ddp, or fewer GPUs"};
  }
  if (request.common.wire_type) {
    return Refusal{"reduces gradients in their own type", "leave out precision.gradient"};
  }
  return std::nullopt;
}

constexpr std::array data_parallel_keys{
    settings::Key{"input_size", settings::Size{}, settings::Value(image),
                  "of a sample, scattered from GPU 0; the default is an ImageNet picture's"},
    settings::Key{"output_size", settings::Size{}, settings::Value(scores),
                  "of a sample, gathered to GPU 0, and as much scattered back; the default is "
                  "ImageNet's classes"},
};

}  // namespace

constinit const Strategy data_parallel_strategy{
    .name = "data_parallel",
    .summary = "torch.nn.DataParallel: one process, all by way of GPU 0",
    .framework = "PyTorch",
    .keys = data_parallel_keys,
    .build = build_data_parallel,
    .refuse = refuse_data_parallel,
    .memory = model_and_flat_gradients,
    .copies = true,
};

}  // namespace paceline::training
