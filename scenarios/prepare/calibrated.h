#pragma once

#include <vector>

#include "models/assumption.h"
#include "models/topology/cluster.h"
#include "scenarios/calibration/calibration.h"
#include "scenarios/prepare/resolve.h"

// What a calibration gives a point.
namespace paceline {

// Plans a point's calls with the times that a calibration predicts for them, where it has their
// collective: they are not simulated then, and run one at a time. Says so among the assumptions,
// and where the point's group or its sizes are none of those that were measured. The others are
// planned on the links that it has (take_links), as are all on one GPU (plan_calls).
// Throws InputError for a calibration whose times are impossible, or that cannot tell what a group
// carries: no log of as many ranks a node on a mesh, and no machine described, or a smaller one.
void plan_calibrated_calls(const Calibration& calibration, const Scenario& scenario,
                           PreparedPoint& prepared);

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

// Throws InputError where steps were measured on a machine of another kind than the scenario's: its
// nodes joined by another transport, the GPUs of a node by other links, or hosts of another owner.
void expect_same_kind(const std::vector<LearntSteps>& learnt, const Scenario& scenario);

}  // namespace paceline
