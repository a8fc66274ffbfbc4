#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/uncertain/belief.h"
#include "models/units/units.h"

namespace paceline::uncertain {

// What makes rows that were measured those of another machine or job than was described. Of causes
// that step times cannot tell apart the first here is the one to look at: its check is the cheapest
// that decides.
enum class Cause : std::uint8_t {
  unit,        // throughput is in another unit
  work,        // so many times the work in each step: batch or sequence, or passes (Told::passes)
  network,     // calls that leave their node
  node_links,  // calls in a node
  input,       // something serial, that more GPUs do not hasten: so many samples a second
  overlap,     // nothing hides
  straggler,   // the slowest rank computes so much longer
  shared,      // GPUs of a node compute slower beside each other: CPUs, PCIe, memory, power
  host,        // Unknown::host
  each_step,   // so much more of each step, whatever the number of GPUs
  one_gpu,     // one GPU has another speed: its precision, kernels or clock
};

constexpr auto words_of(Cause) {
  return words_up_to<Cause::one_gpu>("unit", "work", "network", "node_links", "input", "overlap",
                                     "straggler", "shared", "host", "each_step", "one_gpu");
}

// What a row's throughput was made from, or is in.
enum class Told : std::uint8_t {
  step,           // the step's time
  samples,        // samples a second
  steps,          // steps a second, of which all ranks take one
  steps_of_each,  // steps a second in sum over ranks
  of_each,        // samples a second of one GPU
  passes,         // the step's time, and it is accumulated passes that are so many times as many
};

// A measured step beside that of its description, with nothing known.
struct MeasuredStep {
  Response response;     // looked at as far as causes reach: a factor of `farthest`
  double measured = 0;   // the logarithm of the measured step over the one described
  Seconds step;          // described; above 0
  double samples = 0;    // of it, of all ranks; above 0
  Curve kernels = {};    // how it moves with what devices compute, beside what hosts take
  Seconds hidden = {};   // communication of it that compute hides
  bool is_time = false;  // the step was measured, and no throughput: it has no unit to read wrong
  bool is_outside = false;  // its 90 % interval: news
};

inline constexpr double farthest = 32;

struct Explanation {
  Cause cause = Cause::unit;
  // work, one_gpu and calls: how many times as long, or as much. straggler: how many times as long
  // as the others. shared: the part more for each further GPU of a node. input: samples a second.
  // host: as Unknown::host. each_step: seconds.
  double value = 1;
  Told told = Told::step;
  // The logarithm of how many times as likely all rows are by it as by the description, over what
  // its value may be, times how likely it is beforehand.
  double evidence = 0;
};

// How far from its description a row lies, in scales of Student's distribution: above 0 where it is
// slower. What quantities may be is stretched as little as gives what was measured.
[[nodiscard]] double surprise_of(const Priors& priors, const MeasuredStep& row);

// A row contradicts its description where it is farther off than one in a thousand: 8.61 scales.
inline constexpr double contradicting = 0.001;
[[nodiscard]] bool contradicts(const Priors& priors, const MeasuredStep& row);

// Causes each of which alone explains all rows of a machine and workload, those of one GPU among
// them; the likelier first. None where no row is outside. By its likeliest value all rows lie
// within 99.5 % together. Named are those that the likeliest, or that the description is right and
// rows lie outside by chance, is less than `told_apart` times as likely as (strong evidence: Kass
// and Raftery, JASA 90, 1995, 3.2). At most `named_at_most` are named.
// A first with evidence of 0 or less claims nothing: chance is likelier. What was learnt of the
// machine from others counts for causes and description alike.
inline constexpr double told_apart = 20;
inline constexpr std::size_t named_at_most = 4;
[[nodiscard]] std::vector<Explanation> explanations_of(const Priors& priors,
                                                       std::span<const MeasuredStep> rows,
                                                       std::span<const KnownRow> learnt = {});

}  // namespace paceline::uncertain
