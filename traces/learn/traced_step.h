#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/assumption.h"
#include "models/run/step_trace.h"
#include "traces/learn/matched_calls.h"
#include "traces/learn/step_profile.h"

namespace paceline::traces {

// When one operation ran on one rank, and not what it waited for.
struct TracedSpan {
  std::string name;
  training::OperationKind kind;
  training::LaneId lane;
  Seconds start;
  Seconds end;
  Bytes size;             // of a collective's buffer; 0 for compute
  std::string algorithm;  // of a collective, as the trace calls it
  // Of a collective, where they are known.
  std::optional<collectives::Collective> collective = std::nullopt;
  ElementSize element_size{0};
  bool is_waited_for = false;  // of a collective: known, by the compute behind it
  // Of compute: of each gradient that is ready when it ends, the elements, 0 where not recorded.
  std::vector<ElementCount> gradients = {};
};

struct TracedRanks {
  std::vector<Rank> ranks;        // ascending, at least one
  std::vector<TracedSpan> spans;  // in the order of the host, the same operations on all ranks
};

// The step that such spans belong to: the only place that infers dependencies from times;
// everything else reads Operation::after.
//
// A collective starts when the compute before it is done. Compute waits
//   - for collectives known to be waited for, right behind them;
//   - for other collectives but all-reduces before it that had ended when it began, on every rank;
//   - for all-reduces likewise, where on some rank one ended between the beginnings of the compute
//     before and this one, or this one makes no gradient ready and follows the last call. Where it
//     makes one ready, the rank must have idled for 20 us, and it have begun within 20 us.
//
// Compute takes what it took (as_it_ran), calls are known, those without a kind or a size untold.
// Precondition: at least one class; spans lie on the lanes.
[[nodiscard]] StepTrace inferred_step(std::vector<training::Lane> lanes,
                                      const std::vector<TracedRanks>& ranks);

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

// A kernel that begins this soon behind another: more than a device takes between two.
inline constexpr TraceTime right_behind = 20'000;  // ns

// Times are as the trace counts them.
struct RankStep {
  const DeviceTrace* trace = nullptr;
  const StepProfile* step = nullptr;
  TraceTime begin = 0, end = 0;
  std::vector<const DeviceTrace::Task*> launched;  // of the step, by launch
  // What the host did, in its order: a gradient or a collective.
  struct Item {
    TraceTime at;
    const DeviceTrace::Gradient* gradient = nullptr;
    const TracedCollective* call = nullptr;
  };
  std::vector<Item> items;
};

// Whether compute goes on only after a collective: by recorded waits, or else what the device did.
struct Waits {
  std::vector<bool> of_item;  // by item of the step; false for gradients
  std::size_t unclear = 0;    // all-reduces that may have been waited for
};

// The rule. Compute does not wait for a call when, on some rank, work that the host launched after
// it began before it ended.
// Else, with recorded waits (DeviceTrace::waits): it waits when the next work is on the call's
// stream, or the host made a wait for the call before it launched that.
// Else it waits, but for all-reduces with gradients to follow, which may be buckets: for those
// when, on some rank, the device had nothing else to do when the call ended and its next work,
// launched before that, began right behind. Where that was launched later, the host may have been
// late or waited itself: unclear, and taken as no waiting.
//
// Precondition: the ranks have the same calls in the same order.
[[nodiscard]] Waits waits_for_calls(const std::vector<RankStep>& ranks);

}  // namespace paceline::traces
