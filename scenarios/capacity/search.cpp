#include "scenarios/capacity/search.h"

#include <algorithm>
#include <tuple>

namespace paceline::capacity {
namespace {

// As many whatever the machine has, so that every machine looks at the same ones.
constexpr std::size_t predicted_together = 4;

// How many times as much as the worst target allows; at most 1 where all are met.
double excess(const Targets& targets, Seconds time, Money cost, SamplesPerSecond throughput) {
  double worst = 0;
  if (targets.deadline) worst = std::max(worst, time / *targets.deadline);
  if (targets.budget) worst = std::max(worst, cost / *targets.budget);
  if (targets.throughput) worst = std::max(worst, *targets.throughput / throughput);
  return worst;
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

}  // namespace

Search::Search(const PlannedJob& job, const Grid& grid, PredictSetups predict)
    : job_(job), grid_(grid), predict_(std::move(predict)) {
  for (std::size_t i = 0; i < grid.candidates.size(); ++i) {
    const Machine& machine = job.machines[grid.candidates[i].setup.machine];
    if (machine.price) by_cost_.push_back(bounded({i, Pricing::on_demand}));
    if (machine.spot) by_cost_.push_back(bounded({i, Pricing::spot}));
  }
  by_time_ = by_cost_;
  std::ranges::stable_sort(
      by_cost_, {}, [](const Bounded& one) { return std::tuple(one.cost, one.time, one.plan); });
  std::ranges::stable_sort(
      by_time_, {}, [](const Bounded& one) { return std::tuple(one.time, one.cost, one.plan); });
}

MoneyPerSecond Search::rate(const Plan& plan) const {
  const Setup& made = setup(plan);
  const Machine& machine = job_.machines[made.machine];
  const MoneyPerSecond of_node =
      plan.pricing == Pricing::spot ? machine.spot->price : *machine.price;
  return of_node * made.nodes;
}

Losses Search::losses(const Plan& plan) const {
  const Setup& made = setup(plan);
  const Machine& machine = job_.machines[made.machine];
  const double preempted =
      plan.pricing == Pricing::spot ? machine.spot->preemptions_per_s.value_or(0) : 0;
  return Losses::of(job_.overheads, made.nodes, preempted);
}

Search::Bounded Search::bounded(const Plan& plan) const {
  const Candidate& candidate = grid_.candidates[plan.candidate];
  const double samples = samples_per_step(job_, candidate.setup);
  // Losses only add to it, and are left out.
  Losses without = losses(plan);
  without.per_s = 0;
  const Speed speed{candidate.step_at_least, 0, 0, 4, samples};
  const Seconds time = Finish(speed, job_.samples, without).within(job_.probability);
  // Rounding of what is as long as its bound must not exclude it.
  constexpr double rounding = 1 - 1e-12;
  return {plan, time * rounding, rate(plan) * time * rounding,
          SamplesPerSecond(samples / candidate.step_at_least.value() / rounding)};
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
  made.likely = finish.likely();
  made.sure = finish.within(job_.probability);
  made.likely_cost = price * made.likely;
  made.sure_cost = price * made.sure;
  const double samples = speed->samples_per_step;
  made.likely_throughput = SamplesPerSecond(samples / speed->step.value());
  made.sure_throughput = SamplesPerSecond(samples / speed->step_within(job_.probability).value());
  // All follow from how long steps take: the hardest decides.
  made.probability = 1;
  if (targets.deadline) {
    made.probability = std::min(made.probability, finish.probability_within(*targets.deadline));
  }
  if (targets.budget) {
    made.probability =
        std::min(made.probability, finish.probability_within(*targets.budget / price));
  }
  if (targets.throughput) {
    const Seconds step(samples / targets.throughput->value());
    made.probability = std::min(made.probability, speed->probability_within(step));
  }
  return made;
}

std::vector<std::pair<Plan, Promise>> Search::all_predicted(
    const Targets& targets, const std::function<bool(const Setup&, Pricing)>& allowed) {
  std::vector<std::pair<Plan, Promise>> all;
  for (const Bounded& one : by_cost_) {
    if (!speeds_.contains(one.plan.candidate)) continue;
    if (!allowed(setup(one.plan), one.plan.pricing)) continue;
    if (const auto made = promise(one.plan, targets)) all.emplace_back(one.plan, *made);
  }
  std::ranges::sort(all, {}, &std::pair<Plan, Promise>::first);
  return all;
}

Money Search::sure_cost(const Plan& plan, const Speed& speed) const {
  return rate(plan) * Finish(speed, job_.samples, losses(plan)).within(job_.probability);
}

std::optional<Plan> Search::best(const Wanted& wanted) {
  const bool excludes = wanted.aim != Aim::nearest;
  const auto meets = [&](Seconds time, Money cost, SamplesPerSecond throughput) {
    return !excludes || excess(wanted.targets, time, cost, throughput) <= 1;
  };
  std::optional<Plan> found;
  std::tuple<double, double, Plan> least;
  std::vector<Plan> next;
  const auto take_next = [&] {
    predict(next);
    for (const Plan& plan : next) {
      const auto made = promise(plan, wanted.targets);
      if (!made || !meets(made->sure, made->sure_cost, made->sure_throughput)) continue;
      const auto [first, second] =
          rank(wanted.aim, wanted.targets, made->sure, made->sure_cost, made->sure_throughput);
      const std::tuple of_plan(first, second, plan);
      if (!found || of_plan < least) {
        found = plan;
        least = of_plan;
      }
    }
    next.clear();
  };
  std::vector<Bounded> by_excess;
  if (wanted.aim == Aim::nearest) {
    by_excess = by_cost_;
    std::ranges::stable_sort(by_excess, {}, [&](const Bounded& one) {
      return rank(wanted.aim, wanted.targets, one.time, one.cost, one.throughput);
    });
  }
  const auto& ordered = wanted.aim == Aim::cheapest  ? by_cost_
                        : wanted.aim == Aim::fastest ? by_time_
                                                     : by_excess;
  for (const Bounded& one : ordered) {
    if (wanted.allowed && !wanted.allowed(setup(one.plan), one.plan.pricing)) continue;
    if (!meets(one.time, one.cost, one.throughput)) continue;
    const double at_least =
        rank(wanted.aim, wanted.targets, one.time, one.cost, one.throughput).first;
    if (found && at_least > std::get<0>(least)) break;
    next.push_back(one.plan);
    if (next.size() == predicted_together) take_next();
  }
  take_next();
  return found;
}

}  // namespace paceline::capacity
