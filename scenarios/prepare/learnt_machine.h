#pragma once

#include <vector>

#include "scenarios/calibration/learnt_steps.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// Throws InputError where steps were measured on a machine of another kind than the scenario's: its
// nodes joined by another transport, the GPUs of a node by other links, or hosts of another owner.
void expect_same_kind(const std::vector<LearntSteps>& learnt, const Scenario& scenario);

}  // namespace paceline
