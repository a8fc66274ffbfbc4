#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "real/launch/rank_identity.h"

namespace paceline::real {

// Where the ranks of a job meet: at an address on which rank 0 listens, or at a file in which rank
// 0 says where it does.
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
// env:// is MASTER_ADDR and MASTER_PORT (29500 when not set, as in torch). Without MASTER_ADDR it
// is, under Slurm, the first host of the step, where rank 0 is, or else SLURM_LAUNCH_NODE_IPADDR;
// under Open MPI with all ranks on one machine, that machine. Under torchrun, when its agent holds
// MASTER_PORT itself (TORCHELASTIC_USE_AGENT_STORE), the port after it.
// PACELINE_SECRET_FILE names the file of a secret that all ranks share: of 16 to 4096 bytes, and of
// its owner alone.
// PACELINE_CONTROL_FD is a listening socket for rank 0, left there by the process that started it.
// Throws UsageError.
[[nodiscard]] Rendezvous parse_rendezvous(const std::string& text, const Environment& environment);

// The first name of Slurm's list: node01 of `node[01-04,7],gpu2`. Empty when the list is.
[[nodiscard]] std::string first_host(std::string_view list);

}  // namespace paceline::real
