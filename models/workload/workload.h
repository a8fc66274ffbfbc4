#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "models/units/data_type.h"
#include "models/words.h"

namespace paceline::workload {

using paceline::DataType;
using paceline::to_text;

struct ParameterTensor {
  std::string name;
  ElementCount count;
  DataType type = DataType::float32;
  std::uint32_t device = 0;  // which of a rank's devices holds it; 0 unless the model is split
  // Its first dimension, which divides its elements; nullopt: untold.
  std::optional<ElementCount> rows = {};
};

// A tensor that a forward pass changes and no gradient does (running statistics).
struct BufferTensor {
  ElementCount count;
  DataType type = DataType::float32;
};

// What a pass's arithmetic is, at rates of its own (attained.h), or memory traffic alone.
enum class Work {
  traffic,
  convolution,
  channels_last_convolution,
  grouped_convolution,
  product,
  float8_product,  // beside others at 16 bits
  attention,
  compiled_attention,  // masks, scales and dropout are in the kernel of the softmax
  fused_attention
};

// What one pass of a layer costs: arithmetic and memory traffic. LAYERS.md has the rule per kind.
struct PassCost {
  Flops flops_per_sample;
  double activation_elements_per_sample = 0;  // read and written, in elements
  double parameter_elements = 0;              // likewise, once whatever the batch
};

struct ModelledCost {
  PassCost forward;
  PassCost backward;
  Work work = Work::traffic;
};

struct GivenTime {
  Seconds forward;
  Seconds backward;
};

// What autograd keeps of a layer's forward (activations.h), in elements of a sample (LAYERS.md).
struct Kept {
  double input = 0, output = 0;  // what it reads of the layers before it, and what it makes
  bool needs_input = false, needs_output = false;
  bool is_wide = false;     // autocast computes it in fp32, and keeps what it needs so
  double scores = 0;        // of attention, after the softmax
  double indices = 0;       // int64, of the places of maxima
  double cast_weights = 0;  // that autocast makes 16-bit copies of, once whatever the batch
};

// Which of the network's blocks a layer is in, counted from 0: the repetitions of repeated layers,
// such as the layers of a transformer. nullopt: none.
using Block = std::optional<std::uint32_t>;

// Layers come in forward order, which is taken for the order of registration, too: buckets that are
// rebuilt go by it, those of a first iteration by registration (Llama's norms come last there).
struct Layer {
  std::string name;
  std::vector<ParameterTensor> parameters;  // in registration order
  std::vector<BufferTensor> buffers;
  std::variant<ModelledCost, GivenTime> cost;
  Kept kept = {};
  Block block = {};
  std::vector<ParameterTensor> frozen = {};  // beside `parameters`: no gradient is of these
  bool launched_before = false;              // with a layer before it (compiled.h)
};

[[nodiscard]] bool is_attention(const Layer& layer);

// What a host launches: each operation's kernels, those of a compiled graph, or CUDA graphs.
enum class Launching { eager, compiled, graphs };

// Of a network that only its parameters' shapes are known of: what its costs leave open.
struct FromShapes {
  std::vector<std::string> looked_up;  // layers that are taken for embeddings
  std::string without_output_size;     // the first weight whose work shapes do not tell; or empty
};

// Of the logarithm of a step from shapes alone: on an A100 steps of the zoo's BERT and GPT-2 are
// modelled 1.06 to 4.1 times as long as those of their lists of parameters (16 cases of amp and
// fp32, with and without fused attention); 0.57 is the root of the mean square. As lists lack work,
// the interval is wider by it above, and not below.
inline constexpr double from_shapes_spread = 0.57;

struct Network {
  std::string name;
  std::vector<Layer> layers;
  std::uint64_t sequence = 0;    // tokens of a sample; 0: it has none
  bool fuses_attention = false;  // unless told: its program calls scaled_dot_product_attention
  std::optional<FromShapes> from_shapes = {};
  Launching launching = Launching::eager;
  std::uint64_t window = 0;  // tokens that some layers look back at, as no cost knows; 0: all
};

// All tensors in registration order.
[[nodiscard]] std::vector<ParameterTensor> parameters(const Network& network);

// What the arithmetic runs in. amp: 16-bit products, fp32 parameters and gradients.
enum class Precision { fp32, tf32, amp, bf16, fp16 };

constexpr auto words_of(Precision) {
  return words_up_to<Precision::fp16>("fp32", "tf32", "amp", "bf16", "fp16");
}

struct Device {
  std::string name;
  double compute_capability = 8.0;  // as NVIDIA numbers it
  double fp32_lanes = 64;           // of a multiprocessor: products and sums of two numbers a clock
  BytesPerSecond memory_bandwidth;
  // The part of it that training kernels attain. ReLU, additions and batch normalisation of
  // ResNet-50 on a V100: 0.86 (trace of HolisticTraceAnalysis, 23.19 GB in 30.07 ms by LAYERS.md).
  double attained_memory = 0.85;
  // Of arithmetic, by precision. A peak of 0: the device has no such arithmetic.
  struct Speed {
    FlopsPerSecond peak;
    // The part of it that layers attain, as the device's file says; nullopt: as attained.h has it.
    std::optional<double> attained = {};
  };
  Speed fp32, tf32, fp16, bf16;
  Seconds small_kernel_time;   // the least time of any kernel, with what is between it and the next
  double multiprocessors = 0;  // 0: not said
  std::optional<Bytes> memory = {};

  [[nodiscard]] const Speed& speed(Precision precision) const;
};

// The time of an elementwise kernel over `traffic` bytes: memory's, but at least small_kernel_time.
[[nodiscard]] Seconds kernel_time(const Device& device, Bytes traffic);

// adam8bit: states of one byte, in blocks of 256 with a scale of fp32 each, those of tensors of
// fewer than 4096 elements in fp32 (bitsandbytes 0.45, optim/optimizer.py: min_8bit_size,
// init_state of Optimizer2State); one kernel a tensor.
enum class OptimizerKind { sgd, sgd_momentum, adam, adam8bit };

constexpr auto words_of(OptimizerKind) {
  return words_up_to<OptimizerKind::adam8bit>("sgd", "sgd_momentum", "adam", "adam8bit");
}

struct Optimizer {
  OptimizerKind kind = OptimizerKind::sgd_momentum;
  // 16-bit parameters have fp32 copies, which are what is optimized, and states of fp32 (apex O2;
  // ZeRO, section 3.1). Else states are of their parameter's type.
  bool fp32_master = false;
  bool fused = false;  // one kernel reads and writes each number once
  // A moving average of the parameters in fp32, made by a kernel of its own (PyTorch 2.6,
  // torch/optim/swa_utils.py, get_ema_multi_avg_fn: _foreach_lerp_).
  bool ema = false;
};

[[nodiscard]] bool has_fp32_copy(const Optimizer& optimizer, DataType type);

// What it keeps of these parameters from step to step: its states, and the copies.
[[nodiscard]] Bytes optimizer_memory(const Optimizer& optimizer, ElementCount parameters,
                                     DataType type);

struct TimedLayer {
  std::string name;
  Seconds forward;
  Seconds backward;
  std::vector<ParameterTensor> parameters;
  std::vector<BufferTensor> buffers;
  Block block = {};
  bool has_kernels = true;       // of its own, which the host launches
  std::uint32_t recomputed = 0;  // layers whose forward runs again in its backward
  std::vector<ParameterTensor> frozen = {};
  bool launched_before = false;  // has kernels, which the host launches with a layer's before it
  bool is_attention = false;
};

// What the frozen parameters of layers take.
[[nodiscard]] Bytes frozen_memory(std::span<const TimedLayer> layers);

// What a host's thread takes to launch a step's kernels on its GPU, which runs what was launched
// before. All 0: the host is never late.
struct Launches {
  Seconds forward, backward;  // of a layer, a pass
  Seconds optimizer;          // of all its kernels
  bool take_turns = false;    // with compute, which is the host's own

  [[nodiscard]] bool any() const { return std::max({forward, backward, optimizer}) > Seconds(0); }
  [[nodiscard]] Seconds of_forward(const TimedLayer& layer) const;
  [[nodiscard]] Seconds of_backward(const TimedLayer& layer) const;
  [[nodiscard]] Launches times(double factor) const {
    return {forward * factor, backward * factor, optimizer * factor, take_turns};
  }
};

// One rank's share of a step, before any strategy adds communication.
struct Workload {
  std::string name;
  std::vector<TimedLayer> layers;  // forward order
  Seconds optimizer;
  Seconds input;  // not overlapped with anything
  std::uint32_t batch_per_gpu = 1;
  Device device;
  Optimizer optimizer_states = {};
  std::optional<Bytes> activations = {};  // activations.h; nullopt: the layers do not tell

  [[nodiscard]] Seconds forward() const;
  [[nodiscard]] Seconds backward() const;
  // The plain model on one GPU: input, `passes` times forward and backward, optimizer. With
  // launches, which wait for the input, each layer runs when it is launched and the one before is
  // done: as the scheduler of steps has it (models/training/scheduler.h).
  [[nodiscard]] Seconds one_gpu_step(std::uint32_t passes, const Launches& launches = {}) const;
  // What the host takes to launch all of that.
  [[nodiscard]] Seconds launch_time(std::uint32_t passes, const Launches& launches) const;
};

// By how much kernels of forward and backward, and launches, take longer than modelled. A modelled
// optimizer takes its memory's traffic: it may be as much shorter, and is no longer.
struct OneGpuFactors {
  double kernels = 1, launches = 1;

  [[nodiscard]] double optimizer() const { return std::min(kernels, 1.0); }
};

// A measured step of one GPU; launches that are given stay, and so does an optimizer's given time.
struct OneGpuTarget {
  std::uint32_t passes;
  Seconds step;
  bool scale_optimizer;
  bool launches_given;
};
// Those with which the step takes that: what bounds it, kernels or launches, changes, and the other
// only where it would bound the step then. nullopt: what stays takes longer by itself.
[[nodiscard]] std::optional<OneGpuFactors> factors_to(const OneGpuTarget& target,
                                                      const Workload& workload,
                                                      const Launches& launches);
void scale(Workload& workload, const OneGpuFactors& by, bool scale_optimizer);

// What a step of one GPU took with so many samples a pass.
struct MeasuredStep {
  std::uint32_t batch;
  Seconds step;
};

// The step with another batch: a fixed part and one for each sample, as the measured steps with the
// batches around it have, or, beyond all, the nearest two, of which neither part is then below 0.
// Precondition: two or more, of ascending batches.
[[nodiscard]] Seconds step_at(std::span<const MeasuredStep> measured, std::uint32_t batch);

}  // namespace paceline::workload
