#pragma once

#include <iosfwd>

#include "models/topology/cluster.h"

namespace paceline {

// A cluster as predictions see it, for people: what joins its GPUs; each distinct kind of link, how
// many there are and who shares one; and one transfer from GPU 0 over each kind of path, with its
// links, its latency and its bandwidth without other traffic.
// Cost: O(links + endpoints).
void write_cluster(std::ostream& out, const topology::Cluster& cluster);

}  // namespace paceline
