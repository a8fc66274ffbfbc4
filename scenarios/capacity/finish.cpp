#include "scenarios/capacity/finish.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/stats/student.h"

namespace paceline::capacity {
namespace {

constexpr double end_of_interval = 0.95;  // of a 90 % interval
constexpr double never = std::numeric_limits<double>::infinity();

// Beyond this many mean times between losses a segment is as good as never done.
constexpr double segment_most = 50;

// Daly, eq. 37: work between checkpoints that loses least.
Seconds best_segment(Seconds takes, double losses_per_s) {
  const Seconds mean(1 / losses_per_s);
  const double part = takes / (mean * 2.0);
  if (part >= 1) return mean;
  const double root = std::sqrt(part);
  return Seconds(std::sqrt(2 * takes.value() * mean.value()) * (1 + root / 3 + part / 9)) - takes;
}

}  // namespace

Seconds Speed::step_within(double probability) const {
  const double at = stats::student_quantile(probability, degrees);
  const double end = stats::student_quantile(end_of_interval, degrees);
  return step * std::exp(at / end * (at > 0 ? high : -low));
}

double Speed::probability_within(Seconds within) const {
  const double moved = std::log(within / step);
  const double side = moved > 0 ? high : -low;
  if (side <= 0) return moved >= 0 ? 1 : 0;
  const double end = stats::student_quantile(end_of_interval, degrees);
  return stats::student_below(moved / side * end, degrees);
}

Losses Losses::of(const Overheads& overheads, std::uint32_t nodes, double preemptions_per_s) {
  Losses losses;
  losses.start = overheads.start;
  if (overheads.mtbf_per_node) losses.per_s += nodes / overheads.mtbf_per_node->value();
  losses.per_s += nodes * preemptions_per_s;
  if (!overheads.checkpoint) return losses;
  losses.takes = overheads.checkpoint->takes;
  if (overheads.checkpoint->every) {
    losses.segment = *overheads.checkpoint->every;
  } else if (losses.per_s > 0) {
    losses.segment = best_segment(losses.takes, losses.per_s);
  }
  return losses;
}

Finish::Finish(const Speed& speed, double samples, const Losses& losses)
    : speed_(speed), steps_(std::ceil(samples / speed.samples_per_step)), losses_(losses) {
  const Seconds work = speed_.step * steps_;
  const bool has_checkpoints = losses.segment > Seconds(0);
  const Seconds segment = has_checkpoints ? std::min(losses.segment, work) : work;
  const Seconds takes = has_checkpoints && losses.segment < work ? losses.takes : Seconds(0);
  stretch_ = has_checkpoints ? (segment + takes) / segment : 1;
  expected_ = stretch_;
  if (losses.per_s <= 0) return;
  const Seconds mean(1 / losses.per_s);
  if ((segment + takes) / mean > segment_most || losses.start / mean > segment_most) {
    expected_ = never;
    return;
  }
  expected_ = mean / segment * std::exp(losses.start / mean) * std::expm1((segment + takes) / mean);
  loss_ = mean * (1 - stretch_ / expected_);
}

Seconds Finish::lossless(Seconds step) const { return losses_.start + step * (steps_ * stretch_); }

double Finish::probability_within(Seconds time) const {
  return probability_within(time, Seconds(never));
}

double Finish::probability_within(Seconds time, Seconds step_at_most) const {
  if (!std::isfinite(expected_)) return 0;
  const auto by_work = [&](Seconds left) {
    const Seconds step = std::min((left - losses_.start) / (steps_ * stretch_), step_at_most);
    return step > Seconds(0) ? speed_.probability_within(step) : 0;
  };
  if (losses_.per_s <= 0) return by_work(time);
  const double expected = losses_.per_s * time.value();
  double weight = std::exp(-expected), sum = 0;
  if (weight < std::numeric_limits<double>::min()) {  // so many that they are as on average
    return by_work(time - loss_ * expected);
  }
  const double most = expected + 10 * std::sqrt(expected) + 20;
  for (int losses = 0; losses < most; ++losses) {
    sum += weight * by_work(time - loss_ * losses);
    weight *= expected / (losses + 1);
  }
  return sum;
}

Seconds Finish::within(double probability) const {
  if (!std::isfinite(expected_)) return Seconds(never);
  if (losses_.per_s <= 0) return lossless(speed_.step_within(probability));
  Seconds low = lossless(speed_.step_within(probability)), high = low * 2.0;
  constexpr int doublings_most = 200;
  for (int i = 0; probability_within(high) < probability; ++i) {
    if (i == doublings_most) return Seconds(never);
    low = high;
    high = high * 2.0;
  }
  constexpr double close = 1e-9;
  while (high - low > high * close) {
    const Seconds middle = (low + high) / 2.0;
    (probability_within(middle) < probability ? low : high) = middle;
  }
  return high;
}

Seconds Finish::expected() const { return losses_.start + speed_.step * (steps_ * expected_); }

}  // namespace paceline::capacity
