#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/stats/ratio_range.h"
#include "models/training/strategy.h"

namespace paceline::training {

// A step that was traced.
struct TracedWork {
  std::uint32_t ranks = 1;       // that were traced
  std::uint32_t world = 1;       // ranks of the run, traced or not
  StepProgram program;           // for `ranks`; calls take their traced times
  std::size_t calls = 0;         // collectives, among them:
  std::size_t untold_calls = 0;  // of unknown kind or size, which keep their traced times
  double untold_part = 0;        // of the step, in which such calls run
  std::size_t other_calls = 0;   // that neither reduce gradients nor broadcast buffers
  bool calls_as_traced = false;  // no call is to be predicted
  bool has_gradients = false;    // of known sizes, so that buckets can be filled anew
  std::vector<double> slowdown;  // by rank, of compute; beside that of the workload
  // The lengths of nine tenths of the traced steps, relative to this one's.
  RatioRange steps;
};

// Fills in calls, untold_calls and untold_part from the program, for a step of that length.
void count_calls(Seconds step, TracedWork& work);

// How much longer a step on another number of ranks may be because some traced ranks were late or
// computed longer than the median rank, whose compute all are given. 1 for one traced rank.
[[nodiscard]] double slowest_rank(const TracedWork& traced, Seconds step);

// Why the trace's collectives cannot be predicted on so many ranks; nullopt where they can.
[[nodiscard]] std::optional<Refusal> refuse_to_guess(const TracedWork& traced, std::uint32_t ranks);

}  // namespace paceline::training
