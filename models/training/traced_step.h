#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/stats/ratio_range.h"
#include "models/training/strategy.h"

namespace paceline::training {

// A step that was run.
struct TracedWork {
  std::uint32_t ranks = 1;       // that it is of
  std::uint32_t world = 1;       // that the run had: as many, or more of which some were traced
  StepProgram program;           // for `ranks`; calls take what they took
  std::size_t calls = 0;         // collectives, of these:
  std::size_t untold_calls = 0;  // that can take nothing else: their kind or size is not known
  double untold_part = 0;        // of the step, in which such calls run
  std::size_t other_calls = 0;   // that reduce no gradients, and broadcast no buffers
  bool calls_as_traced = false;  // none is to be predicted
  bool has_gradients = false;    // of known sizes, so that buckets can be filled anew
  std::vector<double> slowdown;  // by rank, of compute; beside that of the workload
  // Of the lengths of all steps that were traced, 90 %, beside this one's.
  RatioRange steps;
};

// Fills in what of its program's calls, which take known times, counts above, of a step of such a
// length.
void count_calls(Seconds step, TracedWork& work);

// How much longer than this step that of another number of ranks may be because of what some of the
// traced ranks did: they were late, or computed longer than the median one, which all are taken
// for. 1 where one rank was traced.
[[nodiscard]] double slowest_rank(const TracedWork& traced, Seconds step);

// Why the trace's collectives cannot be predicted on so many ranks; nullopt: they can.
[[nodiscard]] std::optional<Refusal> refuse_to_guess(const TracedWork& traced, std::uint32_t ranks);

// The trace's own operations. On as many ranks as it has each rank computes what it did; on others
// all what the median rank did, and none is late. As it was on the ranks of a run of which some
// were traced these do what they did, and the others what the median one did. Calls are left to be
// predicted, but for those that are to take what they took, or can take nothing else. On one rank
// there are none of the former.
//
// Refuses what would be a guess: several ranks without a collective; calls that can take nothing
// else, on another number of ranks than the run had, or where they take 1 % of the step.
extern const Strategy traced_strategy;

}  // namespace paceline::training
