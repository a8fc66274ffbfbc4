#pragma once

#include "scenarios/loader/data_files/preset_devices.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// Warns, and assumes, where the workload's device is a shipped one that machines of the preset do
// not have: its links are then those of other GPUs. One GPU alone has none, a trace tells no
// device, and of a file of one's own no preset can know. Precondition: the cluster has its size.
void expect_device(const PresetDevices& known, Section& workload, Scenario& scenario);

}  // namespace paceline::loader
