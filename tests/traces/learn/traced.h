#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/traces/learn/spans.h"
#include "traces/learn/traced_step.h"

namespace paceline::traces {

// Traces built by hand; times in microseconds.
struct Traced {
  DeviceTrace trace;

  std::uint32_t name(const std::string& text) {
    trace.names.push_back(text);
    return static_cast<std::uint32_t>(trace.names.size() - 1);
  }
  void kernel(TraceTime launched, TraceTime start, TraceTime end) {
    trace.tasks.push_back(
        {start * us, end * us, 7, DeviceTrace::Work::kernel, launched * us, name("gemm")});
  }
  // Its collective is called before it is all copied, as DDP does.
  void gradient(TraceTime ready) {
    trace.gradients.push_back({ready * us, std::nullopt, (ready + 2) * us});
  }
  TracedCollective& call(const std::string& kind, TraceTime called, TraceTime start,
                         TraceTime end) {
    TracedCollective& one = trace.collectives.emplace_back();
    one.kind = kind;
    one.collective = kind == "allreduce" ? collectives::Collective::all_reduce
                                         : collectives::Collective::all_to_all;
    one.count = ElementCount(100);
    one.element_size = ElementSize(4);
    one.group_size = 2;
    one.called = called * us;
    one.returned = called * us + 1;
    one.device = {start * us, end * us};
    return one;
  }
  void wait(TraceTime at, std::optional<std::uint32_t> of = std::nullopt,
            std::optional<std::uint32_t> stream = std::nullopt) {
    trace.waits.push_back({at * us, at * us, of, stream});
  }
  void step(int number, TraceTime start, TraceTime end) {
    trace.ranges.push_back(
        {start * us, end * us, 1, name(std::string(step_prefix) + std::to_string(number))});
  }
};

inline TracedStep learned(std::vector<DeviceTrace> traces) {
  std::vector<std::vector<StepProfile>> steps;
  for (const DeviceTrace& trace : traces) steps.push_back(profile_steps(trace));
  return traced_step(traces, steps, match_calls(traces));
}

}  // namespace paceline::traces
