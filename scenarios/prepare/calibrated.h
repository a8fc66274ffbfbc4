#pragma once

#include <vector>

#include "models/assumption.h"
#include "models/topology/cluster.h"
#include "scenarios/calibration/calibration.h"
#include "scenarios/prepare/resolve.h"

// Applies a calibration to a point.
namespace paceline {

// Gives a point's calls the times that a calibration predicts for them, where it has their
// collective: they are not simulated then, and run one at a time. Says so among the assumptions,
// and where the point's group or its sizes are none of those that were measured. Throws InputError
// for a calibration whose times are impossible, or that cannot tell what a group carries: no log of
// as many ranks a node on a mesh, and no machine described, or a smaller one.
void give_times(const Calibration& calibration, PreparedPoint& prepared);

// Replaces links of a scenario's cluster by those of a calibration, and says so among its
// assumptions: latency and bandwidth of the network between several nodes, and of the links in a
// node with several GPUs.
//
// A calibrated bandwidth is what messages achieved, so the network's efficiency becomes 1 and its
// framing none. One pair's bandwidth counts as one NIC's, or one GPU port's; lanes of a mesh keep
// theirs. Values of a sweep or a setting stay (bandwidth, efficiency, framing and MTU together),
// because they are the question.
void take_links(const Calibration& calibration, Scenario& scenario);

// Throws InputError where steps were measured on another kind of machine: another transport between
// nodes, other links in a node, or hosts run by others.
void expect_same_kind(const std::vector<LearntSteps>& learnt, const Scenario& scenario);

}  // namespace paceline
