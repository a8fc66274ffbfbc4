#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/topology/fabric.h"
#include "sim/folded/folded_network.h"

namespace paceline::sim {

// One send of one round, reduced to what distinguishes endpoints and links.
struct SendRow {
  std::uint32_t from, to;    // endpoints
  std::uint32_t channel;     // of one call of one job: its channels take part apart
  topology::PortId out, in;  // of its path
  std::uint64_t kind;        // equal for sends of one round, one size and one latency
};

// Endpoints, channels and links in classes that behave alike. What is compared is the part that an
// endpoint has in a channel: every part of a class sends and receives the same kinds of transfers
// to and from parts of the same classes over the same classes of links. Every endpoint of a class
// has parts of the same classes, every channel of a class consists of parts of the same classes,
// and every link of a class is crossed by the same transfers. What starts alike then stays alike,
// at any time and whatever the rates (an equitable partition; found by colour refinement, McKay,
// Congressus Numerantium 30, 1981).
//
// So rings that enter a node each at another GPU are one class of channels, and the node's GPUs one
// class of endpoints: each is the first of one ring, the second of another.
class Symmetry {
 public:
  struct EndpointClass {
    std::vector<std::uint32_t> members;  // ascending, at least one
  };

  std::vector<std::uint32_t> endpoint_class;  // by endpoint
  std::vector<EndpointClass> endpoints;       // by first member
  std::vector<std::uint32_t> link_class;      // by link
  std::vector<LinkClass> links;
  std::vector<std::uint32_t> channel_class;  // by channel
  std::vector<std::uint64_t> parts;          // by class: how many there are

  // The class of an endpoint's part in a channel; nullopt where it neither sends nor receives.
  [[nodiscard]] std::optional<std::uint32_t> part_class(std::uint32_t channel,
                                                        std::uint32_t endpoint) const;

 private:
  friend class Refinement;
  // Channel by channel, by ascending endpoint.
  std::vector<std::uint32_t> part_endpoints_, part_classes_;
  std::vector<std::uint32_t> first_parts_;  // by channel, and the end
};

// The coarsest such partition that keeps endpoints and channels of different `colours` apart.
// Colours are compared as 64-bit hashes: that two differ and look alike has odds of 1 in 10^8 for a
// million of them. Precondition: sends are by ascending channel.
[[nodiscard]] Symmetry find_symmetry(const topology::Fabric& fabric,
                                     std::span<const std::uint64_t> colours,
                                     std::span<const std::uint64_t> channel_colours,
                                     std::vector<SendRow> sends);

}  // namespace paceline::sim
