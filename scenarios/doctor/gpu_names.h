#pragma once

#include <string>
#include <vector>

#include "scenarios/doctor/doctor.h"

namespace paceline::doctor {

// What the driver calls the GPUs here, one by one: nvidia-smi says it where there is one; else what
// backends found. Empty: none.
[[nodiscard]] std::vector<std::string> gpu_names(const Examination& machine);

}  // namespace paceline::doctor
