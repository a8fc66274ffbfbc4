#pragma once

#include "scenarios/calibration/calibration.h"
#include "scenarios/run/resolve.h"

namespace paceline {

// Gives a point's calls the times that a calibration predicts for them, where it has their
// collective: they are not simulated then. Says so among the assumptions, and where the point's
// group is none of those that were measured. Nothing on one GPU.
void apply_calibration(const Calibration& calibration, PreparedPoint& prepared);

}  // namespace paceline
