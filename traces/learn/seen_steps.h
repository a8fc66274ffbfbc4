#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "traces/learn/matched_calls.h"
#include "traces/learn/step_profile.h"

namespace paceline::traces {

// What a run's steps are like over all that were traced, before one of them is taken for the rest.
struct SeenSteps {
  // Of those that all ranks have with a length, the longest of its ranks; ascending.
  std::vector<Seconds> lengths;
  // Of one rank; medians over its steps with a length (of two the lower).
  struct OfRank {
    Seconds length;
    Seconds busy;   // the device does anything
    Seconds input;  // the host waits for data: ranges of PyTorch's DataLoader
    // How much later than the first rank it began a collective, of each step the latest.
    Seconds late;
  };
  std::vector<OfRank> ranks;  // by trace
};

[[nodiscard]] SeenSteps seen_steps(std::span<const DeviceTrace> traces,
                                   std::span<const std::vector<StepProfile>> steps,
                                   const MatchedCalls& matched);

// Without backward pass, gradient or optimizer, though operations of the host are recorded:
// inference, or the evaluation between two epochs.
[[nodiscard]] bool is_forward_only(const DeviceTrace& trace);

// Ranks of the run: as recorded, or the most of any of its collectives; 0 where neither is told.
[[nodiscard]] std::uint32_t world_of(std::span<const DeviceTrace> traces);

}  // namespace paceline::traces
