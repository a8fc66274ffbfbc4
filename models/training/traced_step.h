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
  bool has_servers = false;      // that hosts push to and pull from
  bool calls_as_traced = false;  // no call is to be predicted
  bool has_gradients = false;    // of known sizes, so that buckets can be filled anew
  std::vector<double> slowdown;  // by rank, until its compute is done, over that of the workload
  // The lengths of nine tenths of the traced steps, relative to this one's.
  RatioRange steps;
};

// Fills in calls, untold_calls, untold_part and has_servers from the program, for a step of that
// length.
void count_calls(Seconds step, TracedWork& work);

// The traced rank that each rank of a replay computes, and begins as late, as: on as many ranks the
// same, on more all of them in turn, on fewer those at even steps from the fastest to the slowest.
// One rank alone takes the median.
[[nodiscard]] std::vector<Rank> ranks_traced_for(const TracedWork& traced, std::uint32_t ranks);

// Why the trace's collectives cannot be predicted on so many ranks; nullopt where they can.
[[nodiscard]] std::optional<Refusal> refuse_to_guess(const TracedWork& traced, std::uint32_t ranks);

}  // namespace paceline::training
