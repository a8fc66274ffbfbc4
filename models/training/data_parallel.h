#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// torch.nn.DataParallel: one process with a thread a GPU, on one node. In every pass
// (torch/nn/parallel/data_parallel.py, replicate.py, _functions.py; torch/csrc/cuda/comm.cpp,
// 2022):
// - GPU 0 scatters the inputs of all, and broadcasts parameters and buffers, coalesced in buffers
// of
//   10 MiB: a buffer of several tensors is first flattened, one kernel that reads and writes it;
// - all run the forward; their outputs are gathered to GPU 0, which has the loss, and the gradients
//   of the outputs scattered from there;
// - all run the backward; then gradients are reduced to GPU 0 in buffers of 10 MiB. One autograd
//   function has broadcast all parameters, so its backward, which reduces them, follows all others.
// Only GPU 0 runs the optimizer. All of it is on the current streams: nothing overlaps.
extern const Strategy data_parallel_strategy;

}  // namespace paceline::training
