#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "models/topology/fabric.h"

namespace paceline {

// "NIC", and who shares one: "8 GPUs".
[[nodiscard]] std::string_view link_name(topology::LinkKind kind);
[[nodiscard]] std::string link_sharers(const topology::Link& link,
                                       const topology::Cluster& cluster);

// For people: what joins a cluster's GPUs; each kind of link, their number and who shares one; and
// one transfer from GPU 0 over each kind of path, without other traffic.
// Cost: O(links + endpoints).
void write_cluster(std::ostream& out, const topology::Cluster& cluster);

}  // namespace paceline
