#pragma once

#include "models/assumption.h"
#include "models/training/buckets.h"
#include "models/training/strategy.h"

namespace paceline::training {

// Of the keys of ddp_strategy.
[[nodiscard]] DdpSettings ddp_settings(const settings::Settings& settings);
[[nodiscard]] Assumptions ddp_assumptions(const DdpSettings& ddp);

}  // namespace paceline::training
