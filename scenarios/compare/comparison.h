#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/run/call_times.h"
#include "models/words.h"

namespace paceline::compare {

enum class Kind { predicted, measured };

constexpr auto words_of(Kind) { return words_up_to<Kind::measured>("predicted", "measured"); }

// A step that was predicted or measured.
struct Side {
  Seconds step;
  // Of the rank that ends last; nullopt for published measurements.
  std::optional<Seconds> compute, exposed_communication;
  std::optional<Seconds> compute_spread;  // the longest computing rank's over the shortest one's
  std::optional<std::vector<CallTimes>> calls;  // a result file tells size, transfer and skew
  Seconds mad;                                  // of the step; 0 when predicted, or published
};

// The values of a point's axes by their paths, as the file spells them.
using Axes = std::map<std::string, std::string>;

struct Point {
  Axes axes;  // but for gpus; of traces, the run's name where a file has several
  std::uint32_t gpus = 1;
  std::optional<std::uint32_t> batch_per_gpu = std::nullopt;  // where it is recorded
  std::optional<Side> predicted, measured;

  [[nodiscard]] const std::optional<Side>& side(Kind kind) const {
    return kind == Kind::predicted ? predicted : measured;
  }
};

struct ResultFile {
  std::string path;
  std::vector<Point> points;
  std::string json = {};                  // the text of a paceline.result/1; empty for traces
  std::vector<std::string> outside = {};  // FoundContradiction::sentence
};

// Reads a paceline.result/1, or traces (scenarios/import), whose runs are measured but for those
// that say they were predicted. Of runs whose calls have no times, as recordings may not tell them,
// there are no calls. Throws InputError when the file cannot be read or is neither.
[[nodiscard]] ResultFile read_result(const std::string& path);

enum class Cause { compute, bandwidth, latency, skew, rest };

constexpr auto words_of(Cause) {
  return words_up_to<Cause::rest>("compute", "bandwidth", "latency", "skew", "rest");
}
inline constexpr std::size_t causes = words_of(Cause{}).size();

// Into which parts the difference of communication could be split.
enum class NetworkPart {
  split,     // into bandwidth and latency
  one_size,  // the calls have about one size: all of it counts as bandwidth, and may be latency
  no_calls,  // a side lists no calls (paceline run --calls): the same
};

// Where the difference of a step lies: B's minus A's, in parts that add up to it.
struct Difference {
  Seconds step;
  Seconds parts[causes];  // by Cause
  NetworkPart network = NetworkPart::split;
  // More than noise: than twice both sides' deviations (MAD), and than a thousandth of the step.
  bool is_clear = false;

  [[nodiscard]] Seconds part(Cause cause) const { return parts[static_cast<std::size_t>(cause)]; }
  // The largest part.
  [[nodiscard]] Cause mostly() const;
};

// Splits the difference of two steps of a job on the same number of ranks.
//
// By definition a step is compute + exposed communication + time in which neither lane is busy, all
// of the rank that ends last.
// 1. Transfers. On each side the calls' transfer times (the shortest of any rank, so without
//    waiting) are fitted as a + b x size (fit_transfers). Their sum differs between the sides by
//    latency, the difference of a x calls; bandwidth, that of b x bytes; and the fits' residuals.
// 2. Only exposed communication matters: its difference counts as the transfers' as far as it has
//    their sign and does not exceed theirs, and is divided in proportion.
// 3. The remaining difference of exposed communication goes to compute as far as compute changed
//    the other way: longer compute hides more. The rest of it is waiting.
// 4. Skew. Waiting is skew as far as the calls' skews grew in sum; compute is skew as far as the
//    spread of the ranks' compute grew: the last rank was slower, not all of them.
// 5. rest: what is left, of 1, 3 and of time in which neither lane was busy.
//
// Limits. The spans are of one step. Calls in flight at once share the network, so each takes
// longer than alone; their sum is scaled, its shares stay. Which calls are exposed is not
// considered: where only small ones are, the part of latency is larger than reported. Calls of
// several algorithms lie on several lines. A change of bucket sizes shows as latency (other numbers
// of calls) and bandwidth (other sizes do not change the sum of bytes). Where one rank's straggling
// hides in communication that another cause prolongs, the causes are not additive, and this is one
// way to divide them.
[[nodiscard]] Difference difference_of(const Side& a, const Side& b);

struct PointPair {
  struct End {
    std::uint32_t gpus = 1;  // as many, but where each file is one point
    Kind is = Kind::predicted;
    Seconds step;
  };

  Axes axes;
  End a, b;
  double b_batch = 1;  // samples a GPU and step of B, over A's; 1 where they are not recorded
  Difference difference;
};

struct Comparison {
  std::string a, b;  // their names
  std::vector<PointPair> pairs;
  std::vector<std::string> alone;         // points without a partner, and whose
  std::vector<std::string> outside = {};  // what measured rows outside their intervals say
};

// How many times A's throughput B has.
[[nodiscard]] double speedup(const PointPair& pair);

// Pairs of points with the same GPUs and axes, in A's order; two files of one point each pair by
// axes alone. Of no kind: what was measured, else predicted.
[[nodiscard]] Comparison compare(const ResultFile& a, const ResultFile& b,
                                 std::optional<Kind> kind);

// What was predicted against what was measured at each point.
[[nodiscard]] Comparison compare_sides(const ResultFile& file);

// For people: a row a pair of points, then what its words stand for where it matters.
void write_text(std::ostream& out, const Comparison& comparison);

// paceline.comparison/1: SI base units, the unit in the key. One object, ends with a line break.
void write_json(std::ostream& out, const Comparison& comparison);

// The time of a call as latency + size / bandwidth.
struct TransferFit {
  Seconds latency;          // of a call, however small
  double seconds_per_byte;  // the inverse of a bandwidth
  bool has_sizes = false;   // else latency is not told apart: all is seconds_per_byte
};

// Robust, as a call that met an interruption must not tilt the line: the median time of each size,
// then the line of Theil and Sen through those, each pair weighted by the difference of its sizes
// (P. K. Sen, JASA 63, 1968; with weights: G. L. Sievers, JASA 73, 1978), its height the median of
// what is left. Neither coefficient is below 0. Sizes that differ by less than a factor of two
// are taken for one: from them the height would be extrapolated.
// Precondition: at least one call.
[[nodiscard]] TransferFit fit_transfers(std::span<const CallTimes> calls);

}  // namespace paceline::compare
