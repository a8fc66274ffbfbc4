#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/units/units.h"

namespace paceline::compare {

// A collective call of a step.
struct Call {
  Bytes size;
  Seconds transfer;  // the shortest time that any rank was in it
  Seconds skew;      // from the first rank's start to the last one's
};

// A step that was predicted or measured.
struct Side {
  Seconds step;
  // Of the rank that ends last; nothing for published measurements.
  std::optional<Seconds> compute, exposed_communication;
  std::optional<Seconds> compute_spread;  // the longest computing rank's over the shortest one's
  std::optional<std::vector<Call>> calls;
  Seconds mad;  // of the step; 0 when predicted, or published
};

// The values of a point's axes by their paths, as the file spells them.
using Axes = std::map<std::string, std::string>;

struct Point {
  Axes axes;  // but for gpus; of traces, the run's name where a file has several
  std::uint32_t gpus = 1;
  std::optional<std::uint32_t> batch_per_gpu = std::nullopt;  // where it is told
  std::optional<Side> predicted, measured;
};

struct ResultFile {
  std::string path;
  std::vector<Point> points;
};

// Reads a paceline.result/1, or traces (scenarios/import), whose runs are measured but for those
// that say they were predicted. Of runs whose calls have no times, as recordings may not tell them,
// there are no calls. Throws InputError when the file cannot be read or is neither.
[[nodiscard]] ResultFile read_result(const std::string& path);

}  // namespace paceline::compare
