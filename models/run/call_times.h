#pragma once

#include <string>
#include <vector>

#include "models/run/step_trace.h"

namespace paceline {

// When a collective call of a step ran, over all ranks.
struct CallTimes {
  std::string name;
  collectives::Collective collective;
  Bytes size;
  std::string algorithm;
  Seconds start, end;  // the first rank's start, the last one's end
  // The shortest time that any rank was in it: the transfer, without waiting for others.
  Seconds transfer;
  Seconds skew;                         // from the first rank's start to the last one's
  training::OperationId operation = 0;  // of the program

  // From when the last rank has joined it until the last one is done. Ranks may leave a call, and
  // join the next, at different times: more than `transfer` then.
  [[nodiscard]] Seconds together() const { return end - start - skew; }
};

// Of every collective call, in the program's order.
[[nodiscard]] std::vector<CallTimes> calls_of(const StepTrace& trace);

// The compute time of the slowest rank less that of the quickest.
[[nodiscard]] Seconds compute_spread(const StepTrace& trace);

}  // namespace paceline
