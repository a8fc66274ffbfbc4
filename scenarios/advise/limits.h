#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scenarios/predict/run_scenario.h"

namespace paceline::advise {

// A part of a step, of the rank that ends last.
struct StepPart {
  std::string name;  // forward and backward, optimizer, copies (beside compute; those of an engine,
                     // on the lane of its calls, are communication), input, exposed
                     // communication, host (launches while neither compute nor communication goes
                     // on), waiting
  Seconds time;
};

// A collective call, and how much of the time in which it is in flight compute is idle.
struct ExposedCall {
  std::string name;
  Bytes size;
  Seconds in_flight, exposed;
};

// What a step is made of.
struct Limits {
  std::vector<StepPart> parts;     // that take any time, the longest first; together the step
  std::vector<ExposedCall> calls;  // that are exposed, the most first
  std::size_t call_count = 0;
  Seconds launches;  // of the host's thread, most of it hidden unless `host` is a part
  Seconds skew;      // of compute: the slowest rank's over the quickest's; 0 where it is rounding
  std::optional<Bytes> memory, device_memory;

  // "compute" where most of the step is that, else the name of the longest other part.
  [[nodiscard]] std::string limit() const;
};

// Precondition: the outcome has its prediction, with its trace.
[[nodiscard]] Limits limits_of(const PointOutcome& outcome);

}  // namespace paceline::advise
