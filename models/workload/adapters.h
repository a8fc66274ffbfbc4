#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/workload/workload.h"

namespace paceline::workload {

// Low-rank adapters (LoRA: Hu et al., arXiv 2106.09685, 2021) beside products, whose names end so.
struct Adapters {
  std::uint64_t rank = 0;
  std::vector<std::string> targets;
};

// The network with its parameters frozen and adapters beside the targets, as PEFT (0.17,
// tuners/lora/layer.py) computes them: in -> rank -> out, added to what the product makes. Frozen
// products have no backward for their weights, and what stands before the first adapter has none.
[[nodiscard]] Network with_adapters(const Network& network, const Adapters& adapters);

// Whether a product of the network is called so, or ends so behind a dot.
[[nodiscard]] bool has_target(const Network& network, const std::string& target);

// Nothing runs backward before the first parameter that is trained, where any are frozen.
void drop_unreached_backward(std::vector<Layer>& layers);

}  // namespace paceline::workload
