#include "scenarios/capacity/search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

#include "scenarios/process/stop_request.h"

namespace paceline::capacity {
namespace {

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
using Rank = std::pair<double, double>;
Rank rank(Aim aim, const Targets& targets, Seconds time, Money cost, SamplesPerSecond throughput) {
  switch (aim) {
    case Aim::cheapest: return {cost.value(), time.value()};
    case Aim::fastest: return {time.value(), cost.value()};
    case Aim::nearest: return {excess(targets, time, cost, throughput), cost.value()};
  }
  PACELINE_UNREACHABLE("an aim outside the enumeration");
}

}  // namespace

Search::Search(const PlannedJob& job, const Grid& grid, TightenBound tighten, PredictSetups predict)
    : job_(job), grid_(grid), tighten_(std::move(tighten)), predict_(std::move(predict)) {
  for (std::size_t i = 0; i < grid.candidates.size(); ++i) {
    const Candidate& candidate = grid.candidates[i];
    const Machine& machine = job.machines[candidate.setup.machine];
    if (machine.price) {
      plans_.push_back(bounded({i, Pricing::on_demand}, candidate.step_at_least));
    }
    if (machine.spot) plans_.push_back(bounded({i, Pricing::spot}, candidate.step_at_least));
  }
}

MoneyPerSecond Search::rate(const Plan& plan) const {
  const Setup& made = setup(plan);
  return price_of(job_.machines[made.machine], plan.pricing) * made.nodes;
}

Losses Search::losses(const Plan& plan) const {
  const Setup& made = setup(plan);
  const Machine& machine = job_.machines[made.machine];
  const double preempted =
      plan.pricing == Pricing::spot ? machine.spot->preemptions_per_s.value_or(0) : 0;
  return Losses::of(job_.overheads, made.nodes, preempted);
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
  made.median_throughput = SamplesPerSecond(samples / speed->step.value());
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

std::optional<Plan> Search::best(const Wanted& wanted) {
  const auto meets = [&](Seconds time, Money cost, SamplesPerSecond throughput) {
    return wanted.aim == Aim::nearest ||
           (std::isfinite(time.value()) && excess(wanted.targets, time, cost, throughput) <= 1);
  };
  const auto value = [&](Seconds time, Money cost, SamplesPerSecond throughput) {
    return rank(wanted.aim, wanted.targets, time, cost, throughput);
  };
  using Entry = std::tuple<Rank, Plan, bool>;  // at least; whether that is tight
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto add = [&](const Bounded& one, bool is_tight) {
    if (!std::isfinite(one.time.value())) return;  // what never ends is no plan
    if (!meets(one.time, one.cost, one.throughput)) return;
    queue.emplace(value(one.time, one.cost, one.throughput), one.plan, is_tight);
  };
  for (const Bounded& one : plans_) {
    if (!wanted.allowed || wanted.allowed(setup(one.plan), one.plan.pricing)) add(one, false);
  }
  std::optional<Plan> found;
  std::pair<Rank, Plan> least;
  const auto may_be_best = [&] {
    return !queue.empty() && (!found || std::get<Rank>(queue.top()) <= least.first);
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
        add(tightened(plan), true);
      }
    }
    predict(next);
    for (const Plan& plan : next) {
      const auto made = promise(plan, wanted.targets);
      if (!made || !meets(made->limit, made->limit_cost, made->limit_throughput)) continue;
      // Losses may spoil the one where steps spoil the other.
      if (wanted.aim != Aim::nearest && made->probability < job_.probability * (1 - 1e-6)) continue;
      const std::pair of_plan(value(made->limit, made->limit_cost, made->limit_throughput), plan);
      if (found && of_plan >= least) continue;
      found = plan;
      least = of_plan;
    }
  }
  return found;
}

}  // namespace paceline::capacity
