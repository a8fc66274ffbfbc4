#include "models/workload/activations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace paceline::workload {
namespace {

struct KeptAs {
  bool narrow = false, wide = false;
};

// What layers keep that are added, in forward order, beside those that are skipped.
class KeptTensors {
 public:
  explicit KeptTensors(std::span<const Layer> layers) : layers_(layers), kept_(layers.size()) {}

  // A layer whose backward reads what it needs.
  void add(std::size_t layer) {
    const Kept& kept = layers_[layer].kept;
    if (kept.needs_input) keep_input(layer);
    if (kept.needs_output) keep(layer, kept.is_wide);
    scores_ += kept.scores;
    indices_ += kept.indices;
    cast(layer);
    skip(layer);
  }

  // A layer that is recomputed before its backward reads anything.
  void skip(std::size_t layer) {
    if (layers_[layer].kept.output > 0) last_of_size_[layers_[layer].kept.output] = layer;
  }

  void cast(std::size_t layer) { cast_weights_ += layers_[layer].kept.cast_weights; }

  // The input of a segment whose first layer this is; nothing where no layer makes it. That of
  // attention is Q, K and V.
  void keep_input_of_segment(std::size_t first) {
    if (is_attention(layers_[first])) return keep_input(first);
    for (std::size_t maker = first; maker-- > 0;) {
      if (layers_[maker].kept.output <= 0) continue;
      return keep(maker, layers_[maker].kept.is_wide || layers_[first].kept.is_wide);
    }
  }

  [[nodiscard]] Bytes size(std::uint32_t batch, Precision precision) const {
    const double wide = static_cast<double>(element_size(DataType::float32).value());
    const double narrow = static_cast<double>(element_size(DataType::float16).value());
    double of_sample = indices_ * static_cast<double>(element_size(DataType::int64).value());
    double of_batch = 0;
    if (precision == Precision::amp) {
      of_sample += (own_.narrow + sum(&KeptAs::narrow)) * narrow +
                   (own_.wide + sum(&KeptAs::wide)) * wide + scores_ * (narrow + wide);
      of_batch = cast_weights_ * narrow;
    } else {
      const bool is_wide = precision == Precision::fp32 || precision == Precision::tf32;
      of_sample += (any() + scores_) * (is_wide ? wide : narrow);
    }
    return Bytes(of_sample * batch + of_batch);
  }

 private:
  // Elements of a sample that are kept at all.
  [[nodiscard]] double any() const {
    double elements = own_.narrow + own_.wide;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i].narrow || kept_[i].wide) elements += layers_[i].kept.output;
    }
    return elements;
  }

  void keep(std::size_t layer, bool as_wide) {
    (as_wide ? kept_[layer].wide : kept_[layer].narrow) = true;
  }

  // The layer before this one that makes its input, or the three that do in equal parts; else none.
  [[nodiscard]] std::vector<std::size_t> makers_before(std::size_t layer) const {
    constexpr std::size_t parts = 3;
    const double input = layers_[layer].kept.input;
    std::vector<std::size_t> makers;
    while (layer-- > 0 && makers.size() < parts) {
      const double made = layers_[layer].kept.output;
      if (made <= 0) continue;
      if (made == input && makers.empty()) return {layer};
      if (made * parts != input) break;
      makers.push_back(layer);
    }
    if (makers.size() < parts) makers.clear();
    return makers;
  }

  void keep_input(std::size_t layer) {
    const Kept& kept = layers_[layer].kept;
    const auto makers = makers_before(layer);
    for (const std::size_t maker : makers) keep(maker, kept.is_wide);
    if (!makers.empty()) return;
    if (const auto same = last_of_size_.find(kept.input); same != last_of_size_.end()) {
      keep(same->second, kept.is_wide);
    } else {
      (kept.is_wide ? own_.wide : own_.narrow) += kept.input;
    }
  }

  [[nodiscard]] double sum(bool KeptAs::*as) const {
    double elements = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i].*as) elements += layers_[i].kept.output;
    }
    return elements;
  }

  std::span<const Layer> layers_;
  std::vector<KeptAs> kept_;                    // by layer, its output
  std::map<double, std::size_t> last_of_size_;  // of the layers so far
  struct {
    double narrow = 0, wide = 0;
  } own_;  // inputs that no layer makes
  double scores_ = 0, indices_ = 0, cast_weights_ = 0;
};

// What is kept once the layers up to `end` are done, and of their segments the one that begins at
// `recomputed` once more. nullopt: the forward is done, with autocast's copies.
Bytes kept_until(std::span<const Layer> layers, std::span<const Segment> segments, std::size_t end,
                 std::optional<std::size_t> recomputed, std::uint32_t batch, Precision precision) {
  KeptTensors tensors(layers);
  auto segment = segments.begin();
  for (std::size_t i = 0; i < end; ++i) {
    if (segment != segments.end() && i == segment->end) ++segment;
    const bool is_inside = segment != segments.end() && i >= segment->begin;
    if (is_inside && i == segment->begin) tensors.keep_input_of_segment(i);
    if (is_inside && recomputed != segment->begin) {
      tensors.skip(i);
      if (!recomputed) tensors.cast(i);
    } else {
      tensors.add(i);
    }
  }
  return tensors.size(batch, precision);
}

// Beside the softmax that a loss keeps: what that is wider than counted, and its gradient and that
// of the logits, all in fp32 (PyTorch's cross_entropy after a cast of the logits to fp32).
Bytes gradients_of_loss(std::span<const Layer> layers, std::uint32_t batch, Precision precision) {
  double logits = 0;
  for (const Layer& layer : layers) {
    if (layer.kept.needs_output && layer.kept.is_wide) logits += layer.kept.output;
  }
  const bool counts_narrow = precision == Precision::bf16 || precision == Precision::fp16;
  return Bytes(logits * batch * (counts_narrow ? 10 : 8));
}

}  // namespace

Bytes activation_bytes(const Network& network, std::uint32_t batch, Precision precision,
                       Checkpoints checkpoints) {
  const std::span<const Layer> layers = network.layers;
  const auto segments = segments_of(layers, checkpoints);
  Bytes most = kept_until(layers, segments, layers.size(), std::nullopt, batch, precision) +
               gradients_of_loss(layers, batch, precision);
  for (const Segment& segment : segments) {
    most =
        std::max(most, kept_until(layers, segments, segment.end, segment.begin, batch, precision));
  }
  return most;
}

}  // namespace paceline::workload
