#include "models/workload/compiled.h"

#include <algorithm>

#include "models/workload/costs.h"

namespace paceline::workload {
namespace {

// null: nothing runs.
ModelledCost* cost_of(Layer& layer) {
  auto* cost = std::get_if<ModelledCost>(&layer.cost);
  const bool runs = cost != nullptr && cost->forward.activation_elements_per_sample > 0;
  return runs ? cost : nullptr;
}

bool joins(const Layer& layer, const Layer& before) {
  const double made = before.kept.output;
  return made > 0 && layer.kept.output == made && layer.kept.input >= made;
}

// Precondition: both are traffic.
void fuse(Layer& layer, Layer& before) {
  ModelledCost &own = *cost_of(layer), &other = *cost_of(before);
  const double between = before.kept.output;
  own.forward.activation_elements_per_sample -= between;
  if (!layer.kept.needs_input && !before.kept.needs_output) {
    other.forward.activation_elements_per_sample -= between;
  }
  own.backward.activation_elements_per_sample -= between;
  other.backward.activation_elements_per_sample -= between;
  layer.launched_before = true;
}

}  // namespace

Network compiled(const Network& network) {
  Network made = network;
  made.launching = Launching::compiled;
  Layer* before = nullptr;  // that runs
  for (Layer& layer : made.layers) {
    ModelledCost* const cost = cost_of(layer);
    if (cost == nullptr) continue;
    if (cost->work == Work::attention) cost->work = Work::compiled_attention;
    const bool follows =
        before != nullptr && cost->work == Work::traffic && cost_of(*before)->work == Work::traffic;
    if (follows && joins(layer, *before)) fuse(layer, *before);
    before = &layer;
  }
  return made;
}

Network in_graphs(const Network& network) {
  Network made = network;
  made.launching = Launching::graphs;
  bool is_first = true;
  for (Layer& layer : made.layers) {
    if (cost_of(layer) == nullptr) continue;
    layer.launched_before = !is_first;
    is_first = false;
  }
  return made;
}

Network in_float8(const Network& network) {
  constexpr double passes = 2.5;  // of 16 bits: two reads, and half as much written
  const auto is_product = [](const Layer& layer) {
    const auto* cost = std::get_if<ModelledCost>(&layer.cost);
    const bool is_adapter = layer.name.ends_with(".lora_A") || layer.name.ends_with(".lora_B");
    return cost != nullptr && cost->work == Work::product && !is_adapter;
  };
  const auto head =
      std::ranges::find_if(network.layers.rbegin(), network.layers.rend(), is_product);
  Network made = network;
  made.layers.clear();
  for (const Layer& layer : network.layers) {
    if (!is_product(layer) || &layer == &*head) {
      made.layers.push_back(layer);
      continue;
    }
    Layer casts{layer.name + ".to_float8", {}, {}, {}, {}, layer.block};
    const bool has_backward =
        std::get<ModelledCost>(layer.cost).backward.flops_per_sample > Flops(0);
    ModelledCost cost =
        traffic_cost(passes * layer.kept.input, has_backward ? passes * layer.kept.output : 0);
    cost.forward.parameter_elements = passes * layer.kept.cast_weights;
    casts.cost = cost;
    made.layers.push_back(casts);
    made.layers.push_back(layer);
    std::get<ModelledCost>(made.layers.back().cost).work = Work::float8_product;
  }
  return made;
}

Network channels_last(const Network& network) {
  Network made = network;
  for (Layer& layer : made.layers) {
    auto* const cost = std::get_if<ModelledCost>(&layer.cost);
    if (cost != nullptr && cost->work == Work::convolution) {
      cost->work = Work::channels_last_convolution;
    }
  }
  return made;
}

}  // namespace paceline::workload
