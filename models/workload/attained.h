#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "models/workload/workload.h"

namespace paceline::workload {

// What training attains of a device: one table of quantities with what is known of each, learnt
// from measured steps of one GPU (tests/bench/one_gpu_rows.csv by tests/bench/one_gpu.cpp).
//
// Products of matrices attain a part of the peak. Convolutions take flops / peak, and on top of
// that flops / (quantity x multiprocessors x clock): what feeds the units (registers, shared
// memory, caches) goes by the clock, and not by the peak of tensor cores. Multiprocessors x clock
// is the fp32 peak over twice the fp32 lanes. A layer takes that or its memory traffic, whichever
// is longer; attention its products and then its traffic, kernels of their own. A host launches
// layer after layer, which wait for that (Launches).
enum class Quantity : std::uint8_t {
  // FLOPs a multiprocessor and clock.
  convolution_fp32,
  convolution_tf32,
  convolution_16bit,
  // Parts of the peak.
  product_fp32,
  product_tf32,
  product_16bit,
  // Memory traffic over that of LAYERS.md: masks, scales and dropout in kernels of their own.
  attention_traffic,
  fused_attention,      // of what products attain; no row of it was at hand
  grouped_convolution,  // of convolutions
  // Memory traffic of an optimizer that is not fused, over that of its operations, a kernel each.
  optimizer,
  // Seconds of the host a layer: its forward, its backward and its part of the optimizer.
  launches,
  // FLOPs a multiprocessor and clock of convolutions at 16 bits whose tensors lie with channels
  // side by side, as tensor cores read them: others are transposed before and after each (cuDNN's
  // nchwToNhwcKernel and nhwcToNchwKernel; PyTorch's tutorial "Channels Last Memory Format").
  channels_last,
  // Of the part of their peak that products attain at 16 bits; the peak of FP8 is twice that one
  // (data sheets of L4, L40S, H100, H200, B200). No row of it was at hand.
  float8_product,
};
inline constexpr std::size_t quantities = 13;

using Attained = std::array<double, quantities>;

struct KnownQuantity {
  std::string_view name;
  double before;         // the centre of what was expected of it before any row was seen,
  double before_spread;  // and the standard deviation of its logarithm
  double value;          // likewise what the rows say
  double spread;
};
[[nodiscard]] std::span<const KnownQuantity, quantities> known_quantities();
[[nodiscard]] const Attained& known_attained();

// How steps of sources that are not among the rows scatter around the model, as the standard
// deviation of logarithms: what their code does that no description says, and each row by itself.
inline constexpr double source_spread = 0.12, row_spread = 0.15;
// Of the launches of hosts: fast and slow ones, and how a framework calls them.
inline constexpr double host_spread = 0.5;

// Precondition: the device has that arithmetic, unless the work is traffic.
[[nodiscard]] Seconds arithmetic_time(Flops flops, Work work, Precision precision,
                                      const Device& device, const Attained& attained);

// The time of a layer's kernels: arithmetic, which the device must have, or slower memory traffic.
[[nodiscard]] TimedLayer time_layer(const Layer& layer, std::uint32_t batch, Precision precision,
                                    const Device& device, const Attained& attained);

// What one GPU's forward and backward passes take at the device's peaks, and nothing else: no code
// is faster. Its products or, beside them, its memory's traffic: weights that are read once a step,
// and `states`, what the optimizer takes at the least to read and write what it keeps. Convolutions
// in fp32 may have 2.25 times fewer products (Winograd's F(2x2, 3x3); Lavin and Gray, CVPR 2016).
// 0 of given times, and of a device without the arithmetic. What a cache keeps from step to step,
// tens of MB, is not taken off.
[[nodiscard]] Seconds time_at_peak(const Network& network, std::uint64_t samples,
                                   Precision precision, const Device& device, Seconds states = {});

// Numbers read and written a parameter, by one kernel or by one for each operation (PyTorch's
// torch/optim/sgd.py and adam.py, _single_tensor_*); weight decay, clipping and zeroing beside them
// are Quantity::optimizer's. Precondition: not adam8bit.
[[nodiscard]] std::uint64_t optimizer_passes(OptimizerKind kind, bool is_fused);

// Of an optimizer over all parameters: they, their gradients, the states and the copies are each
// read once and, but for gradients, written once; with a copy its parameter is written only. Unless
// it is fused, kernels of their own for each operation read and write them again.
[[nodiscard]] Seconds optimizer_time(const Optimizer& optimizer, std::span<const TimedLayer> layers,
                                     const Device& device, const Attained& attained);

// Of these layers. Of what a layer takes 0.45 is its forward's, as much its backward's, and the
// rest its part of the optimizer: measured of five networks beside an H100 (tests/gpu/RESULTS.md).
// A compiled network has fewer launches that take as long: 20 to 44 us, eager ones 21 to 42
// (tests/gpu/results/host-costs-h100.json). Of CUDA graphs the first layer launches one in each
// pass forward and backward. No optimizer is compiled.
[[nodiscard]] Launches launches_of(std::span<const TimedLayer> layers, const Attained& attained,
                                   Launching launching);

// A step of one GPU without a wrapper. nullopt for its optimizer: none is counted.
struct OneGpu {
  const Network& network;
  std::uint32_t batch = 1, passes = 1;
  Precision precision = Precision::fp32;
  const Device& device;
  std::optional<Optimizer> optimizer = {};
};
[[nodiscard]] Seconds one_gpu_step(const OneGpu& run, const Attained& attained);

// How much the logarithm of that step grows when one quantity grows by its spread. Launches: by
// theirs and that of hosts.
[[nodiscard]] std::array<double, quantities> one_gpu_moves(const OneGpu& run);

// The standard deviation of the logarithm of that step: what each quantity is unsure by, hosts
// differ by, and steps of other sources are off by, taken as independent.
[[nodiscard]] double one_gpu_spread(const OneGpu& run);

}  // namespace paceline::workload
