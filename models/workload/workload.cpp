#include "models/workload/workload.h"

#include <algorithm>

#include "models/contract.h"

namespace paceline::workload {

std::vector<ParameterTensor> parameters(const Network& network) {
  std::vector<ParameterTensor> all;
  for (const Layer& layer : network.layers) {
    all.insert(all.end(), layer.parameters.begin(), layer.parameters.end());
  }
  return all;
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

// Beside a parameter's own.
std::uint64_t optimizer_states(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd: return 0;
    case OptimizerKind::sgd_momentum: return 1;
    case OptimizerKind::adam: return 2;
  }
  PACELINE_UNREACHABLE("an optimizer outside the enumeration");
}

}  // namespace

bool has_fp32_copy(const Optimizer& optimizer, DataType type) {
  return optimizer.fp32_master && element_size(type) == ElementSize(2);
}

Bytes optimizer_memory(const Optimizer& optimizer, ElementCount parameters, DataType type) {
  const std::uint64_t states = optimizer_states(optimizer.kind);
  if (!has_fp32_copy(optimizer, type)) return parameters * element_size(type) * states;
  return parameters * element_size(DataType::float32) * (states + 1);
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

Seconds Workload::one_gpu_step(std::uint32_t passes) const {
  return input + (forward() + backward()) * passes + optimizer;
}

std::optional<double> factor_to(const Workload& workload, std::uint32_t passes, Seconds target,
                                bool scale_optimizer) {
  Seconds scaled = (workload.forward() + workload.backward()) * passes;
  if (scale_optimizer) scaled += workload.optimizer;
  const Seconds fixed = workload.one_gpu_step(passes) - scaled;
  if (target <= fixed || scaled <= Seconds(0)) return std::nullopt;
  return (target - fixed) / scaled;
}

void scale(Workload& workload, double factor, bool scale_optimizer) {
  for (TimedLayer& layer : workload.layers) {
    layer.forward = layer.forward * factor;
    layer.backward = layer.backward * factor;
  }
  if (scale_optimizer) workload.optimizer = workload.optimizer * factor;
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
