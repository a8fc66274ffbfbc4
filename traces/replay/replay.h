#pragma once

#include <cstddef>

#include "models/training/step_program.h"
#include "traces/learn/step_profile.h"

namespace paceline::traces {

// A traced step as a program, for one rank.
struct Replay {
  training::StepProgram program;
  std::size_t left_out = 0;  // calls on the device whose kind or size the trace does not tell
};

// The step from the end of the one before to its own. Compute is cut where calls become ready: each
// call waits for all compute before, and calls for one another, as on one stream; what the device
// does after the last call was made waits for the calls if it began when they were done. Calls take
// what they took, waiting for other ranks included. What the device or its host did nothing in
// counts as compute.
//
// Precondition: a step that has a length, of this trace.
[[nodiscard]] Replay replay_of(const DeviceTrace& trace, const StepProfile& step);

// How long the program takes on one rank, each call as long as it says.
[[nodiscard]] Seconds replayed(const training::StepProgram& program);

}  // namespace paceline::traces
