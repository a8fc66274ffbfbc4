#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/uncertain/belief.h"
#include "models/units/units.h"

namespace paceline::uncertain {

// What makes rows that were measured those of another machine or job than was described.
enum class Cause : std::uint8_t {
  batch,       // another, by a factor of 2 or 4
  one_gpu,     // one GPU has another speed: another batch or precision, mostly
  network,     // calls that leave their node
  node_links,  // calls in a node
  input,       // something serial, that more GPUs do not hasten: so many samples a second
  each_step,   // so much more of each step, whatever the number of GPUs
};
inline constexpr std::size_t causes = 6;

constexpr auto words_of(Cause) {
  return words_up_to<Cause::each_step>("batch", "one_gpu", "network", "node_links", "input",
                                       "each_step");
}

// A measured step of several GPUs beside that of its description, with nothing known.
struct MeasuredStep {
  Response response;    // looked at as far as causes reach: a factor of `farthest`
  double measured = 0;  // the logarithm of the measured step over the one described
  Seconds step;         // described; above 0
  double samples = 0;   // of it, of all ranks; above 0
};

inline constexpr double farthest = 32;

struct Explanation {
  Cause cause = Cause::batch;
  // Of the batch: how many times as large. Of one GPU and calls: how many times as long they take.
  // input: samples a second. each_step: seconds.
  double value = 1;
  double evidence = 0;  // the logarithm of the rows' density by it, over what its value may be
};

// Rows of one machine and workload that contradict their description, by their numbers, and what
// would explain all of them: at most two, the likelier first; none: nothing that is looked at does.
struct Contradiction {
  std::vector<std::size_t> rows;
  std::vector<Explanation> explanations;
};

// How far from its description a row lies, in scales of Student's distribution: above 0 where it is
// slower. What quantities may be is stretched as little as gives what was measured.
[[nodiscard]] double surprise_of(const Priors& priors, const MeasuredStep& row);

// A row contradicts its description where it is farther off than one in a thousand: 8.61 scales.
inline constexpr double contradicting = 0.001;

// Of rows of one machine and workload. Rows that contradict are explained together, and where
// nothing explains all, each by itself; an explanation holds where all of them are within 90 %
// together by it (each of n leaves a tenth / n outside), and none of the others contradicts it.
// Causes are weighed by the density that they give all rows, over values that are alike likely
// beforehand by their logarithm (so one that has to be met exactly weighs less than one that has
// not); the second is named unless the first is 20 times as likely (strong evidence: Kass and
// Raftery, JASA 90, 1995, 3.2).
[[nodiscard]] std::vector<Contradiction> contradictions(const Priors& priors,
                                                        std::span<const MeasuredStep> rows);

}  // namespace paceline::uncertain
