#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/assumption.h"
#include "models/run/step_trace.h"
#include "traces/learn/inferred_step.h"
#include "traces/learn/matched_calls.h"
#include "traces/learn/step_profile.h"

namespace paceline::traces {

struct TracedStep {
  std::string name;  // as the traces name the step
  StepTrace trace;   // a class a rank, all of the same operations
  Assumptions assumptions;
};

// Of the steps that all traces have with a length, the one of median length: of the longest of its
// ranks. Times are from the first rank's start.
//
// A rank's list: what it is late at the start (an operation of kind input), then in the host's
// order
// - compute up to where each gradient is ready, with the elements of the gradient,
// - compute up to where each collective could begin, and the collective,
// and the rest of the compute, in two parts around the end of the last collective that the device
// idled for. Idle time of the device or its host counts as compute, except waiting for a call:
// where no work launched later began before a call's end, on any rank, compute continues at that
// end, unless gradients follow, as backward does not wait for all-reduces. A collective that took
// no time on the device, as in a group of one, is where it was ready. As many collectives are in
// flight as a rank had at a time.
//
// Collectives of a part of the ranks record neither kind nor size: what they would take elsewhere
// is not known. Ranks are numbered from 0 where a trace does not record its own, and where there is
// one. Elements of gradients are those of the trace's parameters, or else 0.
//
// Throws FormatError when no step is on all ranks with a length, and when ranks make other
// collectives or in another order.
[[nodiscard]] TracedStep traced_step(std::span<const DeviceTrace> traces,
                                     std::span<const std::vector<StepProfile>> steps,
                                     const MatchedCalls& matched);

// Gives gradients without elements an even share of the all-reduce that follows them. Says so, if
// there were any.
void share_among_gradients(TracedStep& step);

}  // namespace paceline::traces
