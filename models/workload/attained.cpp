#include "models/workload/attained.h"

#include <algorithm>
#include <cmath>

#include "models/contract.h"

namespace paceline::workload {
namespace {

// Before: convolutions are fed a third to twice of what fp32 units carry out a clock (64 to 128
// lanes, two operations); products attain two thirds of the peak; attention passes over its scores
// ten times, not four; FlashAttention attains 0.7 of what products do; weight decay, clipping and
// zeroing are a third of an unfused Adam; a layer and step has some ten kernels of 10 to 20 us of a
// Python host each. Convolutions that transpose nothing are twice as fast: ResNet-50 gains 30 %
// (Composer's documentation of channels_last, on V100 and A100), of which they are half. Scales and
// accumulation in two steps take an eighth of FP8's speed.
constexpr std::array<KnownQuantity, quantities> table{{
    {"convolution, fp32", 400, 0.7, 308, 0.17},
    {"convolution, tf32", 200, 0.7, 242, 0.21},
    {"convolution, 16 bits", 400, 0.7, 300, 0.13},
    {"product, fp32", 0.65, 0.2, 0.706, 0.09},
    {"product, tf32", 0.65, 0.2, 0.615, 0.15},
    {"product, 16 bits", 0.65, 0.2, 0.6, 0.18},
    {"attention's traffic, of LAYERS.md", 2.5, 0.4, 2.61, 0.24},
    {"fused attention, of products", 0.7, 0.4, 0.7, 0.4},
    {"grouped convolution, of convolutions", 0.7, 0.4, 0.668, 0.39},
    {"optimizer, of its operations alone", 1.3, 0.3, 2.68, 0.16},
    {"launches of a layer, s", 150e-6, 0.6, 200e-6, 0.09},
    {"convolution, 16 bits, channels last", 800, 0.7, 1130, 0.45},
    {"product in FP8, of one at 16 bits", 0.875, 0.2, 0.875, 0.2},
}};

double of(const Attained& attained, Quantity quantity) {
  return attained[static_cast<std::size_t>(quantity)];
}

// Which of three quantities in a row, by what computes.
std::size_t unit_of(Precision precision) {
  switch (precision) {
    case Precision::fp32: return 0;
    case Precision::tf32: return 1;
    case Precision::amp:
    case Precision::fp16:
    case Precision::bf16: return 2;
  }
  PACELINE_UNREACHABLE("a precision outside the enumeration");
}

bool is_convolution(Work work) {
  return work == Work::convolution || work == Work::channels_last_convolution ||
         work == Work::grouped_convolution;
}

double element_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

Seconds pass_time(const PassCost& cost, Work work, std::uint32_t batch, Precision precision,
                  const Device& device, const Attained& attained) {
  const double bytes = (cost.activation_elements_per_sample * batch + cost.parameter_elements) *
                       element_bytes(precision);
  const Seconds traffic(bytes / (device.memory_bandwidth * device.attained_memory).value());
  if (work == Work::traffic) return traffic;
  const Seconds arithmetic =
      arithmetic_time(cost.flops_per_sample * batch, work, precision, device, attained);
  if (work == Work::attention) {
    return arithmetic + traffic * of(attained, Quantity::attention_traffic);
  }
  if (work == Work::compiled_attention) return arithmetic + traffic;
  return std::max(traffic, arithmetic);
}

}  // namespace

std::uint64_t optimizer_passes(OptimizerKind kind, bool is_fused) {
  switch (kind) {
    case OptimizerKind::sgd: return 3;
    case OptimizerKind::sgd_momentum: return is_fused ? 5 : 8;
    case OptimizerKind::adam: return is_fused ? 7 : 18;
    case OptimizerKind::adam8bit: break;  // has a kernel of its own
  }
  PACELINE_UNREACHABLE("an optimizer without passes");
}

std::span<const KnownQuantity, quantities> known_quantities() { return table; }

const Attained& known_attained() {
  static const Attained known = [] {
    Attained values{};
    std::ranges::transform(table, values.begin(), &KnownQuantity::value);
    return values;
  }();
  return known;
}

Seconds arithmetic_time(Flops flops, Work work, Precision precision, const Device& device,
                        const Attained& attained) {
  const Device::Speed& speed = device.speed(precision);
  PACELINE_EXPECTS(speed.peak > FlopsPerSecond(0));
  if (speed.attained) return flops / (speed.peak * *speed.attained);
  const std::size_t unit = unit_of(precision);
  if (!is_convolution(work)) {
    double part = attained[static_cast<std::size_t>(Quantity::product_fp32) + unit];
    if (work == Work::fused_attention) part *= of(attained, Quantity::fused_attention);
    if (work == Work::float8_product) part *= 2 * of(attained, Quantity::float8_product);
    return flops / (speed.peak * part);
  }
  const double per_clock =
      work == Work::channels_last_convolution && element_bytes(precision) == 2
          ? of(attained, Quantity::channels_last)
          : attained[static_cast<std::size_t>(Quantity::convolution_fp32) + unit];
  const FlopsPerSecond fed = device.fp32.peak * (per_clock / (2 * device.fp32_lanes));
  const Seconds time = flops / speed.peak + flops / fed;
  if (work != Work::grouped_convolution) return time;
  return time / of(attained, Quantity::grouped_convolution);
}

TimedLayer time_layer(const Layer& layer, std::uint32_t batch, Precision precision,
                      const Device& device, const Attained& attained) {
  TimedLayer timed{layer.name, {}, {}, layer.parameters, layer.buffers, layer.block};
  timed.frozen = layer.frozen;
  if (const auto* given = std::get_if<GivenTime>(&layer.cost)) {
    timed.forward = given->forward;
    timed.backward = given->backward;
  } else {
    const auto& cost = std::get<ModelledCost>(layer.cost);
    timed.forward = pass_time(cost.forward, cost.work, batch, precision, device, attained);
    timed.backward = pass_time(cost.backward, cost.work, batch, precision, device, attained);
    timed.launched_before = layer.launched_before;
    timed.is_attention = is_attention(layer);
    timed.has_kernels = cost.forward.activation_elements_per_sample > 0 && !layer.launched_before;
  }
  return timed;
}

Seconds time_at_peak(const Network& network, std::uint64_t samples, Precision precision,
                     const Device& device, Seconds states) {
  constexpr double winograd = 2.25;
  const FlopsPerSecond peak = device.speed(precision).peak;
  Seconds products, traffic = states;
  if (peak <= FlopsPerSecond(0)) return {};
  for (const Layer& layer : network.layers) {
    const auto* cost = std::get_if<ModelledCost>(&layer.cost);
    if (cost == nullptr || cost->work == Work::traffic) continue;
    double times = 1;  // as much as at the peak
    if (precision == Precision::fp32 && is_convolution(cost->work)) times = winograd;
    if (cost->work == Work::float8_product) times = 2;
    const Seconds one = (cost->forward.flops_per_sample + cost->backward.flops_per_sample) / peak;
    products += one * (static_cast<double>(samples) / times);
    const double weights = cost->forward.parameter_elements * element_bytes(precision);
    traffic += Seconds(weights / device.memory_bandwidth.value());
  }
  return std::max(products, traffic);
}

Seconds optimizer_time(const Optimizer& optimizer, std::span<const TimedLayer> layers,
                       const Device& device, const Attained& attained) {
  Optimizer alone = optimizer;
  alone.ema = false;
  Bytes traffic, averages;
  for (const TimedLayer& layer : layers) {
    for (const ParameterTensor& tensor : layer.parameters) {
      const Bytes kept = optimizer_memory(alone, tensor.count, tensor.type);
      averages += tensor.count * element_size(tensor.type) +
                  tensor.count * element_size(DataType::float32) * 2;
      const std::uint64_t passes = has_fp32_copy(optimizer, tensor.type) ? 2 : 3;
      traffic += tensor.count * element_size(tensor.type) * passes + kept * 2;
    }
  }
  const bool fused = optimizer.fused || optimizer.kind == OptimizerKind::adam8bit;
  double times = 1;
  if (!fused) {
    times = of(attained, Quantity::optimizer) *
            static_cast<double>(optimizer_passes(optimizer.kind, false)) /
            static_cast<double>(optimizer_passes(optimizer.kind, true));
  }
  const Seconds averaging = optimizer.ema ? kernel_time(device, averages) : Seconds(0);
  return kernel_time(device, traffic) * times + averaging;
}

Launches launches_of(std::span<const TimedLayer> layers, const Attained& attained,
                     Launching launching) {
  const Seconds a_layer(of(attained, Quantity::launches));
  const auto launched = std::ranges::count_if(layers, [](const TimedLayer& layer) {
    const bool is_frozen = layer.parameters.empty() && !layer.frozen.empty();
    return !is_frozen && (layer.has_kernels || layer.launched_before);
  });
  const Seconds optimizer = a_layer * 0.1 * static_cast<double>(launched);
  // A replay of a CUDA graph is a whole call of a compiled graph: 44.3 us beside a GB200
  // (meta-pytorch/tritonbench, pull request 1017). Other hosts are as much faster or slower as with
  // other launches.
  const Seconds call(44.3e-6 * of(attained, Quantity::launches) /
                     of(known_attained(), Quantity::launches));
  switch (launching) {
    case Launching::eager:
    case Launching::compiled: return {a_layer * 0.45, a_layer * 0.45, optimizer};
    case Launching::graphs: return {call, call, optimizer};
  }
  PACELINE_UNREACHABLE("a way to launch outside the enumeration");
}

Seconds one_gpu_step(const OneGpu& run, const Attained& attained) {
  Workload one;
  for (const Layer& layer : run.network.layers) {
    one.layers.push_back(time_layer(layer, run.batch, run.precision, run.device, attained));
  }
  if (run.optimizer) {
    one.optimizer = optimizer_time(*run.optimizer, one.layers, run.device, attained);
  }
  return one.one_gpu_step(run.passes, launches_of(one.layers, attained, run.network.launching));
}

std::array<double, quantities> one_gpu_moves(const OneGpu& run) {
  const double centre = std::log(one_gpu_step(run, known_attained()).value());
  std::array<double, quantities> moves{};
  for (std::size_t q = 0; q < quantities; ++q) {
    const double own = table[q].spread;
    const bool of_host = static_cast<Quantity>(q) == Quantity::launches;
    const double spread = of_host ? std::hypot(own, host_spread) : own;
    Attained moved = known_attained();
    moved[q] *= std::exp(spread);
    moves[q] = std::log(one_gpu_step(run, moved).value()) - centre;
  }
  return moves;
}

double one_gpu_spread(const OneGpu& run) {
  double variance = source_spread * source_spread + row_spread * row_spread;
  for (const double by : one_gpu_moves(run)) variance += by * by;
  return std::sqrt(variance);
}

}  // namespace paceline::workload
