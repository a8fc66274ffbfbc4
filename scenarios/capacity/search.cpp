#include "scenarios/capacity/search.h"

#include <bit>
#include <cmath>
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

double vcpus_of(const Machine& machine) {
  return machine.vcpus ? *machine.vcpus : untold::vcpus_per_gpu * machine.gpus_per_node;
}

InputTime input_of(const PlannedJob& job, const Setup& setup) {
  const Machine& machine = job.machines[setup.machine];
  const double samples = samples_per_step(job, setup) / setup.nodes;
  InputTime time;
  if (job.input.per_core) {
    const double spread =
        std::hypot(std::log(job.input.factor), machine.vcpus ? 0 : std::log(untold::vcpus_factor));
    const double cores = vcpus_of(machine) / vcpus_per_core;
    time.cpus = {Seconds(samples / (job.input.per_core->value() * cores)), -spread, spread};
  }
  if (job.input.bytes && machine.disk) time.disk = *job.input.bytes / *machine.disk * samples;
  return time;
}

Search::Search(const PlannedJob& job, Grid& grid, TightenBound tighten, PredictSetups predict)
    : job_(job), grid_(grid), tighten_(std::move(tighten)), predict_(std::move(predict)) {
  for (std::size_t i = 0; i < grid.candidates.size(); ++i) add(i);
}

void Search::add(std::size_t number) {
  const Candidate& candidate = grid_.candidates[number];
  const Machine& machine = job_.machines[candidate.setup.machine];
  for (const Pricing pricing : {Pricing::on_demand, Pricing::spot, Pricing::reserved}) {
    if (!machine.price_of(pricing)) continue;
    plans_.push_back(tightened({number, pricing}, Tight::step_alone));
  }
}

MoneyPerSecond Search::rate(const Plan& plan) const {
  const Setup& made = setup(plan);
  return *job_.machines[made.machine].price_of(plan.pricing) * made.nodes;
}

Losses Search::losses(const Plan& plan) const {
  const Setup& made = setup(plan);
  return Losses::of(job_.overheads, made.nodes, job_.machines[made.machine].gpus_per_node,
                    preemptions(plan));
}

std::optional<double> Search::preemptions(const Plan& plan) const {
  if (plan.pricing != Pricing::spot) return 0.0;
  return job_.machines[setup(plan).machine].spot->preemptions_per_s;
}

Search::Bounded Search::bounded(const Plan& plan, const StepBound& step, bool has_losses) const {
  const double samples = samples_per_step(job_, setup(plan));
  if (!std::isfinite(step.limit.value())) return {plan, step.limit, Money(step.limit.value()), {}};
  Losses of_plan = losses(plan);
  if (!has_losses) {  // which only add to it
    of_plan.per_s = 0;
    of_plan.segment = of_plan.takes = Seconds(0);
    of_plan.starts = {std::ranges::min(of_plan.starts)};
  }
  const Speed speed = step.speed(job_.probability, samples, input_of(job_, setup(plan)));
  const Seconds time = Finish(speed, job_.samples, of_plan).within(job_.probability);
  // What is as long as its bound, but for rounding and how close times are, must not be excluded.
  constexpr double close = 1 - 1e-8;
  return {plan, time * close, cost_of(rate(plan), time) * close,
          SamplesPerSecond(samples / speed.step_within(job_.probability).value() / close)};
}

Search::Way Search::way(const Plan& plan) const {
  Setup made = setup(plan);
  const Machine& machine = job_.machines[made.machine];
  made.machine = machine.hardware;
  return {made, preemptions(plan), machine.vcpus, machine.disk};
}

Search::Bounded Search::tightened(const Plan& plan, Tight how) {
  const auto [at, is_new] = bounds_.try_emplace({way(plan), how});
  if (!is_new) {
    Bounded made = at->second;
    made.plan = plan;
    made.cost = cost_of(rate(plan), made.time);
    return made;
  }
  const Candidate& candidate = grid_.candidates[plan.candidate];
  StepBound step = candidate.step_at_least;
  if (how == Tight::fully) {
    const auto [known, is_first] = steps_at_least_.try_emplace(plan.candidate);
    if (is_first) known->second = tighten_(candidate.setup);
    if (known->second.limit > step.limit) step = known->second;
  }
  return at->second = bounded(plan, step, how != Tight::step_alone);
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
  const double samples = speed->samples_per_step;
  const auto [at, is_new] = times_.try_emplace(way(plan));
  Promise& times = at->second;
  if (is_new) {
    times.median = finish.within(0.5);
    times.limit = finish.within(job_.probability);
    times.median_throughput = SamplesPerSecond(samples / speed->step_within(0.5).value());
    times.limit_throughput =
        SamplesPerSecond(samples / speed->step_within(job_.probability).value());
  }
  Promise made = times;
  made.median_cost = cost_of(price, made.median);
  made.limit_cost = cost_of(price, made.limit);
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
  using Entry = std::tuple<Rank, Plan, Tight>;  // at least
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto push = [&](const Bounded& one, Tight how) {
    if (!std::isfinite(one.time.value())) return;  // what never ends is no plan
    if (!meets(wanted, one.time, one.cost, one.throughput)) return;
    queue.emplace(rank(wanted.aim, wanted.targets, one.time, one.cost, one.throughput), one.plan,
                  how);
  };
  for (const Bounded& one : plans_) {
    if (!wanted.allowed || wanted.allowed(setup(one.plan), one.plan.pricing))
      push(one, Tight::step_alone);
  }
  Found found;
  const auto may_be_best = [&] {
    return !queue.empty() && (!found.plan || std::get<Rank>(queue.top()) <= found.least.first);
  };
  while (may_be_best()) {
    StopRequest::check();
    std::vector<Plan> next;
    while (next.size() < predicted_together && may_be_best()) {
      const auto [at_least, plan, how] = queue.top();
      queue.pop();
      if (how == Tight::fully || speeds_.contains(plan.candidate)) {
        next.push_back(plan);
      } else {
        const Tight next_how = how == Tight::step_alone ? Tight::with_losses : Tight::fully;
        push(tightened(plan, next_how), next_how);
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

std::optional<Plan> Search::refined_best(const Wanted& wanted) {
  Found found = find(wanted);
  if (!found.plan) return found.plan;
  const Setup first = setup(*found.plan);
  // Half of the distance to the grid's next.
  std::uint32_t nodes = std::max(std::bit_floor(first.nodes) / 32, 1U),
                batch = std::bit_floor(first.batch) / 2, passes = std::bit_floor(first.passes) / 2;
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
      const bool is_left_out = wanted.allowed && !wanted.allowed(made, found.plan->pricing);
      const auto described = is_known || is_left_out ? std::nullopt : grid_.candidate(made);
      if (!described) continue;
      grid_.candidates.push_back(*described);
      const Plan plan{grid_.candidates.size() - 1, found.plan->pricing};
      add(plan.candidate);
      if (may_be_better(tightened(plan, Tight::with_losses), wanted, found) &&
          may_be_better(tightened(plan, Tight::fully), wanted, found)) {
        next.push_back(plan);
      }
    }
    predict(next);
    for (const Plan& plan : next) consider(plan, wanted, found);
  }
  return found.plan;
}

}  // namespace paceline::capacity
