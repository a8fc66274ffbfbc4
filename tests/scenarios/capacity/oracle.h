#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "scenarios/capacity/search.h"
#include "scenarios/errors.h"
#include "scenarios/predict/run_scenario.h"

// Answers of jobs without a search: every setup is predicted as a scenario of its own, every plan
// priced, and the best of those that meet the targets taken. Nothing of grid.cpp, bounds.cpp,
// predictor.cpp and search.cpp is used.
namespace paceline::test {

// Of Student's distribution of four degrees of freedom, by its closed form (Shaw, Journal of
// Computational Finance 9(4), 2006, section 3): for a probability u of 0.5 or more
// 2 sqrt(cos(acos(sqrt(a)) / 3) / sqrt(a) - 1) with a = 4 u (1 - u).
[[nodiscard]] inline double student_4_quantile(double u) {
  const double root = std::sqrt(4 * u * (1 - u));
  return 2 * std::sqrt(std::max(std::cos(std::acos(root) / 3) / root - 1, 0.0));
}

// The probability that it is below t, by the closed form of the same paper.
[[nodiscard]] inline double student_4_below(double t) {
  const double square = 1 + t * t / 4;
  return 0.5 + 0.375 * t / std::sqrt(square) * (1 - t * t / (12 * square));
}

// Predictions by the ordinary way, each once: of jobs whose machines have one cluster to a name,
// and whose workloads and measurements one text.
class Foretold {
 public:
  struct Step {
    Seconds likeliest, low, high;  // 90 %
  };

  // What of its GPU's memory the job's step takes; nullopt: its scenario is refused, or it is not
  // known.
  [[nodiscard]] std::optional<double> memory(const PlannedJob& job, const std::string& workload,
                                             const capacity::Setup& setup) {
    const auto [at, is_new] = memory_.try_emplace(key(job, workload, setup));
    if (!is_new) return at->second;
    try {
      const ScenarioFile file = scenario(job, setup);
      const auto prepared = Preparer(file).prediction(0);
      if (prepared->memory && prepared->device.memory) {
        at->second = static_cast<double>(prepared->memory->total().value()) /
                     static_cast<double>(prepared->device.memory->value());
      }
    } catch (const InputError&) {
      at->second.reset();
    }
    return at->second;
  }

  // nullopt: refused.
  [[nodiscard]] std::optional<Step> step(const PlannedJob& job, const std::string& workload,
                                         const capacity::Setup& setup) {
    const auto [at, is_new] = steps_.try_emplace(key(job, workload, setup));
    if (!is_new) return at->second;
    try {
      const auto outcome = run_scenario(scenario(job, setup), {}).front();
      if (outcome.predicted) {
        at->second = {outcome.predicted->totals.step, outcome.predicted->interval.low,
                      outcome.predicted->interval.high};
      }
    } catch (const InputError&) {
      at->second.reset();
    }
    return at->second;
  }

  [[nodiscard]] std::size_t predictions() const { return steps_.size(); }

 private:
  using Key = std::tuple<std::string, std::string, std::uint32_t, std::string, std::string,
                         std::uint32_t, std::uint32_t>;

  [[nodiscard]] static Key key(const PlannedJob& job, const std::string& workload,
                               const capacity::Setup& setup) {
    const auto& strategy = job.strategies[setup.strategy];
    return {workload,
            job.machines[setup.machine].name,
            setup.nodes,
            strategy.name,
            strategy.bucket_cap,
            setup.batch,
            setup.passes};
  }
  [[nodiscard]] static ScenarioFile scenario(const PlannedJob& job, const capacity::Setup& setup) {
    const auto& strategy = job.strategies[setup.strategy];
    std::vector<ScenarioFile::Setting> settings{
        {"training.strategy", strategy.name},
        {"training.gradient_accumulation", std::to_string(setup.passes)},
        {"workload.batch_per_gpu", std::to_string(setup.batch)}};
    if (!strategy.bucket_cap.empty()) {
      settings.push_back({"training.bucket_cap", strategy.bucket_cap});
    }
    return job.scenario(job.machines[setup.machine], setup.nodes, settings);
  }

  std::map<Key, std::optional<double>> memory_;
  std::map<Key, std::optional<Step>> steps_;
};

class Oracle {
 public:
  // `workload`: what predictions of the job have in common with those of other jobs. All outlive
  // it.
  Oracle(const PlannedJob& job, std::string workload, Foretold& foretold)
      : job_(job), workload_(std::move(workload)), foretold_(foretold) {
    for (std::size_t machine = 0; machine < job.machines.size(); ++machine) add(machine);
  }

  // In the order of machines, nodes, strategies, batches, passes.
  [[nodiscard]] const std::vector<capacity::Setup>& setups() const { return setups_; }

  struct Priced {
    capacity::Setup setup;
    Pricing pricing;
    double time_s, cost, samples_per_s;  // all three with the job's probability
    double price_per_s = 0, samples = 0;
    std::shared_ptr<const capacity::Finish> finish = nullptr;

    // With losses a plan may miss by them what its steps keep, and the other way round.
    [[nodiscard]] bool keeps_all(const Targets& targets, double probability) const {
      if (!targets.throughput) return true;
      double within = std::numeric_limits<double>::infinity();
      if (targets.deadline) within = targets.deadline->value();
      if (targets.budget && price_per_s > 0) {
        within = std::min(within, targets.budget->value() / price_per_s);
      }
      if (!std::isfinite(within)) return true;
      const Seconds step(samples / targets.throughput->value());
      return finish->probability_within(Seconds(within), step) >= probability * (1 - 1e-6);
    }
    // How many times as much as the worst target allows.
    [[nodiscard]] double excess(const Targets& targets) const {
      double worst = std::isfinite(time_s) ? 0 : time_s;
      if (targets.deadline) worst = std::max(worst, time_s / targets.deadline->value());
      if (targets.budget && cost > 0) worst = std::max(worst, cost / targets.budget->value());
      if (targets.throughput) worst = std::max(worst, targets.throughput->value() / samples_per_s);
      return worst;
    }
    [[nodiscard]] double value(capacity::Aim aim, const Targets& targets) const {
      if (aim == capacity::Aim::nearest) return excess(targets);
      return aim == capacity::Aim::cheapest ? cost : time_s;
    }
  };

  // Every plan that runs, of the pricings that are considered.
  [[nodiscard]] std::vector<Priced> plans() {
    std::vector<Priced> all;
    for (const capacity::Setup& setup : setups_) {
      for (const Pricing pricing : {Pricing::on_demand, Pricing::spot}) {
        if (const auto one = plan(setup, pricing)) all.push_back(*one);
      }
    }
    return all;
  }

  // Nullopt: it cannot run, or cannot be had so.
  [[nodiscard]] std::optional<Priced> plan(const capacity::Setup& setup, Pricing pricing) {
    const auto step = foretold_.step(job_, workload_, setup);
    const Machine& machine = job_.machines[setup.machine];
    const bool is_spot = pricing == Pricing::spot;
    if (!step || !is_considered(machine, pricing)) return std::nullopt;
    if (is_spot ? !machine.spot.has_value() : !machine.price.has_value()) return std::nullopt;
    return priced(setup, pricing, *step);
  }

  // Machines of one's own have their price with any pricing.
  [[nodiscard]] bool is_considered(const Machine& machine, Pricing pricing) const {
    return std::ranges::count(job_.pricings, pricing) > 0 ||
           (machine.is_owned && pricing == Pricing::on_demand);
  }

  // The least value of those that meet the targets (all of them, of the nearest); nullopt: none.
  [[nodiscard]] std::optional<double> least(const std::vector<Priced>& plans, capacity::Aim aim,
                                            const Targets& targets) const {
    std::optional<double> found;
    for (const Priced& plan : plans) {
      if (aim != capacity::Aim::nearest && plan.excess(targets) > 1) continue;
      if (aim != capacity::Aim::nearest && !plan.keeps_all(targets, job_.probability)) continue;
      const double value = plan.value(aim, targets);
      if (!found || value < *found) found = value;
    }
    return found;
  }

 private:
  void add(std::size_t number) {
    const Machine& machine = job_.machines[number];
    std::uint32_t most = job_.nodes_at_most;
    if (job_.gpus_at_most) most = std::min(most, *job_.gpus_at_most / machine.gpus_per_node);
    most = std::min(most, machine.at_most.value_or(most));
    for (std::uint32_t nodes = 1; nodes <= most; ++nodes) {
      const bool is_tried =
          job_.batches.global_exactly || nodes <= 32 || nodes % (std::bit_floor(nodes) / 16) == 0;
      for (std::size_t strategy = 0; is_tried && strategy < job_.strategies.size(); ++strategy) {
        add(number, nodes, strategy);
      }
    }
  }

  void add(std::size_t machine, std::uint32_t nodes, std::size_t strategy) {
    const Batches& limits = job_.batches;
    const std::uint64_t gpus = std::uint64_t{nodes} * job_.machines[machine].gpus_per_node;
    const std::uint64_t samples_most =
        limits.global_exactly.value_or(limits.global_at_most.value_or(1U << 30));
    for (std::uint64_t batch = 1; batch * gpus <= samples_most; ++batch) {
      if (batch > limits.per_gpu_at_most.value_or(1U << 20)) break;
      if (!is_tried(job_.machines[machine], batch)) continue;
      for (std::uint32_t passes = 1; batch * gpus * passes <= samples_most;
           passes = limits.global_exactly ? passes + 1 : passes * 2) {
        if (limits.global_exactly ? batch * gpus * passes != samples_most || passes > 4096
                                  : passes > limits.accumulation_at_most) {
          continue;
        }
        const capacity::Setup setup{machine, nodes, strategy, static_cast<std::uint32_t>(batch),
                                    passes};
        const auto memory = foretold_.memory(job_, workload_, setup);
        if (!memory || *memory > 0.9) continue;
        setups_.push_back(setup);
      }
    }
  }

  [[nodiscard]] bool is_tried(const Machine& machine, std::uint64_t batch) const {
    if (job_.batches.per_gpu_exactly) return batch == *job_.batches.per_gpu_exactly;
    if (job_.batches.global_exactly || std::has_single_bit(batch)) return true;
    return std::ranges::count(job_.measured_batches(machine), batch) > 0;
  }

  [[nodiscard]] Priced priced(const capacity::Setup& setup, Pricing pricing,
                              const Foretold::Step& step) const {
    const Machine& machine = job_.machines[setup.machine];
    const bool is_spot = pricing == Pricing::spot;
    const double price_per_s =
        (is_spot ? machine.spot->price : *machine.price).value() * setup.nodes;
    const double samples = 1.0 * setup.nodes * machine.gpus_per_node * setup.batch * setup.passes;
    const capacity::InputTime input = input_of(setup, samples);
    const double step_s = step_s_within(step, input);
    const capacity::Speed speed{step.likeliest,
                                std::log(step.low / step.likeliest),
                                std::log(step.high / step.likeliest),
                                4,
                                samples,
                                input};
    // Tests of its own hold Finish to simulated runs.
    const auto finish = std::make_shared<const capacity::Finish>(
        speed, job_.samples,
        capacity::Losses::of(job_.overheads, setup.nodes, machine.gpus_per_node,
                             is_spot ? machine.spot->preemptions_per_s : std::optional(0.0)));
    const double time_s = finish->within(job_.probability).value();
    return {setup,       pricing, time_s, time_s * price_per_s, samples / step_s,
            price_per_s, samples, finish};
  }

  // 0.5 per core and two threads of it; samples of a node.
  [[nodiscard]] capacity::InputTime input_of(const capacity::Setup& setup, double samples) const {
    const Machine& machine = job_.machines[setup.machine];
    const double of_node = samples / setup.nodes;
    capacity::InputTime time;
    if (job_.input.per_core) {
      const double untold = machine.vcpus ? 0 : std::log(2.7);
      const double vcpus = machine.vcpus ? *machine.vcpus : 16.0 * machine.gpus_per_node;
      const double spread = std::sqrt(std::pow(std::log(job_.input.factor), 2) + untold * untold);
      const double rate = 0.5 * vcpus * job_.input.per_core->value();
      time.cpus = {Seconds(of_node / rate), -spread, spread, 4};
    }
    if (machine.disk && job_.input.bytes) {
      time.disk =
          Seconds(of_node * static_cast<double>(job_.input.bytes->value()) / machine.disk->value());
    }
    return time;
  }

  // When both the step and its input are there with the job's probability: the product of theirs.
  [[nodiscard]] double step_s_within(const Foretold::Step& step,
                                     const capacity::InputTime& input) const {
    const double end = student_4_quantile(0.95);
    const auto below = [&](double time, double likeliest, double low, double high) {
      const double moved = std::log(time / likeliest), side = moved > 0 ? high : -low;
      return side <= 0 ? (moved >= 0 ? 1.0 : 0.0) : student_4_below(moved / side * end);
    };
    const double likeliest = step.likeliest.value();
    const double cpus = input.cpus.likeliest.value(), spread = input.cpus.high;
    const auto kept = [&](double time) {
      const double alone = below(time, likeliest, std::log(step.low / step.likeliest),
                                 std::log(step.high / step.likeliest));
      return alone * (cpus > 0 ? below(time, cpus, -spread, spread) : 1);
    };
    double least = std::max(likeliest, cpus) / 100, most = std::max(likeliest, cpus) * 100;
    for (int half = 0; half < 200; ++half) {
      const double middle = std::sqrt(least * most);
      (kept(middle) < job_.probability ? least : most) = middle;
    }
    return std::max(most, input.disk.value());
  }

  const PlannedJob& job_;
  std::string workload_;
  Foretold& foretold_;
  std::vector<capacity::Setup> setups_;
};

}  // namespace paceline::test
