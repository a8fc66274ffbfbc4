#pragma once

#include <string>
#include <utility>
#include <vector>

#include "traces/device_trace/device_trace.h"
#include "traces/learn/traced_step.h"

namespace paceline::traces {

inline constexpr TraceTime us = 1000;

inline TracedSpan compute(const std::string& name, training::OperationKind kind, double from_us,
                          double to_us, std::vector<ElementCount> gradients = {}) {
  TracedSpan span{name, kind, 0, Seconds(from_us * 1e-6), Seconds(to_us * 1e-6), Bytes(0), ""};
  span.gradients = std::move(gradients);
  return span;
}

// Of floats.
inline TracedSpan call(collectives::Collective collective, std::uint64_t bytes, double from_us,
                       double to_us, const std::string& name = "call") {
  return {name,
          training::OperationKind::collective,
          1,
          Seconds(from_us * 1e-6),
          Seconds(to_us * 1e-6),
          Bytes(bytes),
          "RING_LL",
          collective,
          ElementSize(4)};
}

inline StepTrace trace_of(std::vector<std::vector<TracedSpan>> ranks) {
  std::vector<TracedRanks> classes;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    classes.push_back({{Rank(r)}, std::move(ranks[r])});
  }
  return inferred_step({{"compute", training::LaneKind::compute},
                        {"communication", training::LaneKind::communication}},
                       classes);
}

// Rank 0 is ready after 60 and 80 us, rank 1 after 70 and 95. The first bucket takes 20 us from
// the last to join, the second 15; the optimizer 10.
inline std::vector<std::vector<TracedSpan>> two_buckets() {
  using collectives::Collective;
  using training::OperationKind;
  const auto rank = [](double first, double second) {
    return std::vector{compute("a", OperationKind::backward, 0, first, {ElementCount(30)}),
                       call(Collective::all_reduce, 120, first, 90, "first"),
                       compute("b", OperationKind::backward, first, second, {ElementCount(10)}),
                       call(Collective::all_reduce, 40, std::max(second, 90.0), 110, "second"),
                       compute("optimizer", OperationKind::optimizer, 110, 120)};
  };
  return {rank(60, 80), rank(70, 95)};
}

}  // namespace paceline::traces
