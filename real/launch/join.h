#pragma once

#include <memory>
#include <string>
#include <vector>

#include "real/launch/link.h"
#include "real/launch/rank_identity.h"
#include "real/launch/rendezvous.h"

namespace paceline::real {

struct Peer {
  Rank rank;
  std::string who;  // rank 3 (pid 4711 on host)
  std::unique_ptr<Link> link;
};

struct Joined {
  std::vector<Peer> peers;  // of rank 0: ranks 1, 2, ...; of another: rank 0
  std::string address;      // of this machine, over which the others are reached
  Seconds clock_offset{0};  // by which rank 0's steady clock is ahead
  Seconds clock_error{0};   // how wrong that may be
};

// Every rank calls it. All return, or all that found rank 0 throw with one line: UsageError for how
// they were started, else BackendError. Rank 0 takes over the rendezvous' listener.
// A rank connects to rank 0: hello; answer, with rank 0's proof of the secret; proof; pings, if it
// has another clock; and once all are there welcome, or else refusal.
[[nodiscard]] Joined join_group(const RankIdentity& identity, const Rendezvous& rendezvous,
                                Seconds connect);

}  // namespace paceline::real
