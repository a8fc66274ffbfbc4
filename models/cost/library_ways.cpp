#include "models/cost/library_ways.h"

namespace paceline::cost {

using topology::Receives;
using topology::Transport;

std::optional<Receives> receives_of(Library library, std::optional<Library> under_plans,
                                    Transport transport) {
  const bool is_plan = library == Library::plan;
  if (is_plan && under_plans == Library::mpi) return Receives::announced_to_new_peers;
  if (transport != Transport::tcp) return std::nullopt;
  if (library == Library::gloo) return Receives::announced;
  if (is_plan && under_plans == Library::gloo) return Receives::announced_ahead;
  return std::nullopt;
}

std::optional<Bytes> rendezvous_above(Library library, Transport transport) {
  constexpr Bytes open_mpi{64 * 1024};
  const bool has_limit = library == Library::mpi && transport == Transport::tcp;
  return has_limit ? std::optional(open_mpi) : std::nullopt;
}

bool goes_over_neighbours(const topology::IntraNode& node, Library library, bool has_nvb,
                          bool copies) {
  return node.kind == topology::IntraNodeKind::nvlink_mesh && library == Library::nccl && has_nvb &&
         !copies;
}

std::uint32_t connections_of(Library library, std::uint32_t nics, const nccl::Channels& channels) {
  if (library != Library::nccl) return 1;
  const std::uint32_t found = nccl::channels_between_nodes(nics);
  return channels.exactly > 0 ? channels.exactly : channels.within(found);
}

}  // namespace paceline::cost
