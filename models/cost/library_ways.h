#pragma once

#include <cstdint>
#include <optional>

#include "models/cost/library_choice.h"
#include "models/cost/nccl_call.h"
#include "models/topology/cluster.h"

// How libraries use the links of a cluster, where nothing else was said.
namespace paceline::cost {

// The receive that a message of a library's call waits for. Paceline's own plans run on the library
// `under_plans`, if on any. Over TCP those of Gloo are announced by their receivers
// (gloo/transport/tcp/pair.cc), for its own collectives when they come to it, for Paceline's plans
// ahead. On MPI plans cut messages so short that it does not ask the receiver first; peers that
// were none in the round before they ask themselves, over any transport. nullopt: for nothing.
[[nodiscard]] std::optional<topology::Receives> receives_of(Library library,
                                                            std::optional<Library> under_plans,
                                                            topology::Transport transport);

// Longer messages take the rendezvous protocol: btl_tcp_eager_limit of Open MPI 4.1. nullopt: none.
[[nodiscard]] std::optional<Bytes> rendezvous_above(Library library, topology::Transport transport);

// Whether GPUs of a mesh without a lane between them use those to a GPU between: NCCL's do
// (from 2.9 on, unless that is off: `has_nvb`), those of other libraries and of CUDA's copies use
// the host.
[[nodiscard]] bool goes_over_neighbours(const topology::IntraNode& node, Library library,
                                        bool has_nvb, bool copies);

// Connections of a node to another one, one way: NCCL has a channel each, two for each NIC
// (nccl::channels_between_nodes) unless told otherwise; others one a pair of ranks.
[[nodiscard]] std::uint32_t connections_of(Library library, std::uint32_t nics,
                                           const nccl::Channels& channels);

}  // namespace paceline::cost
