#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "models/units/units.h"
#include "scenarios/capacity/finish.h"
#include "scenarios/capacity/grid.h"
#include "scenarios/loader/job/job.h"

namespace paceline::capacity {

// Of a node; as many as others have where nobody tells.
[[nodiscard]] double vcpus_of(const Machine& machine);

[[nodiscard]] InputTime input_of(const PlannedJob& job, const Setup& setup);

// A setup and how its nodes are paid for.
struct Plan {
  std::size_t candidate = 0;  // of the grid's
  Pricing pricing = Pricing::on_demand;

  friend auto operator<=>(const Plan&, const Plan&) = default;
};

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
using TightenBound = std::function<StepBound(const Setup& setup)>;

// Finds the best plan of a grid while it predicts only those that bounds do not exclude. Plans come
// in the order of what they cost (or take) at least; a bound is tightened when its turn comes,
// first by losses and then by the step; the search ends when the next plan costs more at least than
// the best one does. So no plan that is left out can be better. Predictions and bounds are kept
// between searches.
class Search {
 public:
  // Both outlive it.
  Search(const PlannedJob& job, Grid& grid, TightenBound tighten, PredictSetups predict);

  // nullopt: none meets the targets. Of equal ones the quicker, or cheaper, then the first.
  [[nodiscard]] std::optional<Plan> best(const Wanted& wanted);
  // The same, or a better one between it and its neighbours in the grid, to which it adds those
  // that it predicts: it moves by half of the distance to them (of nodes: by one at least), by a
  // quarter, and so on, and goes on from where it finds a better one.
  [[nodiscard]] std::optional<Plan> refined_best(const Wanted& wanted);
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
  // How much of a bound was worked out.
  enum class Tight { step_alone, with_losses, fully };
  [[nodiscard]] Bounded bounded(const Plan& plan, const StepBound& step, bool has_losses) const;
  [[nodiscard]] Bounded tightened(const Plan& plan, Tight how);
  // All that times depend on: plans that differ by their price alone have one. A setup on the first
  // machine of its hardware, preemptions, vCPUs and disk.
  using Way = std::tuple<Setup, std::optional<double>, std::optional<std::uint32_t>,
                         std::optional<BytesPerSecond>>;
  [[nodiscard]] Way way(const Plan& plan) const;
  [[nodiscard]] Losses losses(const Plan& plan) const;
  // Of a node; nullopt: nobody tells.
  [[nodiscard]] std::optional<double> preemptions(const Plan& plan) const;
  void predict(std::span<const Plan> plans);
  // Takes a plan that is better than what was found.
  void consider(const Plan& plan, const Wanted& wanted, Found& found);

  const PlannedJob& job_;
  Grid& grid_;
  TightenBound tighten_;
  PredictSetups predict_;
  std::vector<Bounded> plans_;
  std::map<std::pair<Way, Tight>, Bounded> bounds_;     // with the price of the first
  std::map<Way, Promise> times_;                        // likewise, without targets
  std::map<std::size_t, StepBound> steps_at_least_;     // tightened, by candidate
  std::map<std::size_t, std::optional<Speed>> speeds_;  // by candidate
};

}  // namespace paceline::capacity
