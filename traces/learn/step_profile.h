#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces {

// A collective of a step. Times are from the start of the step.
struct ProfiledCall {
  std::size_t collective = 0;  // in the trace's list
  Seconds called;              // on the host
  // When the work launched before the call was done, and so a gradient bucket was ready, as a
  // collective waits for the stream that computes. nullopt without such work.
  std::optional<Seconds> ready;
  std::optional<Seconds> start, end;  // on the device
};

struct StepProfile {
  std::string name;
  TraceTime host_start = 0, host_end = 0;
  // From the end of the step before to its own, on the device where it did anything. Of an only
  // step from its start on the host; nullopt for the first of several.
  std::optional<Seconds> length;

  // The device does anything. Launches may reach into the next step: this may exceed the length.
  [[nodiscard]] Seconds busy() const { return compute + communication - beside; }
  TraceTime end = 0;                // of its work
  std::vector<ProfiledCall> calls;  // in the order in which the host made them
  Seconds compute;                  // the device is busy with anything but collectives
  Seconds communication;            // a collective is on the device
  Seconds beside;                   // the part of it in which the step's compute is, too
  // The part of it in which nothing else is, of neighbouring steps either. StepTotals counts the
  // same of a replayed step, where idle time of the host is compute.
  Seconds exposed;
  std::size_t gradients = 0;                             // that became ready
  std::optional<Seconds> first_gradient, last_gradient;  // on the host, from its start
};

// The steps of a trace: ranges that PyTorch's profiler names ProfilerStep#N, or else
// repeated_steps(); empty when there are neither. Of a file that is cut off the last one on the
// device has no length, where another has one. Work of the device belongs to the step in which the
// host launched it, or where that is not known, in which it ran.
[[nodiscard]] std::vector<StepProfile> profile_steps(const DeviceTrace& trace);

// Steps of a trace that names none: from the end of one "Optimizer.step..." range on the host to
// that of the next; or else, where the collectives are a sequence of at least two that repeats,
// from the first of one to the first of the next, the last to the end of the trace. Only names and
// times on the host are filled. None of a trace without times, or when nothing repeats.
[[nodiscard]] std::vector<StepProfile> repeated_steps(const DeviceTrace& trace);

}  // namespace paceline::traces
