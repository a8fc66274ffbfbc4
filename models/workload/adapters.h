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
// Empty of layers: no product is called so.
[[nodiscard]] Network with_adapters(const Network& network, const Adapters& adapters);

}  // namespace paceline::workload
