#pragma once

#include "models/assumption.h"
#include "models/topology/cluster.h"
#include "scenarios/calibration/calibration.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// Gives a scenario's cluster the links that a calibration has, and says so among the assumptions:
// latency and bandwidth of the network where there are several nodes, of a node's own links where a
// node has several GPUs.
//
// A bandwidth is what messages were seen to get, so the network's efficiency becomes 1 and its
// framing none. What was measured between one pair is taken for one NIC, or one GPU's port; a lane
// of a mesh keeps its bandwidth. What a sweep or a setting gives stays, bandwidth, efficiency,
// framing and MTU together: it is what is asked for.
void take_links(const Calibration& calibration, const Scenario& scenario,
                topology::Cluster& cluster, Assumptions& assumptions);

}  // namespace paceline
