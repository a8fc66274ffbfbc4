#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "scenarios/capacity/answer.h"
#include "scenarios/predict/evidence.h"
#include "tests/scenarios/capacity/drawn_job.h"
#include "tests/scenarios/capacity/oracle.h"
#include "tests/scenarios/loader/job/small_job.h"

namespace paceline::test {

// The search's grid and answers beside the oracle's.
class AgainstOracle {
 public:
  AgainstOracle(const DrawnJob& drawn, Foretold& foretold)
      : job_(job_of(drawn.job, drawn.catalogue)), oracle_(job_, drawn.workload, foretold) {
    capacity::Grid grid;
    try {
      grid = capacity::grid_of(job_, unconditioned_belief().priors());
    } catch (const InputError&) {  // nothing fits
    }
    setups_ = grid.candidates.size();
    compare(grid, drawn.workload, foretold);
    if (setups_ > 0) search(grid);
  }

  // In words; none where all is the same.
  [[nodiscard]] const std::vector<std::string>& differences() const { return differences_; }
  [[nodiscard]] std::size_t setups() const { return setups_; }
  // By the search for the best plan alone, and for all of the answer.
  [[nodiscard]] std::size_t predicted_for_best() const { return predicted_for_best_; }
  [[nodiscard]] std::size_t predicted() const { return predicted_; }
  [[nodiscard]] std::size_t rows_by_nodes() const { return rows_by_nodes_; }
  [[nodiscard]] bool has_answer() const { return has_answer_; }

 private:
  static constexpr double rounding = 1e-8;  // Finish::within is as close as 1e-9

  [[nodiscard]] std::string words(const capacity::Setup& setup) const {
    const auto& strategy = job_.strategies[setup.strategy];
    return fmt::format("{} x {}, {} {}, batch {}, {} passes", setup.nodes,
                       job_.machines[setup.machine].name, strategy.name, strategy.bucket_cap,
                       setup.batch, setup.passes);
  }
  template <class... Words>
  void differ(fmt::format_string<Words...> text, Words&&... of) {
    differences_.push_back(fmt::format(text, std::forward<Words>(of)...));
  }

  // The grid may have setups more that no scenario can have: the search finds that they are
  // refused.
  void compare(const capacity::Grid& grid, const std::string& workload, Foretold& foretold) {
    std::vector<capacity::Setup> searched;
    for (const auto& one : grid.candidates) searched.push_back(one.setup);
    for (const auto& setup : oracle_.setups()) {
      if (std::ranges::count(searched, setup) != 1)
        differ("not once in the grid: {}", words(setup));
    }
    for (const auto& setup : searched) {
      if (std::ranges::count(oracle_.setups(), setup) == 1) continue;
      if (foretold.memory(job_, workload, setup)) differ("in the grid: {}", words(setup));
    }
  }

  void search(capacity::Grid& grid) {
    capacity::Predictor predictor(job_, {});
    capacity::Search search(
        job_, grid, [&](const auto& setup) { return predictor.step_at_least(setup); },
        [&](std::span<const capacity::Setup> setups) { return predictor.speeds(setups); });
    plans_ = oracle_.plans();
    const Targets& targets = job_.targets;
    using capacity::Aim;
    const Aim aim =
        targets.budget && !targets.deadline && !targets.throughput ? Aim::fastest : Aim::cheapest;
    const auto best = compare(search, aim, targets);
    predicted_for_best_ = search.predicted();
    has_answer_ = best.has_value();
    answer(grid, aim);
    compare(search, aim == Aim::cheapest ? Aim::fastest : Aim::cheapest, targets);
    compare(search, Aim::nearest, targets);
    compare(search, Aim::cheapest, {});
  }

  // Its best may lie between the grid's, and is no worse than they are.
  void answer(capacity::Grid grid, capacity::Aim aim) {
    capacity::Predictor predictor(job_, {});
    capacity::Search search(
        job_, grid, [&](const auto& setup) { return predictor.step_at_least(setup); },
        [&](std::span<const capacity::Setup> setups) { return predictor.speeds(setups); });
    const auto answer = answer_of(job_, grid, search, predictor);
    predicted_ = search.predicted();
    compare_by_nodes(answer, search);
    const auto least = oracle_.least(plans_, aim, job_.targets);
    if (answer.best.has_value() != least.has_value()) differ("only one of both has an answer");
    if (!answer.best && answer.nearest.has_value() == plans_.empty()) {
      differ("a nearest plan: {}", answer.nearest.has_value());
    }
    if (!answer.best || !least) return;
    const auto best = oracle_.plan(search.setup(answer.best->plan), answer.best->plan.pricing);
    if (!best) {
      differ("the best cannot be: {}", words(search.setup(answer.best->plan)));
      return;
    }
    if (best->value(aim, job_.targets) > *least * (1 + rounding)) {
      differ("the best {} is worse than one of the grid", words(best->setup));
    }
    compare(answer.best->promise, *best);
  }

  void compare(const capacity::Promise& promise, const Oracle::Priced& priced) {
    const double time = promise.limit.value();
    if (std::isfinite(time) && !(std::abs(time - priced.time_s) <= rounding * time)) {
      differ("{:.12g} s, and {:.12g} s", time, priced.time_s);
    }
  }

  // Rows are the best of their numbers of nodes, or better ones that lie between the grid's.
  void compare_by_nodes(const capacity::Answer& answer, const capacity::Search& search) {
    if (answer.by_nodes.size() > 10) differ("{} numbers of nodes", answer.by_nodes.size());
    for (const auto& [row, nodes, efficiency] : answer.by_nodes) {
      const capacity::Setup& made = search.setup(row.plan);
      ++rows_by_nodes_;
      for (const Oracle::Priced& other : plans_) {
        const bool is_alike = other.setup.machine == made.machine && other.setup.nodes == nodes &&
                              other.pricing == row.plan.pricing;
        if (is_alike && other.time_s < row.promise.limit.value() * (1 - rounding)) {
          differ("of {} nodes {} is better than {}", nodes, words(other.setup), words(made));
        }
      }
    }
  }

  std::optional<capacity::Plan> compare(capacity::Search& search, capacity::Aim aim,
                                        const Targets& targets) {
    const auto found =
        search.best({aim, targets, [&](const capacity::Setup& setup, Pricing pricing) {
                       return oracle_.is_considered(job_.machines[setup.machine], pricing);
                     }});
    const auto least = oracle_.least(plans_, aim, targets);
    if (found.has_value() != least.has_value()) {
      differ("aim {}: the search {}, of {} plans the oracle {}", static_cast<int>(aim),
             found ? "found one" : "found none", plans_.size(), least ? "found one" : "found none");
    }
    if (!found || !least) return found;
    const auto of_found = std::ranges::find_if(plans_, [&](const Oracle::Priced& plan) {
      return plan.setup == search.setup(*found) && plan.pricing == found->pricing;
    });
    if (of_found == plans_.end()) {
      differ("aim {}: no plan: {}", static_cast<int>(aim), words(search.setup(*found)));
      return found;
    }
    const double value = of_found->value(aim, targets);
    if (value > *least * (1 + rounding)) {
      differ("aim {}: {} is {:.9g}, and the least {:.9g}", static_cast<int>(aim),
             words(of_found->setup), value, *least);
    }
    compare(*search.promise(*found, targets), *of_found);
    return found;
  }

  PlannedJob job_;
  Oracle oracle_;
  std::vector<Oracle::Priced> plans_;
  std::vector<std::string> differences_;
  std::size_t setups_ = 0, predicted_for_best_ = 0, predicted_ = 0, rows_by_nodes_ = 0;
  bool has_answer_ = false;
};

}  // namespace paceline::test
