#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/units/units.h"
#include "models/words.h"

namespace paceline {

// What runs the collectives of a measured step: the backend's library, or the shared plans on
// messages between ranks.
enum class CollectiveMode { native, plan };

constexpr auto words_of(CollectiveMode) {
  using enum CollectiveMode;
  return std::array{Word{native, "native"}, Word{plan, "plan"}};
}

// How a point is measured.
struct MeasureSettings {
  CollectiveMode mode = CollectiveMode::native;
  // Steps before those that count: at least 2, since the first two iterations of DDP differ from
  // the rest, and connections are made then.
  std::uint32_t warmup = 3;
  std::uint32_t steps = 15;  // that count; at least 1

  friend bool operator==(const MeasureSettings&, const MeasureSettings&) = default;
};

// What was measured beside the spans of one step.
struct Measurement {
  std::string backend;
  CollectiveMode mode = CollectiveMode::native;
  std::vector<Seconds> steps;  // that count, in their order, each the maximum over ranks
  Seconds median, mad;         // of them; mad is the median absolute deviation
  // The part of the time of all CPUs of rank 0's machine that was spent working while steps ran,
  // 0..1: near 1 the machine, not the network, is what was measured.
  double cpu_busy = 0;
  Seconds clock_error;  // how far the clocks of two ranks may be apart; 0 on one machine
};

}  // namespace paceline
