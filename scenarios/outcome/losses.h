#pragma once

#include <string>
#include <vector>

#include "models/units/units.h"
#include "models/words.h"

namespace paceline {

struct PointOutcome;

// What n GPUs lose against n times one. A step is described, then put on its slowest rank, slowed
// by contention, and then waits for calls that nothing hides (step_terms.h): each part is what that
// adds to those before it. `rest`: what the step's own compute and launches take beyond one GPU's,
// or less, as where ranks divide the optimizer among them.
enum class LossKind { communication, stragglers, contention, copies, engine, input, rest };

constexpr auto words_of(LossKind) {
  return words_up_to<LossKind::rest>("exposed communication", "stragglers", "contention",
                                     "copies on the GPU", "waits and copies beside compute",
                                     "waiting for input (a node's CPUs)",
                                     "launches, hooks and optimizer");
}

struct Loss {
  LossKind kind{};
  Seconds time;  // of a step; below 0: a gain
};

struct Losses {
  std::vector<Loss> parts;   // together what the step takes beyond one GPU's; the largest first
  std::string largest_call;  // "bucket 3, 3ms of it, within the node; the longest of 5"; or empty
  double launches = 0;       // the part of the step in which a host launches and GPUs wait for it

  [[nodiscard]] Seconds all() const;
};

// Precondition: the outcome is predicted, with its trace, on several GPUs.
[[nodiscard]] Losses losses_of(const PointOutcome& outcome);

// "8 GPUs reach 4.6x; of the 3.4x lost 83 % is exposed communication, ...", and where launches take
// most of the step, which speedups do not show, that they do. Precondition: losses were found.
[[nodiscard]] std::string losses_in_words(const PointOutcome& outcome);

}  // namespace paceline
