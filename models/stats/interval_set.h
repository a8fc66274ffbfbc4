#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace paceline::stats {

// The union of intervals of time, as separate intervals, ascending. Intervals that touch are
// joined; empty ones cover nothing. Time: Seconds, or a whole number of nanoseconds.
template <class Time>
class IntervalSet {
 public:
  struct Interval {
    Time start, end;
  };

  IntervalSet() = default;
  explicit IntervalSet(std::vector<Interval> intervals) {
    const auto order = [](const Interval& one) { return std::pair(one.start, one.end); };
    // Mostly they come as they ran.
    if (!std::ranges::is_sorted(intervals, {}, order)) std::ranges::sort(intervals, {}, order);
    for (const Interval& next : intervals) {
      if (next.start >= next.end) continue;
      if (!apart_.empty() && next.start <= apart_.back().end) {
        apart_.back().end = std::max(apart_.back().end, next.end);
      } else {
        apart_.push_back(next);
      }
    }
  }

  [[nodiscard]] std::span<const Interval> intervals() const { return apart_; }

  [[nodiscard]] Time length() const {
    Time sum{};
    for (const Interval& one : apart_) sum += one.end - one.start;
    return sum;
  }

  // How much of [start, end) it covers.
  [[nodiscard]] Time covered(Time start, Time end) const {
    Time sum{};
    auto from =
        std::ranges::partition_point(apart_, [&](const Interval& one) { return one.end <= start; });
    for (; from != apart_.end() && from->start < end; ++from) {
      sum += std::min(end, from->end) - std::max(start, from->start);
    }
    return sum;
  }

  [[nodiscard]] Time covered(const IntervalSet& other) const {
    Time sum{};
    for (const Interval& one : other.apart_) sum += covered(one.start, one.end);
    return sum;
  }

 private:
  std::vector<Interval> apart_;
};

}  // namespace paceline::stats
