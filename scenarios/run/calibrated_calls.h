#pragma once

#include "scenarios/calibration/calibration.h"
#include "scenarios/run/resolve.h"

namespace paceline {

// Gives a point's calls the times that a calibration predicts for them, where it has their
// collective: they are not simulated then, and run one at a time. Says so among the assumptions,
// and where the point's group or its sizes are none of those that were measured. Nothing on one
// GPU. Throws InputError for a calibration whose times are impossible.
//
// Calls that are still simulated run on the links that it has (calibrated_cluster.h).
void apply_calibration(const Calibration& calibration, const Scenario& scenario,
                       PreparedPoint& prepared);

}  // namespace paceline
