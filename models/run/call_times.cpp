#include "models/run/call_times.h"

#include <algorithm>

namespace paceline {

std::vector<CallTimes> calls_of(const StepTrace& trace) {
  std::vector<CallTimes> calls;
  if (trace.classes.empty()) return calls;
  const auto& first = trace.classes.front().spans;
  for (std::size_t id = 0; id < first.size(); ++id) {
    if (first[id].kind != training::OperationKind::collective) continue;
    CallTimes call{first[id].name,  first[id].size, first[id].algorithm,
                   first[id].start, first[id].end,  first[id].end - first[id].start,
                   Seconds(0)};
    Seconds last_start = call.start;
    for (const RankClass& members : trace.classes) {
      const Span& span = members.spans[id];
      call.start = std::min(call.start, span.start);
      call.end = std::max(call.end, span.end);
      call.transfer = std::min(call.transfer, span.end - span.start);
      last_start = std::max(last_start, span.start);
    }
    call.skew = last_start - call.start;
    calls.push_back(std::move(call));
  }
  return calls;
}

Seconds compute_spread(const StepTrace& trace) {
  if (trace.classes.empty()) return Seconds(0);
  std::vector<Seconds> computes;
  for (const RankClass& members : trace.classes) {
    computes.push_back(totals_of({trace.lanes, {members}}).compute);
  }
  const auto [least, most] = std::minmax_element(computes.begin(), computes.end());
  return *most - *least;
}

}  // namespace paceline
