#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  std::string json = {};  // the text of a paceline.result/1; empty for traces
};

// Reads a paceline.result/1, or traces (scenarios/import), whose runs are measured but for those
// that say they were predicted. Of runs whose calls have no times, as recordings may not tell them,
// there are no calls. Throws InputError when the file cannot be read or is neither.
[[nodiscard]] ResultFile read_result(const std::string& path);

}  // namespace paceline::compare
