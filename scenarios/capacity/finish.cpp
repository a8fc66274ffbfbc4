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

// What a probability of a half is not reached by.
constexpr double below_a_half = 0.5 * (1 - 1e-9);

// From this shape on a rate is as good as known.
constexpr double shape_most = 500;

// Daly, eq. 37: work between checkpoints that loses least.
Seconds best_segment(Seconds takes, double losses_per_s) {
  const Seconds mean(1 / losses_per_s);
  const double part = takes / (mean * 2.0);
  if (part >= 1) return mean;
  const double root = std::sqrt(part);
  return Seconds(std::sqrt(2 * takes.value() * mean.value()) * (1 + root / 3 + part / 9)) - takes;
}

// The quantiles of 10, 30, 50, 70 and 90 % of what nobody tells, the normal distribution's among
// them over that of 95 %.
std::vector<Seconds> untold_starts() {
  std::vector<Seconds> starts;
  for (const double quantile : {-0.779124, -0.318815, 0.0, 0.318815, 0.779124}) {
    starts.push_back(untold::start * std::pow(untold::start_width, quantile));
  }
  return starts;
}

// The probability of so many losses where so many are expected: negative binomial.
double probability_of(double losses, double expected, double shape) {
  return std::exp(std::lgamma(losses + shape) - std::lgamma(losses + 1) - std::lgamma(shape) +
                  shape * std::log(shape / (shape + expected)) +
                  losses * std::log(expected / (shape + expected)));
}

}  // namespace

Seconds UncertainTime::within(double probability) const {
  const double at = stats::student_quantile(probability, degrees);
  const double end = stats::student_quantile(end_of_interval, degrees);
  return likeliest * std::exp(at / end * (at > 0 ? high : -low));
}

double UncertainTime::probability_within(Seconds time) const {
  if (likeliest <= Seconds(0)) return 1;
  if (bound_up_to > 0 && time >= within(bound_up_to)) return 1;
  if (bound_up_to > 0 && time < likeliest) return below_a_half;
  const double moved = std::log(time / likeliest);
  const double side = moved > 0 ? high : -low;
  if (side <= 0) return moved >= 0 ? 1 : 0;
  const double end = stats::student_quantile(end_of_interval, degrees);
  return stats::student_below(moved / side * end, degrees);
}

double Speed::probability_within(Seconds within) const {
  if (within < input.disk) return 0;
  return without_input().probability_within(within) * input.cpus.probability_within(within);
}

Seconds Speed::step_within(double probability) const {
  const auto longer = [&](double each) {
    return std::max(without_input().within(each), input.within(each));
  };
  Seconds least = longer(probability);
  if (input.cpus.high <= 0) return least;
  // Where both keep it with half of what may be missed, their product does.
  Seconds most = longer((1 + probability) / 2);
  constexpr double close = 1e-12;
  while (most - least > most * close) {
    const Seconds middle = (least + most) / 2.0;
    (probability_within(middle) < probability ? least : most) = middle;
  }
  return most;
}

Speed StepBound::speed(double probability, double samples_per_step, const InputTime& input) const {
  const double at = stats::student_quantile(probability, uncertain::freedom);
  const double end = stats::student_quantile(end_of_interval, uncertain::freedom);
  const double high = at > 0 ? std::log(limit / median) / at * end : 0;
  return {median, 0, high, uncertain::freedom, samples_per_step, input, probability};
}

Losses Losses::of(const Overheads& overheads, std::uint32_t nodes, std::uint32_t gpus_per_node,
                  std::optional<double> preemptions) {
  const double gpus = static_cast<double>(nodes) * gpus_per_node;
  Losses losses;
  losses.starts = overheads.start ? std::vector{*overheads.start} : untold_starts();
  if (overheads.mtbf_per_node) {
    losses.per_s += nodes / overheads.mtbf_per_node->value();
  } else {
    losses.per_s += gpus * untold::failures.mean;
    losses.variance += untold::failures.variance_of(gpus);
  }
  losses.per_s += nodes * preemptions.value_or(untold::preemptions.mean);
  if (!preemptions) losses.variance += untold::preemptions.variance_of(nodes);
  const Checkpoints checkpoint =
      overheads.checkpoint.value_or(Checkpoints{std::nullopt, untold::checkpoint});
  losses.takes = checkpoint.takes;
  losses.segment = checkpoint.every.value_or(best_segment(losses.takes, losses.per_s));
  return losses;
}

Finish::Finish(const Speed& speed, double samples, const Losses& losses)
    : speed_(speed),
      step_(speed.step_within(0.5)),
      steps_(std::ceil(samples / speed.samples_per_step)),
      losses_(losses) {
  const Seconds work = step_ * steps_;
  const bool has_checkpoints = losses.segment > Seconds(0);
  segment_ = has_checkpoints ? std::min(losses.segment, work) : work;
  takes_ = has_checkpoints && losses.segment < work ? losses.takes : Seconds(0);
  stretch_ = has_checkpoints ? (segment_ + takes_) / segment_ : 1;
  for (const Seconds start : losses.starts) ways_.push_back(started(start));
}

Finish::Started Finish::started(Seconds start) const {
  if (losses_.per_s <= 0) return {start, stretch_, Seconds(0)};
  const Seconds mean(1 / losses_.per_s);
  if ((segment_ + takes_) / mean > segment_most || start / mean > segment_most) {
    return {start, never, Seconds(0)};
  }
  const double expected =
      mean / segment_ * std::exp(start / mean) * std::expm1((segment_ + takes_) / mean);
  return {start, expected, mean * (1 - stretch_ / expected)};
}

double Finish::probability_within(Seconds time) const {
  return probability_within(time, Seconds(never));
}

double Finish::probability_within(Seconds time, Seconds step) const {
  double sum = 0;
  for (const Started& how : ways_) sum += probability_within(time, step, how);
  return sum / static_cast<double>(ways_.size());
}

double Finish::done(Seconds left, Seconds step_at_most) const {
  const Seconds step = std::min(left / (steps_ * stretch_), step_at_most);
  return step > Seconds(0) ? speed_.probability_within(step) : 0;
}

double Finish::probability_within(Seconds time, Seconds step, const Started& how) const {
  if (!std::isfinite(how.expected)) return 0;
  const Seconds left = time - how.start;
  if (losses_.per_s <= 0) return done(left, step);
  if (losses_.per_s * losses_.per_s < shape_most * losses_.variance) {
    return by_unknown_rate(time, step, how);
  }
  const double expected = losses_.per_s * time.value();
  const double spread = 10 * std::sqrt(expected) + 20;
  const double first = std::floor(std::max(expected - spread, 0.0));
  double weight = std::exp(first * std::log(expected) - expected - std::lgamma(first + 1));
  double sum = 0;
  for (double losses = first; losses < expected + spread; ++losses) {
    sum += weight * done(left - how.loss * losses, step);
    weight *= expected / (losses + 1);
  }
  return sum;
}

double Finish::by_unknown_rate(Seconds time, Seconds step, const Started& how) const {
  const double expected = losses_.per_s * time.value();
  const double shape = losses_.per_s * losses_.per_s / losses_.variance;
  const Seconds left = time - how.start;
  const double most = std::min(left / how.loss, 1e9);
  double sum = 0;
  // Many together, as their probabilities are alike; none that are below rounding together, as
  // each is no more than expected / (shape + expected) times the one before.
  for (double first = 0; first < most;) {
    const double together = 1 + std::floor(first / 64);
    const double middle = first + (together - 1) / 2;
    const double part = probability_of(middle, expected, shape);
    sum += together * part * done(left - how.loss * middle, step);
    constexpr double rounding = 1e-14;
    if (first > expected && part * (1 + expected / shape) < rounding) break;
    first += together;
  }
  return std::min(sum, 1.0);
}

Seconds Finish::within(double probability) const {
  const auto lossless = [&](Seconds step) {
    return std::ranges::min(losses_.starts) + step * (steps_ * stretch_);
  };
  if (losses_.per_s <= 0 && ways_.size() == 1) return lossless(speed_.step_within(probability));
  if (!std::isfinite(expected().value())) return Seconds(never);
  Seconds low = lossless(speed_.step_within(probability)), high = low * 2.0;
  constexpr int doublings_most = 30;
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

Seconds Finish::expected() const {
  double sum = 0;
  for (const Started& how : ways_) {
    sum += (how.start + step_ * (steps_ * how.expected)).value();
  }
  return Seconds(sum / static_cast<double>(ways_.size()));
}

}  // namespace paceline::capacity
