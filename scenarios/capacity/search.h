#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/uncertain/quantities.h"
#include "models/units/units.h"
#include "scenarios/capacity/grid.h"
#include "scenarios/loader/job/job.h"

namespace paceline::capacity {

// A time whose logarithm is Student's, with its own scale on either side of the likeliest.
struct UncertainTime {
  Seconds likeliest;
  double low = 0, high = 0;  // the ends of its 90 % interval, as logarithms over that
  double degrees = uncertain::freedom;

  [[nodiscard]] Seconds within(double probability) const;
  [[nodiscard]] double probability_within(Seconds time) const;
};

// How long a node takes to get a step's samples ready, beside the step before; 0: not counted.
struct InputTime {
  UncertainTime cpus = {};
  Seconds disk = {};

  [[nodiscard]] Seconds within(double probability) const {
    return std::max(cpus.within(probability), disk);
  }
};
[[nodiscard]] InputTime input_of(const PlannedJob& job, const Setup& setup);

// A step's time: the longer of what GPUs and links take and of its input, which know nothing of
// each other.
struct Speed {
  Seconds step;  // likeliest, as UncertainTime has it, without input
  double low = 0, high = 0;
  double degrees = uncertain::freedom;
  double samples_per_step = 1;
  InputTime input = {};

  // Without its input.
  [[nodiscard]] UncertainTime alone() const { return {step, low, high, degrees}; }
  [[nodiscard]] bool is_bound_by_cpus() const {
    return input.cpus.likeliest > std::max(step, input.disk);
  }
  // The time that the step does not exceed with that probability.
  [[nodiscard]] Seconds step_within(double probability) const;
  // The probability that it takes no more.
  [[nodiscard]] double probability_within(Seconds step) const;
};

// Preemptions of a spot node for which its catalogue tells none: their rate is Gamma-distributed. A
// quarter of this distribution is below 0.026 %/h (19 % a month: AWS's Spot Advisor has classes
// from below 5 % to above 20 % a month), half below 0.44 %/h (10 % a day: Google's documentation of
// preemptible VMs observed 5 to 15 % a day), a twentieth above 12 %/h (Bamboo, NSDI 2023, trained
// at 10, 16 and 33 % an hour, from traces of GPU nodes).
inline constexpr double preemptions_per_s = 0.025 / 3600, preemptions_shape = 0.25;

// Nobody trains on spot nodes without checkpoints: what one takes where a job has none, a
// judgement.
inline constexpr Seconds spot_checkpoint{60};

// Failures and preemptions, after which a job starts again from its last checkpoint.
struct Losses {
  double per_s = 0;        // failures and preemptions of all nodes, on average
  Seconds start;           // until the first step, and after each loss
  Seconds segment, takes;  // work between two checkpoints, and what one takes; a segment of 0: none
                           // are made, and a loss costs all work
  double variance = 0;     // of per_s, where it is not known

  // For a job's overheads on so many nodes, which may also be preempted; nullopt: nobody tells how
  // often. Unless the file says how often checkpoints are made, as often as loses least (Daly, FGCS
  // 22(3), 2006, eq. 37).
  [[nodiscard]] static Losses of(const Overheads& overheads, std::uint32_t nodes,
                                 std::optional<double> preemptions);
};

// The time from start to finish of some work.
//
// Failures are Poisson, or negative binomial where their rate is not known (Gamma-distributed with
// its mean and variance). With a rate 1/M, segments of work T, checkpoints C and R for a restart, a
// segment's expected time is M exp(R/M) (exp((T + C)/M) - 1) (Daly, eq. 20). The average cost of a
// loss, of the likeliest step, follows from it; the number of losses is drawn. Without checkpoints
// slow steps lose more: limits of 99 % are 6 to 17 % too short then, of 90 % they are not.
class Finish {
 public:
  // Of samples.
  Finish(const Speed& speed, double samples, const Losses& losses);

  // The probability that it is done by then.
  [[nodiscard]] double probability_within(Seconds time) const;
  // And that no step takes longer than that, besides.
  [[nodiscard]] double probability_within(Seconds time, Seconds step) const;
  // When it is done at the latest with that probability; infinite where losses leave no way on.
  [[nodiscard]] Seconds within(double probability) const;
  // Where steps are as likely and losses as many as expected.
  [[nodiscard]] Seconds expected() const;

 private:
  [[nodiscard]] Seconds lossless(Seconds step) const;

  Speed speed_;
  Seconds step_;  // median
  double steps_;
  Losses losses_;
  double stretch_ = 1;   // by checkpoints alone
  double expected_ = 1;  // by checkpoints and losses: expected time over work
  Seconds loss_;         // what one costs on average
};

// A setup and how its nodes are paid for.
struct Plan {
  std::size_t candidate = 0;  // of the grid's
  Pricing pricing = Pricing::on_demand;

  friend auto operator<=>(const Plan&, const Plan&) = default;
};

// Of a node. Precondition: it can be had so.
[[nodiscard]] inline MoneyPerSecond price_of(const Machine& machine, Pricing pricing) {
  return pricing == Pricing::spot ? machine.spot->price : *machine.price;
}

// A plan's time and cost at most, and throughput at least, each with the job's probability.
struct Promise {
  Seconds median, limit;  // from start to finish
  Money median_cost, limit_cost;
  SamplesPerSecond median_throughput, limit_throughput;  // of steps alone
  double probability = 0;                                // that all targets are met
};

enum class Aim {
  cheapest,  // by the limit of cost
  fastest,   // by the limit of time
  nearest,   // by how many times as much as the worst target allows; targets exclude nothing
};

// Asks for the best plan among those that meet the targets and are allowed.
struct Wanted {
  Aim aim = Aim::cheapest;
  Targets targets;
  std::function<bool(const Setup& setup, Pricing pricing)> allowed;
};

// Predicts setups, several at once; nullopt: it cannot run. Throws BackendError and Stopped.
using PredictSetups =
    std::function<std::vector<std::optional<Speed>>(std::span<const Setup> setups)>;

// Returns a closer bound than Candidate::step_at_least, at far less work than a prediction;
// infinite for a setup that cannot run. Throws as predicting does.
using TightenBound = std::function<Seconds(const Setup& setup)>;

// Finds the best plan of a grid while it predicts only those that bounds do not exclude. Plans come
// in the order of what they cost (or take) at least; a bound is tightened when its turn comes; the
// search ends when the next plan costs more at least than the best one does. So no plan that is
// left out can be better. Predictions and bounds are kept between searches.
class Search {
 public:
  // Both outlive it.
  Search(const PlannedJob& job, Grid& grid, TightenBound tighten, PredictSetups predict);

  // nullopt: none meets the targets. Of equal ones the quicker, or cheaper, then the first.
  [[nodiscard]] std::optional<Plan> best(const Wanted& wanted);
  // The same, or a better one between it and its neighbours in the grid, to which it adds those
  // that it predicts: it moves by half of the distance to them, by a quarter, and so on, and goes
  // on from where it finds a better one. `candidate` says what a setup is, if it can be.
  [[nodiscard]] std::optional<Plan> refined_best(
      const Wanted& wanted,
      const std::function<std::optional<Candidate>(const Setup& setup)>& candidate);
  // Of those that were predicted.
  [[nodiscard]] std::optional<Plan> best_predicted(const Wanted& wanted);

  // Predicted if it has not been; nullopt: it cannot run.
  [[nodiscard]] std::optional<Promise> promise(const Plan& plan, const Targets& targets);

  // Those that were predicted, are allowed and can run, by number.
  [[nodiscard]] std::vector<std::pair<Plan, Promise>> all_predicted(
      const Targets& targets, const std::function<bool(const Setup&, Pricing)>& allowed);
  // If its steps took that.
  [[nodiscard]] Seconds limit_time(const Plan& plan, const Speed& speed) const;
  [[nodiscard]] MoneyPerSecond rate(const Plan& plan) const;  // of all its nodes

  [[nodiscard]] const Setup& setup(const Plan& plan) const {
    return grid_.candidates[plan.candidate].setup;
  }
  [[nodiscard]] std::size_t predicted() const { return speeds_.size(); }
  [[nodiscard]] std::size_t refused() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(speeds_, [](const auto& one) { return !one.second; }));
  }
  [[nodiscard]] std::size_t setups() const { return grid_.candidates.size(); }

 private:
  using Rank = std::pair<double, double>;  // what is to be least, and then next
  struct Found {
    std::optional<Plan> plan;
    std::pair<Rank, Plan> least;
  };
  struct Bounded {
    Plan plan;
    Seconds time;  // at least
    Money cost;
    SamplesPerSecond throughput;  // at most
  };

  // Adds a candidate's plans.
  void add(std::size_t candidate);
  [[nodiscard]] Found find(const Wanted& wanted);
  [[nodiscard]] bool may_be_better(const Bounded& one, const Wanted& wanted, const Found& found);
  [[nodiscard]] Bounded bounded(const Plan& plan, Seconds step_at_least) const;
  [[nodiscard]] Bounded tightened(const Plan& plan);
  [[nodiscard]] Losses losses(const Plan& plan) const;
  void predict(std::span<const Plan> plans);
  // Takes a plan that is better than what was found.
  void consider(const Plan& plan, const Wanted& wanted, Found& found);

  const PlannedJob& job_;
  Grid& grid_;
  TightenBound tighten_;
  PredictSetups predict_;
  std::vector<Bounded> plans_;
  std::map<std::size_t, Seconds> steps_at_least_;       // tightened, by candidate
  std::map<std::size_t, std::optional<Speed>> speeds_;  // by candidate
};

}  // namespace paceline::capacity
