#pragma once

#include <cstdint>

#include "models/workload/checkpoints.h"
#include "models/workload/workload.h"

namespace paceline::workload {

// What the forward of `batch` samples keeps until the backward has read it, by what each layer
// needs (Kept; LAYERS.md). Each tensor counts once, whoever reads it. A layer that needs its input
// keeps the output of the layer right before it, or of the three that make it in equal parts
// (query, key, value), else of the last layer of its size (a branch), else a tensor of its own.
//
// An element has 4 bytes with fp32 and tf32, else 2. With amp what autocast computes in fp32 has 4,
// also beside a 16-bit copy that another layer needs (scores of attention: 6), and each product
// keeps a 16-bit copy of its weights. Source of what is computed in which type: the list of CUDA
// operations in PyTorch's documentation of torch.amp.
//
// Of a checkpointed segment only its input is kept, the output of the layer before it: with amp in
// fp32 where autocast computes that layer or the segment's first in fp32. The result is the most
// that is kept at once: when the backward begins, with three arrays of the logits' size in fp32, or
// when it has recomputed one of the segments, has freed what came after it, and still keeps what
// came before.
//
// Not in it: dropout's masks and outputs, statistics of normalisations, indices of embeddings,
// workspaces, and what a kernel needs while it runs.
[[nodiscard]] Bytes activation_bytes(const Network& network, std::uint32_t batch,
                                     Precision precision, Checkpoints checkpoints);

}  // namespace paceline::workload
