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

// Endpoints, channels and links in classes that behave alike: an equitable partition, found by
// colour refinement (McKay, Congressus Numerantium 30, 1981). What starts alike stays alike.
//
// What is compared is an endpoint's part in a channel. Parts of the same class send and receive the
// same kinds of transfers, to and from parts of the same classes, over links of the same classes.
// Endpoints of a class have parts of the same classes, channels of a class consist of parts of the
// same classes, and links of a class are crossed by the same transfers.
//
// So rings that enter a node at different GPUs are one class of channels, and the node's GPUs one
// class of endpoints: each is the first of one ring and the second of another.
class Symmetry {
 public:
  std::vector<std::uint32_t> endpoint_class;  // by endpoint
  std::vector<std::uint32_t> link_class;      // by link
  std::vector<LinkClass> links;
  std::vector<std::uint32_t> channel_class;  // by channel
  std::vector<std::uint64_t> parts;          // by class: how many there are

  // The class of an endpoint's part in a channel; nullopt where it takes no part.
  [[nodiscard]] std::optional<std::uint32_t> part_class(std::uint32_t channel,
                                                        std::uint32_t endpoint) const;

 private:
  friend class Refinement;
  // Channel by channel, by ascending endpoint.
  std::vector<std::uint32_t> part_endpoints_, part_classes_;
  std::vector<std::uint32_t> first_parts_;  // by channel, and the end
};

// Returns the coarsest such partition that keeps endpoints and channels of different colours apart.
// Colours are 64-bit hashes: among a million of them two collide with odds of 1 in 10^8.
// Precondition: sends are by ascending channel.
[[nodiscard]] Symmetry find_symmetry(const topology::Fabric& fabric,
                                     std::span<const std::uint64_t> colours,
                                     std::span<const std::uint64_t> channel_colours,
                                     std::vector<SendRow> sends);

}  // namespace paceline::sim
