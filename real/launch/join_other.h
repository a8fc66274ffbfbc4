#pragma once

#include "real/launch/join.h"

namespace paceline::real {

// A rank other than 0: finds rank 0, connects, and waits until it says that all have come.
//
// Tries again for as long as `connect` allows: rank 0 may start last, and a file may be of an
// earlier run until rank 0 writes it anew. Once rank 0 has answered it decides within the same
// time.
[[nodiscard]] Joined join_center(const RankIdentity& identity, const Rendezvous& rendezvous,
                                 Seconds connect);

[[noreturn]] void fail_to_join(const std::string& line);

}  // namespace paceline::real
