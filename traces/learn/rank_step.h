#pragma once

#include <vector>

#include "traces/learn/step_profile.h"

namespace paceline::traces {

// A kernel that begins this soon after another on its stream came right behind it: more than a
// device takes from one to the next.
inline constexpr TraceTime right_behind = 20'000;  // ns

// One step of one rank, times as its trace counts them.
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

}  // namespace paceline::traces
