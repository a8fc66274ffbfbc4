#include "models/workload/activations.h"

#include <map>
#include <span>
#include <vector>

namespace paceline::workload {
namespace {

// In which types a tensor is kept.
struct KeptAs {
  bool narrow = false, wide = false;
};

class KeptTensors {
 public:
  explicit KeptTensors(std::span<const Layer> layers) : layers_(layers), kept_(layers.size()) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Kept& kept = layers[i].kept;
      if (kept.needs_input) keep_input(i);
      if (kept.needs_output) keep(i, kept.is_wide);
      if (kept.output > 0) last_of_size_[kept.output] = i;
    }
  }

  // Elements of a sample that are kept at least as 16 bits, and those kept as fp32.
  [[nodiscard]] double narrow() const { return own_.narrow + sum(&KeptAs::narrow); }
  [[nodiscard]] double wide() const { return own_.wide + sum(&KeptAs::wide); }
  // Those that are kept at all.
  [[nodiscard]] double any() const {
    double elements = own_.narrow + own_.wide;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i].narrow || kept_[i].wide) elements += layers_[i].kept.output;
    }
    return elements;
  }

 private:
  void keep(std::size_t layer, bool as_wide) {
    (as_wide ? kept_[layer].wide : kept_[layer].narrow) = true;
  }

  // The layer right before this one where that makes its input, or the three that do in equal
  // parts (query, key and value); else none.
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
};

}  // namespace

Bytes activation_bytes(const Network& network, std::uint32_t batch, Precision precision) {
  const KeptTensors tensors(network.layers);
  double scores = 0, indices = 0, cast_weights = 0;
  for (const Layer& layer : network.layers) {
    scores += layer.kept.scores;
    indices += layer.kept.indices;
    cast_weights += layer.kept.cast_weights;
  }
  const double wide = static_cast<double>(element_size(DataType::float32).value());
  const double narrow = static_cast<double>(element_size(DataType::float16).value());
  double of_sample = indices * static_cast<double>(element_size(DataType::int64).value());
  double of_batch = 0;
  if (precision == Precision::amp) {
    of_sample += tensors.narrow() * narrow + tensors.wide() * wide + scores * (narrow + wide);
    of_batch = cast_weights * narrow;
  } else {
    const bool is_wide = precision == Precision::fp32 || precision == Precision::tf32;
    of_sample += (tensors.any() + scores) * (is_wide ? wide : narrow);
  }
  return Bytes(of_sample * batch + of_batch);
}

}  // namespace paceline::workload
