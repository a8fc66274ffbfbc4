#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/topology/fabric.h"
#include "sim/folded_network.h"

namespace paceline::sim {

// One send of one round, reduced to what distinguishes endpoints and links.
struct SendRow {
  std::uint32_t from, to;    // endpoints
  topology::PortId out, in;  // of its path
  std::uint64_t kind;        // equal for sends of one round, one size and one latency
};

// Endpoints and links in classes that behave alike: every endpoint of a class sends and receives
// the same kinds of transfers to and from the same classes over the same classes of links, and
// every link of a class is crossed by the same transfers. What starts alike then stays alike, at
// any time and whatever the rates (an equitable partition; found by colour refinement, McKay,
// Congressus Numerantium 30, 1981).
struct Symmetry {
  struct EndpointClass {
    std::vector<std::uint32_t> members;  // ascending, at least one
  };

  std::vector<std::uint32_t> endpoint_class;  // by endpoint
  std::vector<EndpointClass> endpoints;       // by first member
  std::vector<std::uint32_t> link_class;      // by link
  std::vector<LinkClass> links;
};

// The coarsest such partition that keeps endpoints of different `colours` apart. Colours are
// compared as 64-bit hashes: that two differ and look alike has odds of 1 in 10^8 for a million of
// them.
[[nodiscard]] Symmetry find_symmetry(const topology::Fabric& fabric,
                                     std::span<const std::uint64_t> colours,
                                     std::span<const SendRow> sends);

}  // namespace paceline::sim
