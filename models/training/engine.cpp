#include "models/training/engine.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "models/contract.h"

namespace paceline::training {

std::vector<Fused> fused(std::span<const EngineTensor> tensors, std::span<const std::size_t> ready,
                         Bytes threshold) {
  std::vector<Fused> calls;
  std::vector<std::size_t> left(ready.begin(), ready.end());
  while (!left.empty()) {
    const EngineTensor& first = tensors[left.front()];
    Fused together;
    std::vector<std::size_t> passed_over;
    Bytes size, size_passed;
    std::size_t next = 0;
    for (; next < left.size(); ++next) {
      const EngineTensor& tensor = tensors[left[next]];
      const bool fits = size + tensor.size() <= threshold;
      if (together.empty() || (tensor.element_size == first.element_size && fits)) {
        together.push_back(left[next]);
        size += tensor.size();
        continue;
      }
      size_passed += tensor.size();
      if (size + size_passed > threshold) break;
      passed_over.push_back(left[next]);
    }
    passed_over.insert(passed_over.end(), left.begin() + static_cast<std::ptrdiff_t>(next),
                       left.end());
    left = std::move(passed_over);
    calls.push_back(std::move(together));
  }
  return calls;
}

Seconds copy_in_time(std::span<const EngineTensor> tensors, const Fused& together) {
  Seconds time;
  if (together.size() == 1) return time;
  for (const std::size_t one : together) time += tensors[one].copy_in;
  return time;
}

Seconds copy_out_time(std::span<const EngineTensor> tensors, const Fused& together) {
  if (together.size() == 1) return tensors[together.front()].divide;
  Seconds time;
  for (const std::size_t one : together) time += tensors[one].copy_out;
  return time;
}

ElementCount count_of(std::span<const EngineTensor> tensors, const Fused& together) {
  ElementCount count;
  for (const std::size_t one : together) count += tensors[one].count;
  return count;
}

Seconds next_wake(const EngineRule& rule, Seconds last, Seconds done) {
  return std::max(last + rule.cycle, done);
}

namespace {

// Between the wakes of an engine without work.
Seconds period_of(const EngineRule& rule) { return next_wake(rule, Seconds(0), rule.negotiation); }

// The first wake at `from` or later, of those that find nothing until `ready`.
Seconds idle_until(const EngineRule& rule, Seconds from, Seconds ready) {
  const Seconds period = period_of(rule);
  if (ready <= from) return from;
  if (period <= Seconds(0)) return ready;
  const Seconds wake = from + period * std::ceil((ready - from) / period);
  return std::max(wake, ready);  // a rounding error may lie between them
}

}  // namespace

std::vector<Wake> wakes_of(const EngineRule& rule, std::span<const EngineTensor> tensors,
                           const EngineForecast& forecast, Seconds first) {
  PACELINE_EXPECTS(forecast.ready.size() == tensors.size());
  std::vector<Wake> wakes;
  std::vector<std::size_t> coming(tensors.size());  // in the order in which they are ready
  for (std::size_t i = 0; i < coming.size(); ++i) coming[i] = i;
  std::ranges::stable_sort(coming, {}, [&](std::size_t one) { return forecast.ready[one]; });
  Seconds at = first;
  for (auto next = coming.begin(); next != coming.end();) {
    at = idle_until(rule, at, forecast.ready[*next]);
    const auto later =
        std::find_if(next, coming.end(), [&](std::size_t one) { return forecast.ready[one] > at; });
    std::vector<std::size_t> ready(next, later);
    std::ranges::sort(ready);
    wakes.push_back({at, fused(tensors, ready, rule.fusion_threshold)});
    next = later;
    Seconds done = at + rule.negotiation;
    done += rule.launch * static_cast<double>(wakes.back().calls.size());
    if (rule.waits_for_calls) {
      for (const Fused& together : wakes.back().calls) done += forecast.call_time(together);
    }
    at = next_wake(rule, at, done);
  }
  return wakes;
}

Seconds mean_first_wake(const EngineRule& rule, Seconds last_ready) {
  const Seconds period = period_of(rule);
  if (period <= Seconds(0)) return period;
  return Seconds(std::fmod((last_ready + period / 2.0).value(), period.value()));
}

// The golden ratio's multiples fill a cycle evenly from the first few on.
Seconds first_wake_of(const EngineRule& rule, std::uint64_t step) {
  const double turns = static_cast<double>(step) * std::numbers::phi;
  return period_of(rule) * (turns - std::floor(turns));
}

}  // namespace paceline::training
