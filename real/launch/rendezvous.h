#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "real/launch/rank_identity.h"

namespace paceline::real {

// Where ranks meet: an address on which rank 0 listens, or a file in which it says where it does.
struct Rendezvous {
  std::string file;  // empty: they meet at the address
  std::string host;  // of rank 0
  std::uint16_t port = 0;
  std::string host_source, port_source;  // what to change when they are wrong
  std::vector<std::string> interfaces;  // beginnings of names; rank 0 publishes an address of these
  std::string secret;                   // that all ranks share; empty: none
  int listener = -1;  // a listening socket that rank 0 inherited and takes over; -1: makes its own
};

// `env://`, `tcp://host:port`, `tcp://[::1]:29500`, `file:///path`.
//
// env:// is MASTER_ADDR and MASTER_PORT (29500 when not set, as in torch). Without MASTER_ADDR:
// under Slurm the first host of the step, where rank 0 is, or SLURM_LAUNCH_NODE_IPADDR; under Open
// MPI with all ranks on one machine, that machine. Under torchrun whose agent holds MASTER_PORT
// itself (TORCHELASTIC_USE_AGENT_STORE), the port after it.
// PACELINE_SECRET_FILE: a file of 16 to 4096 bytes that its owner alone can access.
// PACELINE_CONTROL_FD: a listening socket for rank 0, inherited. Throws UsageError.
[[nodiscard]] Rendezvous parse_rendezvous(const std::string& text, const Environment& environment);

// The first name of Slurm's list: node01 of `node[01-04,7],gpu2`. Empty when the list is.
[[nodiscard]] std::string first_host(std::string_view list);

}  // namespace paceline::real
