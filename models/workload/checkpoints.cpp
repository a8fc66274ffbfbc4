#include "models/workload/checkpoints.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace paceline::workload {
namespace {

template <class AnyLayer>
std::vector<Block> blocks_in(std::span<const AnyLayer> layers) {
  std::vector<Block> blocks;
  std::ranges::transform(layers, std::back_inserter(blocks), &AnyLayer::block);
  return blocks;
}

bool attends(const Layer& layer) { return is_attention(layer); }
bool attends(const TimedLayer& layer) { return layer.is_attention; }

template <class AnyLayer>
std::vector<Segment> segments_in(std::span<const AnyLayer> layers, Checkpoints checkpoints) {
  if (!checkpoints.attention) return segments_of(blocks_in(layers), checkpoints);
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (attends(layers[i])) segments.push_back({i, i + 1});
  }
  return segments;
}

// Every so many-th.
std::vector<Segment> selected(std::vector<Segment> segments, std::uint32_t every) {
  std::size_t number = 0;
  std::erase_if(segments, [&](const Segment&) { return ++number % every != 0; });
  return segments;
}

}  // namespace

std::vector<Segment> segments_of(std::span<const Block> blocks, Checkpoints checkpoints) {
  std::vector<Segment> segments;
  if (checkpoints.blocks == 0) return segments;
  std::uint32_t in_segment = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i]) continue;
    const bool follows = i > 0 && blocks[i - 1].has_value();
    const bool begins_block = !follows || blocks[i - 1] != blocks[i];
    if (!follows || (begins_block && in_segment == checkpoints.blocks)) {
      segments.push_back({i, i});
      in_segment = 0;
    }
    if (begins_block) ++in_segment;
    segments.back().end = i + 1;
  }
  return selected(std::move(segments), checkpoints.every);
}

std::vector<Block> blocks_of(std::span<const TimedLayer> layers) { return blocks_in(layers); }

std::vector<Segment> segments_of(std::span<const Layer> layers, Checkpoints checkpoints) {
  return segments_in(layers, checkpoints);
}
std::vector<Segment> segments_of(std::span<const TimedLayer> layers, Checkpoints checkpoints) {
  return segments_in(layers, checkpoints);
}

void recompute(std::span<TimedLayer> layers, Checkpoints checkpoints) {
  for (const Segment& segment : segments_of(std::span<const TimedLayer>(layers), checkpoints)) {
    Seconds forward;
    std::uint32_t launched = 0;
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      forward += layers[i].forward;
      if (layers[i].has_kernels) ++launched;
    }
    layers[segment.end - 1].backward += forward;
    layers[segment.end - 1].recomputed = launched;
  }
}

}  // namespace paceline::workload
