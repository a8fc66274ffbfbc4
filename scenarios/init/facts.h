#pragma once

#include <string>
#include <vector>

#include "scenarios/doctor/doctor.h"
#include "scenarios/init/wishes.h"

namespace paceline::init {

// Of a traced run: its batch, device, ranks and nodes, as far as it says them, and the strategy
// that can use it. `folder` is that of the scenario, from which its paths start. Throws InputError.
[[nodiscard]] Facts facts_of_traces(const std::vector<std::string>& paths,
                                    const std::string& folder);

// Of a machine and the names that a driver gives its GPUs. Without GPUs its CPUs run the ranks.
[[nodiscard]] Facts facts_of_machine(const doctor::Examination& machine,
                                     const std::vector<std::string>& gpu_names);

}  // namespace paceline::init
