#pragma once

#include "scenarios/calibration/calibration.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {

// Plans a point's calls with the times that a calibration predicts for them, where it has their
// collective: they are not simulated then, and run one at a time. Says so among the assumptions,
// and where the point's group or its sizes are none of those that were measured. The others are
// planned on the links that it has (calibrated_cluster.h), as are all on one GPU (plan_calls).
// Throws InputError for a calibration whose times are impossible, or that cannot tell what a group
// carries: no log of as many ranks a node on a mesh, and no machine described, or a smaller one.
void plan_calibrated_calls(const Calibration& calibration, const Scenario& scenario,
                           PreparedPoint& prepared);

}  // namespace paceline
