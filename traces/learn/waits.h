#pragma once

#include <cstddef>
#include <vector>

#include "traces/learn/step_profile.h"

namespace paceline::traces {

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
