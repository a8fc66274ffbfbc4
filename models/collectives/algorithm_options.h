#pragma once

#include <cstdint>
#include <string>

#include "models/units/units.h"

namespace paceline::collectives {

// What may be said about an algorithm beyond its name. Each looks at its own and ignores the rest.
struct AlgorithmOptions {
  std::uint32_t channels = 0;     // rings, trees or chains at a time; 0: what the topology offers
  Bytes chunk_size;               // of pipelined algorithms; 0: the algorithm's own
  std::string inner;              // hierarchical: inside a node; empty: ring
  std::string outer;              // hierarchical: across nodes; empty: ring
  std::uint32_t servers = 0;      // parameter server; 0: one a node
  bool separate_servers = false;  // on machines of their own instead of beside ranks

  friend bool operator==(const AlgorithmOptions&, const AlgorithmOptions&) = default;
  friend auto operator<=>(const AlgorithmOptions&, const AlgorithmOptions&) = default;
};

}  // namespace paceline::collectives
