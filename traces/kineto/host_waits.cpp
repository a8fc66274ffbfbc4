#include "traces/kineto/host_waits.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace paceline::traces::kineto {
namespace {

using Wait = DeviceTrace::Wait;

// Times on the host of what a wait may be of.
class Host {
 public:
  explicit Host(const DeviceTrace& trace) {
    for (const TracedCollective& call : trace.collectives) {
      called_.push_back(call.called);
      returned_.push_back(returned_.empty() ? call.returned
                                            : std::max(returned_.back(), call.returned));
    }
    for (const DeviceTrace::Task& task : trace.tasks) {
      if (task.launched) launched_.push_back(*task.launched);
    }
    std::ranges::sort(launched_);
  }

  [[nodiscard]] bool is_inside_a_call(const Wait& wait) const {
    const auto later = std::ranges::upper_bound(called_, wait.at);
    return later != called_.begin() &&
           wait.at < returned_[static_cast<std::size_t>(later - called_.begin()) - 1];
  }

  // Rather than work of compute.
  [[nodiscard]] bool is_followed_by_a_call(const Wait& wait) const {
    return next(called_, wait.at) < next(launched_, wait.at);
  }

 private:
  static TraceTime next(const std::vector<TraceTime>& times, TraceTime at) {
    const auto later = std::ranges::upper_bound(times, at);
    return later == times.end() ? std::numeric_limits<TraceTime>::max() : *later;
  }

  std::vector<TraceTime> called_, launched_;
  std::vector<TraceTime> returned_;  // up to each call
};

}  // namespace

std::vector<Wait> waits_of_compute(std::vector<Wait> waits, const DeviceTrace& trace) {
  const Host host(trace);
  const auto is_of_a_call = [&](const Wait& wait) {
    return !wait.of && host.is_inside_a_call(wait);
  };
  const bool calls_have_theirs = std::ranges::any_of(waits, is_of_a_call);
  std::erase_if(waits, [&](const Wait& wait) {
    return is_of_a_call(wait) ||
           (!wait.of && !calls_have_theirs && host.is_followed_by_a_call(wait));
  });
  std::ranges::sort(waits, {}, [](const Wait& wait) {
    return std::tie(wait.at, wait.recorded, wait.of, wait.stream);
  });
  return waits;
}

}  // namespace paceline::traces::kineto
