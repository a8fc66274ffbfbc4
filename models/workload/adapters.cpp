#include "models/workload/adapters.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace paceline::workload {
namespace {

bool is_target(const Layer& layer, const Adapters& adapters) {
  const auto* cost = std::get_if<ModelledCost>(&layer.cost);
  if (cost == nullptr || cost->work != Work::product || layer.parameters.empty()) return false;
  const std::string_view name = layer.name;
  return std::ranges::any_of(adapters.targets, [&](const std::string& target) {
    return name == target || name.ends_with("." + target);
  });
}

// A product without bias over so many rows of a sample.
Layer product(const Layer& beside, const char* suffix, double rows, double in, double out) {
  const double weights = in * out;
  const PassCost one{Flops(2 * rows * weights), rows * (in + out), weights};
  const PassCost two{one.flops_per_sample * 2, 2 * one.activation_elements_per_sample, 2 * weights};
  const std::string name = beside.name + suffix;
  Layer made{name,
             {{name + ".weight", ElementCount(weights), DataType::float32, 0, ElementCount(out)}},
             {},
             ModelledCost{one, two, Work::product},
             {rows * in, rows * out, true},
             beside.block};
  made.kept.cast_weights = weights;
  return made;
}

void add_adapter(const Layer& layer, std::uint64_t rank, std::vector<Layer>& layers) {
  const ParameterTensor& weight = layer.parameters.front();
  const auto count = static_cast<double>(weight.count.value());
  const double out = static_cast<double>(weight.rows->value()), in = count / out;
  const double rows =
      std::get<ModelledCost>(layer.cost).forward.flops_per_sample.value() / (2 * count);
  const auto width = static_cast<double>(rank);
  layers.push_back(product(layer, ".lora_A", rows, in, width));
  layers.push_back(product(layer, ".lora_B", rows, width, out));
  Layer sum{layer.name + ".lora_add", {}, {}, {}, {}, layer.block};
  sum.cost = ModelledCost{{Flops(0), 3 * rows * out, 0}, {Flops(0), 3 * rows * out, 0}};
  sum.kept = {2 * rows * out, rows * out};
  layers.push_back(std::move(sum));
}

void freeze(Layer& layer, bool is_reached) {
  layer.frozen = std::move(layer.parameters);
  layer.parameters.clear();
  auto* cost = std::get_if<ModelledCost>(&layer.cost);
  if (cost == nullptr) return;
  if (!is_reached) {
    cost->backward = {};
    layer.kept.needs_input = layer.kept.needs_output = false;
    layer.kept.scores = layer.kept.indices = 0;
  } else if (cost->work == Work::product) {
    cost->backward = cost->forward;
    layer.kept.needs_input = false;
  }
}

}  // namespace

Network with_adapters(const Network& network, const Adapters& adapters) {
  Network made = network;
  made.layers.clear();
  bool is_reached = false;
  for (const Layer& layer : network.layers) {
    const bool is_adapted = is_target(layer, adapters);
    made.layers.push_back(layer);
    freeze(made.layers.back(), is_reached);
    if (is_adapted) add_adapter(layer, adapters.rank, made.layers);
    is_reached |= is_adapted;
  }
  if (!is_reached) made.layers.clear();
  return made;
}

}  // namespace paceline::workload
