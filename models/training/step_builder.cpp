#include "models/training/step_builder.h"

#include <algorithm>
#include <iterator>

namespace paceline::training {

using workload::ParameterTensor;
using workload::TimedLayer;

ElementCount padded_to(ElementCount count, std::uint64_t parts) {
  return ElementCount((count.value() + parts - 1) / parts * parts);
}

StepBuilder::StepBuilder(const StrategyRequest& request)
    : workload_(request.workload),
      settings_(request.common),
      tensors_(gradient_tensors(request.workload)),
      ranks_(request.cluster.ranks()) {
  compute_ = program_.add_lane({"compute", LaneKind::compute});
  communication_ = program_.add_lane(
      {"communication", LaneKind::communication, settings_.collectives_in_flight});
}

std::optional<OperationId> StepBuilder::input() {
  if (workload_.input <= Seconds(0)) return std::nullopt;
  const OperationId input = compute("input", OperationKind::input, workload_.input, {});
  host_waits_for({input});
  return input;
}

void StepBuilder::forward(std::vector<OperationId> after) {
  input();
  if (settings_.gradient_accumulation > 1) {
    passes_without_reduction(settings_.gradient_accumulation - 1, std::exchange(after, {}));
  }
  forward_pass(std::move(after));
}

// With launches the first and the last of them are as they are, as what bounds passes in between
// bounds one of these: each adds as much to launches and to kernels.
void StepBuilder::passes_without_reduction(std::uint32_t passes, std::vector<OperationId> after) {
  const bool has_launches = settings_.host.launches.any();
  const std::uint32_t alone = has_launches ? std::min(passes, 2U) : 0;
  const double together = passes - alone;
  const auto pass = [&] {
    forward_pass(std::exchange(after, {}));
    layers("backward", OperationKind::backward, workload_.backward(), workload_.layers, {});
  };
  if (alone > 0) pass();
  if (together > 0) {
    compute("passes without reduction", OperationKind::forward,
            (workload_.forward() + workload_.backward()) * together, std::exchange(after, {}));
  }
  if (alone < 2) return;
  const workload::Launches& launches = settings_.host.launches;
  const Seconds a_pass = workload_.launch_time(1, launches) - launches.optimizer;
  launched("passes without reduction", a_pass * together, {});
  pass();
}

void StepBuilder::forward_pass(std::vector<OperationId> after) {
  layers("forward", OperationKind::forward, workload_.forward(), workload_.layers,
         std::move(after));
}

void StepBuilder::backward(const GradientsReady& gradients_ready) {
  backward_with(&gradients_ready);
}

void StepBuilder::backward() { backward_with(nullptr); }

void StepBuilder::backward_with(const GradientsReady* gradients_ready) {
  const std::span<const TimedLayer> all = workload_.layers;
  std::size_t tensors_left = tensors_.size(), layers_left = all.size();
  Seconds time;
  for (std::size_t i = all.size(); i-- > 0;) {
    const TimedLayer& layer = all[i];
    time += layer.backward;
    if (layer.parameters.empty()) continue;
    const OperationId done =
        layers(layer.name, OperationKind::backward, std::exchange(time, Seconds(0)),
               all.subspan(i, std::exchange(layers_left, i) - i), {});
    tensors_left -= layer.parameters.size();
    if (gradients_ready == nullptr) continue;
    hooks(layer.name, layer.parameters.size());
    (*gradients_ready)(layer, tensors_left, done);
  }
  const bool is_launched = layers_left > 0 && settings_.host.launches.any();
  if (time == Seconds(0) && !is_launched) return;
  layers("backward", OperationKind::backward, time, all.first(layers_left), {});
}

OperationId StepBuilder::layers(std::string name, OperationKind kind, Seconds time,
                                std::span<const TimedLayer> layers,
                                std::vector<OperationId> after) {
  const workload::Launches& launches = settings_.host.launches;
  const bool is_forward = kind == OperationKind::forward;
  const auto launch_of = [&](const TimedLayer& layer) {
    return is_forward ? launches.of_forward(layer) : launches.of_backward(layer);
  };
  if (!launches.any() || layers.size() <= 1) {
    const Seconds launch = layers.empty() ? Seconds(0) : launch_of(layers.front());
    return operation(std::move(name), kind, time, launch, std::move(after));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const TimedLayer& layer = layers[is_forward ? i : layers.size() - 1 - i];
    operation(layer.name, kind, is_forward ? layer.forward : layer.backward, launch_of(layer),
              std::exchange(after, {}));
  }
  return last();
}

OperationId StepBuilder::optimizer(std::string name, Seconds time, std::vector<OperationId> after,
                                   double part) {
  return operation(std::move(name), OperationKind::optimizer, time,
                   settings_.host.launches.optimizer * part, std::move(after));
}

OperationId StepBuilder::operation(std::string name, OperationKind kind, Seconds time,
                                   Seconds launch, std::vector<OperationId> after) {
  after = launched(name, launch, std::move(after));
  last_compute_ = program_.add({std::move(name), kind, compute_, std::move(after), time});
  return *last_compute_;
}

void StepBuilder::hooks(const std::string& name, std::size_t gradients) {
  const Seconds time = settings_.host.per_gradient * static_cast<double>(gradients);
  launched(name + " hooks", time, {});
}

void StepBuilder::host_waits_for(const std::vector<OperationId>& ids) {
  for (const OperationId id : ids) {
    if (std::ranges::find(host_held_by_, id) == host_held_by_.end()) host_held_by_.push_back(id);
  }
}

std::vector<OperationId> StepBuilder::after_host(std::vector<OperationId> after) const {
  const bool is_new = last_launch_ && std::ranges::find(after, *last_launch_) == after.end();
  if (is_new) after.push_back(*last_launch_);
  return after;
}

std::vector<OperationId> StepBuilder::launch_on(LaneId lane, const std::string& name,
                                                std::vector<OperationId> after) {
  if (settings_.host.per_call == Seconds(0)) return after;
  return {program_.add(
      {name + " launch", OperationKind::launch, lane, std::move(after), settings_.host.per_call})};
}

std::vector<OperationId> StepBuilder::launched(const std::string& name, Seconds time,
                                               std::vector<OperationId> after) {
  if (!settings_.host.any()) return after;
  if (settings_.calls_hold_host) {
    std::vector<OperationId> calls;
    std::ranges::copy_if(after, std::back_inserter(calls), [&](OperationId id) {
      return call_of(program_.operations[id]) != nullptr;
    });
    host_waits_for(calls);
  }
  if (time > Seconds(0)) {
    if (!host_) {
      host_ = settings_.host.launches.take_turns ? compute_
                                                 : program_.add_lane({"host", LaneKind::host});
    }
    last_launch_ = program_.add(
        {name + " launch", OperationKind::launch, *host_, std::exchange(host_held_by_, {}), time});
  }
  return after_host(std::move(after));
}

OperationId StepBuilder::copies(std::string name, std::span<const ParameterTensor> tensors,
                                std::uint64_t passes, std::vector<OperationId> after) {
  Seconds time;
  for (const ParameterTensor& tensor : tensors) {
    time += kernel(tensor.count, tensor.type, passes);
  }
  return compute(std::move(name), OperationKind::copy, time, std::move(after));
}

OperationId StepBuilder::compute(std::string name, OperationKind kind, Seconds time,
                                 std::vector<OperationId> after) {
  last_compute_ = compute_on(compute_, std::move(name), kind, time, std::move(after));
  return *last_compute_;
}

OperationId StepBuilder::compute_on(LaneId lane, std::string name, OperationKind kind, Seconds time,
                                    std::vector<OperationId> after) {
  after = launched(name, Seconds(0), std::move(after));
  return program_.add({std::move(name), kind, lane, std::move(after), time});
}

OperationId StepBuilder::call(std::string name, CollectiveCall call,
                              std::vector<OperationId> after) {
  return call_on(communication_, std::move(name), std::move(call), std::move(after));
}

OperationId StepBuilder::call_on(LaneId lane, std::string name, CollectiveCall call,
                                 std::vector<OperationId> after) {
  after = launched(name, settings_.host.per_call, std::move(after));
  return program_.add(
      {std::move(name), OperationKind::collective, lane, std::move(after), std::move(call)});
}

void StepBuilder::only_on(Rank rank, OperationId compute) {
  auto& parts = program_.operations[compute].rank_parts;
  parts.assign(ranks_.value(), 0.0);
  parts[index(rank)] = 1.0;
}

workload::DataType StepBuilder::type_on_wire(workload::DataType type) const {
  return training::type_on_wire(settings_, type);
}

std::optional<Seconds> StepBuilder::cast_time(const Bucket& bucket) const {
  const auto type = tensors_[bucket.front()].type;
  if (type_on_wire(type) == type) return std::nullopt;
  return cast(bucket_count(tensors_, bucket), type, type_on_wire(type));
}

Seconds StepBuilder::kernel(ElementCount count, workload::DataType type,
                            std::uint64_t passes) const {
  return kernel_time(workload_.device, count * element_size(type) * passes);
}

Seconds StepBuilder::cast(ElementCount count, workload::DataType from,
                          workload::DataType to) const {
  return kernel_time(workload_.device, count * element_size(from) + count * element_size(to));
}

std::vector<OperationId> StepBuilder::cast_to_wire(const std::string& name, const Bucket& bucket,
                                                   std::vector<OperationId> after) {
  const auto cast = cast_time(bucket);
  if (!cast) return after;
  return {compute(name + " cast", OperationKind::copy, *cast, std::move(after))};
}

OperationId StepBuilder::all_reduce(std::string name, const Bucket& bucket,
                                    std::vector<OperationId> after) {
  after = cast_to_wire(name, bucket, std::move(after));
  const auto type = type_on_wire(tensors_[bucket.front()].type);
  return call(
      std::move(name),
      {collectives::Collective::all_reduce, bucket_count(tensors_, bucket), element_size(type)},
      std::move(after));
}

void StepBuilder::cast_back(const Bucket& bucket, OperationId reduced) {
  if (const auto cast = cast_time(bucket)) {
    compute("cast back", OperationKind::copy, *cast, {reduced});
  }
}

StepProgram StepBuilder::finish(std::vector<OperationId> after) {
  optimizer("optimizer", workload_.optimizer, std::move(after));
  return std::move(program_);
}

}  // namespace paceline::training
