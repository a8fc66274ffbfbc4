#include "scenarios/capacity/search.h"

#include <bit>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>

#include "models/stats/student.h"
#include "scenarios/process/stop_request.h"

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

// From this shape on a rate is as good as known.
constexpr double shape_most = 500;

// The probability of so many losses where so many are expected: negative binomial.
double probability_of(double losses, double expected, double shape) {
  return std::exp(std::lgamma(losses + shape) - std::lgamma(losses + 1) - std::lgamma(shape) +
                  shape * std::log(shape / (shape + expected)) +
                  losses * std::log(expected / (shape + expected)));
}

// As many whatever the machine has, so that every machine looks at the same ones.
constexpr std::size_t predicted_together = 4;

// How many times as much as the worst target allows; at most 1 where all are met.
double excess(const Targets& targets, Seconds time, Money cost, SamplesPerSecond throughput) {
  double worst = 0;
  if (targets.deadline) worst = std::max(worst, time / *targets.deadline);
  if (targets.budget && cost > Money(0)) worst = std::max(worst, cost / *targets.budget);
  if (targets.throughput) worst = std::max(worst, *targets.throughput / throughput);
  return worst;
}

// What has no end costs more than anything, at a price of nothing, too.
Money cost_of(MoneyPerSecond rate, Seconds time) {
  return std::isfinite(time.value()) ? rate * time : Money(time.value());
}

// What is to be least, and then next.
std::pair<double, double> rank(Aim aim, const Targets& targets, Seconds time, Money cost,
                               SamplesPerSecond throughput) {
  switch (aim) {
    case Aim::cheapest: return {cost.value(), time.value()};
    case Aim::fastest: return {time.value(), cost.value()};
    case Aim::nearest: return {excess(targets, time, cost, throughput), cost.value()};
  }
  PACELINE_UNREACHABLE("an aim outside the enumeration");
}

bool meets(const Wanted& wanted, Seconds time, Money cost, SamplesPerSecond throughput) {
  return wanted.aim == Aim::nearest ||
         (std::isfinite(time.value()) && excess(wanted.targets, time, cost, throughput) <= 1);
}

}  // namespace

Seconds UncertainTime::within(double probability) const {
  const double at = stats::student_quantile(probability, degrees);
  const double end = stats::student_quantile(end_of_interval, degrees);
  return likeliest * std::exp(at / end * (at > 0 ? high : -low));
}

double UncertainTime::probability_within(Seconds time) const {
  if (likeliest <= Seconds(0)) return 1;
  const double moved = std::log(time / likeliest);
  const double side = moved > 0 ? high : -low;
  if (side <= 0) return moved >= 0 ? 1 : 0;
  const double end = stats::student_quantile(end_of_interval, degrees);
  return stats::student_below(moved / side * end, degrees);
}

InputTime input_of(const PlannedJob& job, const Setup& setup) {
  const Machine& machine = job.machines[setup.machine];
  const double samples = samples_per_step(job, setup) / setup.nodes;
  InputTime time;
  if (job.input.per_core && machine.vcpus) {
    const double spread = std::log(job.input.factor);
    const double cores = *machine.vcpus / vcpus_per_core;
    time.cpus = {Seconds(samples / (job.input.per_core->value() * cores)), -spread, spread};
  }
  if (job.input.bytes && machine.disk) time.disk = *job.input.bytes / *machine.disk * samples;
  return time;
}

double Speed::probability_within(Seconds within) const {
  if (within < input.disk) return 0;
  return alone().probability_within(within) * input.cpus.probability_within(within);
}

Seconds Speed::step_within(double probability) const {
  const auto longer = [&](double each) {
    return std::max(alone().within(each), input.within(each));
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

Losses Losses::of(const Overheads& overheads, std::uint32_t nodes,
                  std::optional<double> preemptions) {
  Losses losses;
  losses.start = overheads.start;
  if (overheads.mtbf_per_node) losses.per_s += nodes / overheads.mtbf_per_node->value();
  const double preempted = nodes * preemptions.value_or(preemptions_per_s);
  losses.per_s += preempted;
  if (!preemptions) losses.variance = preempted * preempted / preemptions_shape;
  std::optional<Checkpoints> checkpoint = overheads.checkpoint;
  if (!checkpoint && preempted > 0) checkpoint = Checkpoints{std::nullopt, spot_checkpoint};
  if (!checkpoint) return losses;
  losses.takes = checkpoint->takes;
  if (checkpoint->every) {
    losses.segment = *checkpoint->every;
  } else if (losses.per_s > 0) {
    losses.segment = best_segment(losses.takes, losses.per_s);
  }
  return losses;
}

Finish::Finish(const Speed& speed, double samples, const Losses& losses)
    : speed_(speed),
      step_(speed.step_within(0.5)),
      steps_(std::ceil(samples / speed.samples_per_step)),
      losses_(losses) {
  const Seconds work = step_ * steps_;
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
  if (losses_.per_s * losses_.per_s < shape_most * losses_.variance) {
    const double shape = losses_.per_s * losses_.per_s / losses_.variance;
    const double most = std::min((time - losses_.start) / loss_, 1e9);
    // Many together, as their probabilities are alike.
    for (double first = 0; first < most;) {
      const double together = 1 + std::floor(first / 64);
      const double middle = first + (together - 1) / 2;
      sum += together * probability_of(middle, expected, shape) * by_work(time - loss_ * middle);
      first += together;
    }
    return std::min(sum, 1.0);
  }
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

Seconds Finish::expected() const { return losses_.start + step_ * (steps_ * expected_); }

Search::Search(const PlannedJob& job, Grid& grid, TightenBound tighten, PredictSetups predict)
    : job_(job), grid_(grid), tighten_(std::move(tighten)), predict_(std::move(predict)) {
  for (std::size_t i = 0; i < grid.candidates.size(); ++i) add(i);
}

void Search::add(std::size_t number) {
  const Candidate& candidate = grid_.candidates[number];
  const Machine& machine = job_.machines[candidate.setup.machine];
  if (machine.price) {
    plans_.push_back(bounded({number, Pricing::on_demand}, candidate.step_at_least));
  }
  if (machine.spot) plans_.push_back(bounded({number, Pricing::spot}, candidate.step_at_least));
}

MoneyPerSecond Search::rate(const Plan& plan) const {
  const Setup& made = setup(plan);
  return price_of(job_.machines[made.machine], plan.pricing) * made.nodes;
}

Losses Search::losses(const Plan& plan) const {
  const Setup& made = setup(plan);
  const Machine& machine = job_.machines[made.machine];
  return Losses::of(
      job_.overheads, made.nodes,
      plan.pricing == Pricing::spot ? machine.spot->preemptions_per_s : std::optional(0.0));
}

Search::Bounded Search::bounded(const Plan& plan, Seconds step_at_least) const {
  const Candidate& candidate = grid_.candidates[plan.candidate];
  const double samples = samples_per_step(job_, candidate.setup);
  const Speed speed{step_at_least, 0, 0, uncertain::freedom, samples};
  // Losses and checkpoints only add to it, and are left out, but where losses never let as much
  // work end.
  Losses without = losses(plan);
  if (!std::isfinite(Finish(speed, job_.samples, without).expected().value())) {
    const Seconds never(std::numeric_limits<double>::infinity());
    return {plan, never, cost_of(rate(plan), never), SamplesPerSecond(0)};
  }
  without.per_s = 0;
  without.segment = without.takes = Seconds(0);
  const Seconds time = Finish(speed, job_.samples, without).within(job_.probability);
  // Rounding of what is as long as its bound must not exclude it.
  constexpr double rounding = 1 - 1e-12;
  return {plan, time * rounding, cost_of(rate(plan), time) * rounding,
          SamplesPerSecond(samples / step_at_least.value() / rounding)};
}

Search::Bounded Search::tightened(const Plan& plan) {
  const auto known = steps_at_least_.find(plan.candidate);
  if (known != steps_at_least_.end()) return bounded(plan, known->second);
  const Candidate& candidate = grid_.candidates[plan.candidate];
  const Seconds step = std::max(candidate.step_at_least, tighten_(candidate.setup));
  steps_at_least_.emplace(plan.candidate, step);
  return bounded(plan, step);
}

void Search::predict(std::span<const Plan> plans) {
  std::vector<Setup> setups;
  std::vector<std::size_t> numbers;
  for (const Plan& plan : plans) {
    if (speeds_.contains(plan.candidate) ||
        std::ranges::find(numbers, plan.candidate) != numbers.end()) {
      continue;
    }
    numbers.push_back(plan.candidate);
    setups.push_back(setup(plan));
  }
  if (setups.empty()) return;
  const auto speeds = predict_(setups);
  for (std::size_t i = 0; i < numbers.size(); ++i) speeds_.emplace(numbers[i], speeds[i]);
}

std::optional<Promise> Search::promise(const Plan& plan, const Targets& targets) {
  predict({&plan, 1});
  const std::optional<Speed>& speed = speeds_.at(plan.candidate);
  if (!speed) return std::nullopt;
  const Finish finish(*speed, job_.samples, losses(plan));
  const MoneyPerSecond price = rate(plan);
  Promise made;
  made.median = finish.within(0.5);
  made.limit = finish.within(job_.probability);
  made.median_cost = cost_of(price, made.median);
  made.limit_cost = cost_of(price, made.limit);
  const double samples = speed->samples_per_step;
  made.median_throughput = SamplesPerSecond(samples / speed->step_within(0.5).value());
  made.limit_throughput = SamplesPerSecond(samples / speed->step_within(job_.probability).value());
  // What has no end meets none.
  made.probability = std::isfinite(made.median.value()) ? 1 : 0;
  // Cost is price times time; what is free is within any budget.
  Seconds within(std::numeric_limits<double>::infinity());
  if (targets.deadline) within = *targets.deadline;
  if (targets.budget && price > MoneyPerSecond(0)) {
    within = std::min(within, *targets.budget / price);
  }
  Seconds step(std::numeric_limits<double>::infinity());
  if (targets.throughput) step = Seconds(samples / targets.throughput->value());
  if (std::isfinite(within.value())) {
    made.probability *= finish.probability_within(within, step);
  } else if (std::isfinite(step.value())) {
    made.probability *= speed->probability_within(step);
  }
  return made;
}

std::vector<std::pair<Plan, Promise>> Search::all_predicted(
    const Targets& targets, const std::function<bool(const Setup&, Pricing)>& allowed) {
  std::vector<std::pair<Plan, Promise>> all;
  for (const Bounded& one : plans_) {
    if (!speeds_.contains(one.plan.candidate)) continue;
    if (!allowed(setup(one.plan), one.plan.pricing)) continue;
    if (const auto made = promise(one.plan, targets)) all.emplace_back(one.plan, *made);
  }
  std::ranges::sort(all, {}, &std::pair<Plan, Promise>::first);
  return all;
}

Seconds Search::limit_time(const Plan& plan, const Speed& speed) const {
  return Finish(speed, job_.samples, losses(plan)).within(job_.probability);
}

void Search::consider(const Plan& plan, const Wanted& wanted, Found& found) {
  const auto made = promise(plan, wanted.targets);
  if (!made) return;
  const auto& [limit, cost, throughput] =
      std::tie(made->limit, made->limit_cost, made->limit_throughput);
  if (!meets(wanted, limit, cost, throughput)) return;
  // Losses may spoil the one where steps spoil the other.
  if (wanted.aim != Aim::nearest && made->probability < job_.probability * (1 - 1e-6)) return;
  const std::pair of_plan(rank(wanted.aim, wanted.targets, limit, cost, throughput), plan);
  if (found.plan && of_plan >= found.least) return;
  found = {plan, of_plan};
}

std::optional<Plan> Search::best_predicted(const Wanted& wanted) {
  Found found;
  for (const Bounded& one : plans_) {
    const bool is_allowed = !wanted.allowed || wanted.allowed(setup(one.plan), one.plan.pricing);
    if (is_allowed && speeds_.contains(one.plan.candidate)) consider(one.plan, wanted, found);
  }
  return found.plan;
}

std::optional<Plan> Search::best(const Wanted& wanted) { return find(wanted).plan; }

Search::Found Search::find(const Wanted& wanted) {
  using Entry = std::tuple<Rank, Plan, bool>;  // at least; whether that is tight
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto push = [&](const Bounded& one, bool is_tight) {
    if (!std::isfinite(one.time.value())) return;  // what never ends is no plan
    if (!meets(wanted, one.time, one.cost, one.throughput)) return;
    queue.emplace(rank(wanted.aim, wanted.targets, one.time, one.cost, one.throughput), one.plan,
                  is_tight);
  };
  for (const Bounded& one : plans_) {
    if (!wanted.allowed || wanted.allowed(setup(one.plan), one.plan.pricing)) push(one, false);
  }
  Found found;
  const auto may_be_best = [&] {
    return !queue.empty() && (!found.plan || std::get<Rank>(queue.top()) <= found.least.first);
  };
  while (may_be_best()) {
    StopRequest::check();
    std::vector<Plan> next;
    while (next.size() < predicted_together && may_be_best()) {
      const auto [at_least, plan, is_tight] = queue.top();
      queue.pop();
      if (is_tight || speeds_.contains(plan.candidate)) {
        next.push_back(plan);
      } else {
        push(tightened(plan), true);
      }
    }
    predict(next);
    for (const Plan& plan : next) consider(plan, wanted, found);
  }
  return found;
}

bool Search::may_be_better(const Bounded& one, const Wanted& wanted, const Found& found) {
  return std::isfinite(one.time.value()) && meets(wanted, one.time, one.cost, one.throughput) &&
         rank(wanted.aim, wanted.targets, one.time, one.cost, one.throughput) < found.least.first;
}

std::optional<Plan> Search::refined_best(
    const Wanted& wanted,
    const std::function<std::optional<Candidate>(const Setup& setup)>& candidate) {
  Found found = find(wanted);
  if (!found.plan) return found.plan;
  const Setup first = setup(*found.plan);
  // Half of the distance to the grid's next.
  std::uint32_t nodes = std::bit_floor(first.nodes) / 32, batch = std::bit_floor(first.batch) / 2,
                passes = std::bit_floor(first.passes) / 2;
  for (; nodes + batch + passes > 0; nodes /= 2, batch /= 2, passes /= 2) {
    const Setup at = setup(*found.plan);
    std::vector<Setup> beside;
    for (const std::uint32_t sign : {1U, -1U}) {
      const auto move = [&](std::uint32_t more_nodes, std::uint32_t more,
                            std::uint32_t more_passes) {
        Setup made = at;
        made.nodes += sign * more_nodes;
        made.batch += sign * more;
        made.passes += sign * more_passes;
        if (made != at) beside.push_back(made);
      };
      move(nodes, 0, 0);
      move(0, batch, 0);
      move(0, 0, passes);
      if (batch * passes > 0) move(0, batch, -passes);
    }
    std::vector<Plan> next;
    for (const Setup& made : beside) {
      StopRequest::check();
      const bool is_known =
          std::ranges::find(grid_.candidates, made, &Candidate::setup) != grid_.candidates.end();
      const auto described = is_known ? std::nullopt : candidate(made);
      if (!described) continue;
      grid_.candidates.push_back(*described);
      const Plan plan{grid_.candidates.size() - 1, found.plan->pricing};
      add(plan.candidate);
      if (may_be_better(bounded(plan, described->step_at_least), wanted, found) &&
          may_be_better(tightened(plan), wanted, found)) {
        next.push_back(plan);
      }
    }
    predict(next);
    for (const Plan& plan : next) consider(plan, wanted, found);
  }
  return found.plan;
}

}  // namespace paceline::capacity
