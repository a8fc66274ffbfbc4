#include "models/workload/workload.h"

#include <algorithm>
#include <ranges>

#include "models/contract.h"

namespace paceline::workload {

std::vector<ParameterTensor> parameters(const Network& network) {
  std::vector<ParameterTensor> all;
  for (const Layer& layer : network.layers) {
    all.insert(all.end(), layer.parameters.begin(), layer.parameters.end());
  }
  return all;
}

bool is_attention(const Layer& layer) {
  const auto* cost = std::get_if<ModelledCost>(&layer.cost);
  return cost != nullptr &&
         (cost->work == Work::attention || cost->work == Work::compiled_attention ||
          cost->work == Work::fused_attention);
}

const Device::Speed& Device::speed(Precision precision) const {
  switch (precision) {
    case Precision::fp32: return fp32;
    case Precision::tf32: return tf32;
    case Precision::amp:
    case Precision::fp16: return fp16;
    case Precision::bf16: return bf16;
  }
  PACELINE_UNREACHABLE("a precision outside the enumeration");
}

Seconds kernel_time(const Device& device, Bytes traffic) {
  return std::max(device.small_kernel_time,
                  traffic / (device.memory_bandwidth * device.attained_memory));
}

namespace {

Bytes optimizer_states(OptimizerKind kind, ElementCount parameters, ElementSize element) {
  constexpr std::uint64_t block = 256, least_of_8bit = 4096;
  switch (kind) {
    case OptimizerKind::sgd: return {};
    case OptimizerKind::sgd_momentum: return parameters * element;
    case OptimizerKind::adam: return parameters * element * 2;
    case OptimizerKind::adam8bit: {
      const ElementSize fp32 = element_size(DataType::float32);
      if (parameters < ElementCount(least_of_8bit)) return parameters * fp32 * 2;
      const ElementCount scales((parameters.value() + block - 1) / block);
      return (parameters * ElementSize(1) + scales * fp32) * 2;
    }
  }
  PACELINE_UNREACHABLE("an optimizer outside the enumeration");
}

}  // namespace

bool has_fp32_copy(const Optimizer& optimizer, DataType type) {
  return optimizer.fp32_master && element_size(type) == ElementSize(2);
}

Bytes optimizer_memory(const Optimizer& optimizer, ElementCount parameters, DataType type) {
  const Bytes fp32 = parameters * element_size(DataType::float32);
  const Bytes average = optimizer.ema ? fp32 : Bytes();
  if (!has_fp32_copy(optimizer, type)) {
    return optimizer_states(optimizer.kind, parameters, element_size(type)) + average;
  }
  const ElementSize wide = element_size(DataType::float32);
  return optimizer_states(optimizer.kind, parameters, wide) + fp32 + average;
}

Bytes frozen_memory(std::span<const TimedLayer> layers) {
  Bytes size;
  for (const TimedLayer& layer : layers) {
    for (const auto& tensor : layer.frozen) size += tensor.count * element_size(tensor.type);
  }
  return size;
}

Seconds Workload::forward() const {
  Seconds total;
  for (const TimedLayer& layer : layers) total += layer.forward;
  return total;
}

Seconds Workload::backward() const {
  Seconds total;
  for (const TimedLayer& layer : layers) total += layer.backward;
  return total;
}

Seconds Launches::of_forward(const TimedLayer& layer) const {
  return layer.has_kernels ? forward : Seconds(0);
}

Seconds Launches::of_backward(const TimedLayer& layer) const {
  const bool is_frozen = !layer.frozen.empty() && layer.backward == Seconds(0);
  return (layer.has_kernels && !is_frozen ? backward : Seconds(0)) + forward * layer.recomputed;
}

Seconds Workload::launch_time(std::uint32_t passes, const Launches& launches) const {
  Seconds a_pass;
  for (const TimedLayer& layer : layers) {
    a_pass += launches.of_forward(layer) + launches.of_backward(layer);
  }
  return a_pass * passes + launches.optimizer;
}

namespace {

// The step with kernels of the passes and of the optimizer so many times as long.
Seconds step_with(const Workload& workload, std::uint32_t passes, const Launches& launches,
                  double kernels = 1, double optimizer = 1) {
  const Seconds a_pass = (workload.forward() + workload.backward()) * kernels;
  const Seconds updates = workload.optimizer * optimizer;
  const Seconds launch_time = workload.launch_time(passes, launches);
  if (!launches.any() || launches.take_turns) {
    return workload.input + a_pass * passes + updates + launch_time;
  }
  Seconds launched = workload.input, ran = workload.input;
  const auto run = [&](Seconds launch, Seconds takes) {
    launched += launch;
    ran = std::max(ran, launched) + takes;
  };
  for (std::uint32_t pass = 0; pass < passes; ++pass) {
    for (const TimedLayer& layer : workload.layers) {
      run(launches.of_forward(layer), layer.forward * kernels);
    }
    for (const TimedLayer& layer : workload.layers | std::views::reverse) {
      run(launches.of_backward(layer), layer.backward * kernels);
    }
    if (pass > 0 || passes < 3) continue;
    // What bounds passes in between bounds the first or the last, as each adds the same to both.
    pass = passes - 2;
    launched += (launch_time - launches.optimizer) * ((passes - 2.0) / passes);
    ran += a_pass * (passes - 2);
  }
  run(launches.optimizer, updates);
  return ran;
}

// What bounds the step changes by `factor`, the other no more than it must to bound no more.
OneGpuFactors factors_at(double factor, double kernels, double launches, bool launches_given) {
  if (launches_given || launches <= 0) return {factor, 1};
  if (kernels >= launches) return {factor, std::min(1.0, factor * kernels / launches)};
  return {std::min(1.0, factor * launches / kernels), factor};
}

}  // namespace

Seconds Workload::one_gpu_step(std::uint32_t passes, const Launches& launches) const {
  return step_with(*this, passes, launches);
}

std::optional<OneGpuFactors> factors_to(const OneGpuTarget& target, const Workload& workload,
                                        const Launches& launches) {
  const Seconds passes = (workload.forward() + workload.backward()) * target.passes;
  if (passes <= Seconds(0)) return std::nullopt;
  const Seconds step = workload.one_gpu_step(target.passes);
  const Seconds launched = workload.launch_time(target.passes, launches);
  const auto at = [&](double factor) {
    return factors_at(factor, (step - workload.input).value(), launched.value(),
                      target.launches_given);
  };
  const auto step_at = [&](double factor) {
    const OneGpuFactors by = at(factor);
    return step_with(workload, target.passes, launches.times(by.launches), by.kernels,
                     target.scale_optimizer ? by.optimizer() : 1);
  };
  if (target.step <= step_at(0)) return std::nullopt;
  if (!launches.any()) {
    const bool is_shorter = target.step < step;
    const bool has_optimizer = is_shorter && target.scale_optimizer;
    const Seconds scaled = passes + (has_optimizer ? workload.optimizer : Seconds(0));
    return OneGpuFactors{(target.step - step) / scaled + 1, 1};
  }
  double least = 0, most = 1;
  while (step_at(most) < target.step) most *= 2;
  for (int halving = 0; halving < 60; ++halving) {
    const double half = (least + most) / 2;
    (step_at(half) < target.step ? least : most) = half;
  }
  return at(most);
}

void scale(Workload& workload, const OneGpuFactors& by, bool scale_optimizer) {
  for (TimedLayer& layer : workload.layers) {
    layer.forward = layer.forward * by.kernels;
    layer.backward = layer.backward * by.kernels;
  }
  if (scale_optimizer) workload.optimizer = workload.optimizer * by.optimizer();
}

Seconds step_at(std::span<const MeasuredStep> measured, std::uint32_t batch) {
  PACELINE_EXPECTS(measured.size() > 1);
  const auto at = std::ranges::lower_bound(measured, batch, {}, &MeasuredStep::batch);
  if (at != measured.end() && at->batch == batch) return at->step;
  const auto above = std::clamp(at, measured.begin() + 1, measured.end() - 1);
  const MeasuredStep &low = *(above - 1), &high = *above;
  const double samples = batch, of_low = low.batch, of_high = high.batch;
  const Seconds between = (high.step - low.step) / (of_high - of_low);
  if (samples > of_low && samples < of_high) return low.step + between * (samples - of_low);
  const Seconds each = std::max(between, Seconds(0));
  if (samples > of_high) return high.step + each * (samples - of_high);
  return std::max(low.step - each * (of_low - samples), low.step * (samples / of_low));
}

}  // namespace paceline::workload
