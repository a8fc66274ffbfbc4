#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/workload/workload.h"

namespace paceline::workload {

// Activation checkpointing: the forward keeps the inputs of segments only, and the backward of a
// segment begins with its forward once more.
// Source: Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016 (arXiv
// 1604.06174); PyTorch's checkpoint(), which runs the whole function again.
//
// Selective forms: of `every` segments the last one alone, the others keep all (torchtitan 0.1,
// parallelize_llama.py, _apply_ac_to_transformer_block with a number); or each attention by itself,
// whose scores are not kept and whose products run again (Korthikanti et al., "Reducing Activation
// Recomputation in Large Transformer Models", 2022, section 5).
struct Checkpoints {
  std::uint32_t blocks = 0;  // of a segment; 0: nothing is recomputed
  std::uint32_t every = 1;
  bool attention = false;  // segments are layers of attention, in place of blocks

  friend bool operator==(const Checkpoints&, const Checkpoints&) = default;
};

// Layers [begin, end).
struct Segment {
  std::size_t begin, end;

  friend bool operator==(const Segment&, const Segment&) = default;
};

// In forward order: each has `checkpoints.blocks` blocks that follow one another, or, before a
// layer outside of blocks and at the end, what is left of them. Layers outside of blocks are in
// none. `blocks` are those of the layers. Of these every `checkpoints.every`-th.
[[nodiscard]] std::vector<Segment> segments_of(std::span<const Block> blocks,
                                               Checkpoints checkpoints);

[[nodiscard]] std::vector<Block> blocks_of(std::span<const TimedLayer> layers);

// The same of layers, by their blocks or attention.
[[nodiscard]] std::vector<Segment> segments_of(std::span<const Layer> layers,
                                               Checkpoints checkpoints);
[[nodiscard]] std::vector<Segment> segments_of(std::span<const TimedLayer> layers,
                                               Checkpoints checkpoints);

// Adds the forward of each segment to the backward of its last layer, where it comes first.
void recompute(std::span<TimedLayer> layers, Checkpoints checkpoints);

}  // namespace paceline::workload
