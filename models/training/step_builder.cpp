#include "models/training/step_builder.h"

#include <utility>

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
  return compute("input", OperationKind::input, workload_.input, {});
}

void StepBuilder::forward(std::vector<OperationId> after) {
  input();
  if (settings_.gradient_accumulation > 1) {
    const double passes = settings_.gradient_accumulation - 1.0;
    compute("passes without reduction", OperationKind::forward,
            (workload_.forward() + workload_.backward()) * passes, std::exchange(after, {}));
  }
  compute("forward", OperationKind::forward, workload_.forward(), std::move(after));
}

void StepBuilder::backward(const GradientsReady& gradients_ready) {
  std::size_t tensors_left = tensors_.size();
  Seconds time;
  for (auto layer = workload_.layers.rbegin(); layer != workload_.layers.rend(); ++layer) {
    time += layer->backward;
    if (layer->parameters.empty()) continue;
    const OperationId done =
        compute(layer->name, OperationKind::backward, std::exchange(time, Seconds(0)), {});
    tensors_left -= layer->parameters.size();
    gradients_ready(*layer, tensors_left, done);
  }
  if (time > Seconds(0)) compute("backward", OperationKind::backward, time, {});
}

OperationId StepBuilder::copies(std::string name, std::span<const ParameterTensor> tensors,
                                std::uint64_t passes, std::vector<OperationId> after) {
  Seconds time;
  for (const ParameterTensor& tensor : tensors) {
    time += kernel_time(workload_.device, tensor.count * element_size(tensor.type) * passes);
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
  return program_.add({std::move(name), kind, lane, std::move(after), time});
}

OperationId StepBuilder::call(std::string name, CollectiveCall call,
                              std::vector<OperationId> after) {
  return call_on(communication_, std::move(name), std::move(call), std::move(after));
}

OperationId StepBuilder::call_on(LaneId lane, std::string name, CollectiveCall call,
                                 std::vector<OperationId> after) {
  return program_.add(
      {std::move(name), OperationKind::collective, lane, std::move(after), std::move(call)});
}

std::vector<Seconds> StepBuilder::compute_ends() const {
  std::vector<Seconds> ends;
  Seconds time;
  for (const Operation& operation : program_.operations) {
    if (operation.lane == compute_) time += std::get<Seconds>(operation.work);
    ends.push_back(time);
  }
  return ends;
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
  return call(std::move(name),
              {collectives::Collective::all_reduce,
               bucket_count(tensors_, bucket),
               element_size(type),
               Rank(0),
               {}},
              std::move(after));
}

void StepBuilder::cast_back(const Bucket& bucket, OperationId reduced) {
  if (const auto cast = cast_time(bucket)) {
    compute("cast back", OperationKind::copy, *cast, {reduced});
  }
}

StepProgram StepBuilder::finish(std::vector<OperationId> after) {
  compute("optimizer", OperationKind::optimizer, workload_.optimizer, std::move(after));
  return std::move(program_);
}

}  // namespace paceline::training
