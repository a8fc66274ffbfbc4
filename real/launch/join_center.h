#pragma once

#include "real/launch/join.h"

namespace paceline::real {

// Rank 0: listens until every other rank has come and says so to all, or says to all that have come
// why there will be no group, and throws the same line.
[[nodiscard]] Joined join_as_center(const RankIdentity& identity, const Rendezvous& rendezvous,
                                    Seconds connect);

}  // namespace paceline::real
