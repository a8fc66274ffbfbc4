#include "models/workload/adapters.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/workload/costs.h"

namespace paceline::workload {
namespace {

const ParameterTensor* matrix_of(const Layer& layer) {
  const auto found = std::ranges::find_if(layer.parameters, [](const ParameterTensor& tensor) {
    return tensor.rows && *tensor.rows != tensor.count;
  });
  return found == layer.parameters.end() ? nullptr : &*found;
}

bool is_called(const Layer& layer, const std::string& target) {
  const auto* cost = std::get_if<ModelledCost>(&layer.cost);
  if (cost == nullptr || cost->work != Work::product || matrix_of(layer) == nullptr) return false;
  return layer.name == target || layer.name.ends_with("." + target);
}

bool is_target(const Layer& layer, const Adapters& adapters) {
  return std::ranges::any_of(adapters.targets,
                             [&](const auto& target) { return is_called(layer, target); });
}

// A product without bias over so many rows of a sample.
Layer product(const Layer& beside, const char* suffix, double rows, double in, double out) {
  const double weights = in * out;
  const PassCost forward{Flops(2 * rows * weights), rows * (in + out), weights};
  const std::string name = beside.name + suffix;
  Layer made{name,
             {{name + ".weight", ElementCount(weights), DataType::float32, 0, ElementCount(out)}},
             {},
             product_cost(Work::product, forward, false),
             {rows * in, rows * out, true},
             beside.block};
  made.kept.cast_weights = weights;
  return made;
}

void add_adapter(const Layer& layer, std::uint64_t rank, std::vector<Layer>& layers) {
  const ParameterTensor& weight = *matrix_of(layer);
  const auto count = static_cast<double>(weight.count.value());
  const double out = static_cast<double>(weight.rows->value()), in = count / out;
  const double rows =
      std::get<ModelledCost>(layer.cost).forward.flops_per_sample.value() / (2 * count);
  const auto width = static_cast<double>(rank);
  layers.push_back(product(layer, ".lora_A", rows, in, width));
  layers.push_back(product(layer, ".lora_B", rows, width, out));
  Layer sum{layer.name + ".lora_add", {}, {}, {}, {}, layer.block};
  sum.cost = traffic_cost(3 * rows * out, 3 * rows * out);
  sum.kept = {2 * rows * out, rows * out};
  layers.push_back(std::move(sum));
}

void drop_backward(Layer& layer) {
  if (auto* cost = std::get_if<ModelledCost>(&layer.cost)) cost->backward = {};
  layer.kept.needs_input = layer.kept.needs_output = false;
  layer.kept.scores = layer.kept.indices = 0;
}

void freeze(Layer& layer) {
  std::ranges::move(layer.parameters, std::back_inserter(layer.frozen));
  layer.parameters.clear();
  auto* cost = std::get_if<ModelledCost>(&layer.cost);
  if (cost == nullptr || cost->work != Work::product) return;
  cost->backward = cost->forward;
  layer.kept.needs_input = false;
}

}  // namespace

bool has_target(const Network& network, const std::string& target) {
  return std::ranges::any_of(network.layers,
                             [&](const Layer& layer) { return is_called(layer, target); });
}

void drop_unreached_backward(std::vector<Layer>& layers) {
  if (std::ranges::all_of(layers, [](const Layer& layer) { return layer.frozen.empty(); })) return;
  for (Layer& layer : layers) {
    if (!layer.parameters.empty()) return;
    drop_backward(layer);
  }
}

Network with_adapters(const Network& network, const Adapters& adapters) {
  Network made = network;
  made.layers.clear();
  for (const Layer& layer : network.layers) {
    made.layers.push_back(layer);
    freeze(made.layers.back());
    if (is_target(layer, adapters)) add_adapter(layer, adapters.rank, made.layers);
  }
  drop_unreached_backward(made.layers);
  return made;
}

}  // namespace paceline::workload
