#pragma once

#include "models/workload/workload.h"

namespace paceline::workload {

// The network as torch.compile runs it (inductor, mode default).
//
// Products and convolutions are calls of cuBLAS and cuDNN as before. Norms, pools, lookups and
// elementwise layers with nothing but such layers between them, and with outputs of one size, are
// one group, which the host launches with its first layer: what a layer makes stays in registers.
// In forward the next one does not read it, and it is written only where the backward reads it
// (Kept); in backward its gradient is neither written nor read. A norm that reads its input twice
// still does. Attention that is not fused keeps its products, and passes over its scores as
// LAYERS.md counts them: masks, scales and dropout join the softmax.
// Source: PyTorch 2.6, torch/_inductor/scheduler.py (can_fuse: loops of one size, memory that both
// touch; extern kernels stay apart); Ansel et al., "PyTorch 2", ASPLOS 2024, section 4.
// Not modelled: products with a fused epilogue (max-autotune), activations that the backward
// computes again in place of reading them (torch/_functorch/partitioners.py), and graphs that
// DDPOptimizer splits at buckets (torch/_dynamo/backends/distributed.py).
[[nodiscard]] Network compiled(const Network& network);

// The network with its kernels in CUDA graphs: the host launches all of a pass's forward with its
// first layer, and so its backward. Kernels take what they took.
// Source: PyTorch 2.6, torch/cuda/graphs.py (make_graphed_callables) and, of compiled networks,
// torch/_inductor/cudagraph_trees.py (mode reduce-overhead).
[[nodiscard]] Network in_graphs(const Network& network);

// The network with the products of its linear layers in FP8, but the last of them, as torchtitan
// leaves a head, and adapters. Scales are dynamic, of whole tensors: each operand of the three
// products is read for its greatest element, read again and written with one byte (torchao 0.8,
// torchao/float8/ float8_linear.py and float8_utils.py, tensorwise). Products of frozen weights
// have no third.
[[nodiscard]] Network in_float8(const Network& network);

// The network with the tensors of its convolutions laid out with channels side by side, which those
// in groups gain nothing from (attained.h).
[[nodiscard]] Network channels_last(const Network& network);

}  // namespace paceline::workload
