#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/units/data_type.h"
#include "models/units/units.h"
#include "models/words.h"

namespace paceline {

// What runs a measured step's collectives: the backend's library, or our plans on messages.
enum class CollectiveMode { native, plan };

constexpr auto words_of(CollectiveMode) {
  return words_up_to<CollectiveMode::plan>("native", "plan");
}

// The one call of a program made again and again, in place of steps.
struct RepeatedCalls {
  DataType type = DataType::float32;  // of its elements, as long as the call says
  std::uint32_t iterations = 20;      // that count; at least 1

  friend bool operator==(const RepeatedCalls&, const RepeatedCalls&) = default;
};

struct MeasureSettings {
  CollectiveMode mode = CollectiveMode::native;
  // Steps before those that count: at least 2, since DDP's first two iterations differ.
  std::uint32_t warmup = 3;  // of repeated calls any number
  std::uint32_t steps = 15;  // that count; at least 1
  std::optional<RepeatedCalls> calls = std::nullopt;

  friend bool operator==(const MeasureSettings&, const MeasureSettings&) = default;
};

// What a call took. Of several ranks the longest times, and the sum of their wrong elements.
struct RepeatedTime {
  Seconds time;                   // of calls begun back to back: all of them over their number
  std::optional<Seconds> device;  // the same by the device's clock; nullopt: none takes it
  Seconds alone;                  // the median of calls that were each waited for
  std::uint64_t wrong = 0;        // elements of the result of one more call

  friend bool operator==(const RepeatedTime&, const RepeatedTime&) = default;
};

// nullopt of a way that the call does not have.
struct RepeatedTimes {
  std::optional<RepeatedTime> out_of_place;  // the result is put into another buffer
  std::optional<RepeatedTime> in_place;

  friend bool operator==(const RepeatedTimes&, const RepeatedTimes&) = default;
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
  std::optional<RepeatedTimes> calls = std::nullopt;  // of repeated calls, which have no steps
};

}  // namespace paceline
