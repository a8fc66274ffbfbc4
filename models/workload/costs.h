#pragma once

#include <algorithm>

#include "models/workload/workload.h"

namespace paceline::workload {

// What layers cost by the sizes of a sample: FLOPs, and elements that are moved. LAYERS.md has the
// rules and their reasons.

[[nodiscard]] inline ModelledCost traffic_cost(double forward, double backward) {
  return {{Flops(0), forward, 0}, {Flops(0), backward, 0}};
}

// The gradient has the weight's size.
[[nodiscard]] inline ModelledCost embedding_cost(double looked_up, double weights) {
  return {{Flops(0), 2 * looked_up, 0}, {Flops(0), 3 * looked_up, weights}};
}

// Convolutions and linear layers: the backward is two such products, but one in the first layer.
[[nodiscard]] inline ModelledCost product_cost(Work work, PassCost forward, bool is_first) {
  const double times = is_first ? 1 : 2;
  return {forward,
          {forward.flops_per_sample * times, times * forward.activation_elements_per_sample,
           times * forward.parameter_elements},
          work};
}

// `moved`: of queries, keys, values and the result. Scores are passed over four times; a fused
// kernel keeps none and computes them again, so that its backward is five products for two.
[[nodiscard]] inline ModelledCost attention_cost(Flops flops, double moved, double scores,
                                                 bool is_fused) {
  const double elements = moved + (is_fused ? 0 : 4 * scores);
  return {{flops, elements, 0},
          {flops * (is_fused ? 2.5 : 2), 2 * elements, 0},
          is_fused ? Work::fused_attention : Work::attention};
}

[[nodiscard]] inline PassCost sum_of(const PassCost& a, const PassCost& b) {
  return {a.flops_per_sample + b.flops_per_sample,
          a.activation_elements_per_sample + b.activation_elements_per_sample,
          a.parameter_elements + b.parameter_elements};
}

// Of what one layer does of both; products, if either is.
[[nodiscard]] inline ModelledCost sum_of(const ModelledCost& a, const ModelledCost& b) {
  return {sum_of(a.forward, b.forward), sum_of(a.backward, b.backward), std::max(a.work, b.work)};
}

}  // namespace paceline::workload
