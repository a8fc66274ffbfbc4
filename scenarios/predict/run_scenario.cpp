#include "scenarios/predict/run_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "models/cost/effort.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/point_source.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/resolve.h"
#include "scenarios/process/stop_request.h"

namespace paceline {
namespace {

// SimGrid simulates so many in half a second.
constexpr std::uint64_t transfers_max = 50'000;

bool has_calls_to_simulate(const training::StepProgram& program) {
  return std::ranges::any_of(calls_in(program),
                             [](const auto* call) { return call->known() == nullptr; });
}

// Without a result where SimGrid has none.
SimGridCheck simulated(SimGridCheck check, const std::shared_ptr<const PreparedPoint>& step) {
  ResolvedPoint point = step->point;
  point.fidelity = Fidelity::flow;
  try {
    const traces::Reply reply = simulate(point);
    if (const auto* failure = std::get_if<traces::Failure>(&reply)) {
      check.why_not = failure->what;
    } else {
      check.flow = std::get<Result>(reply).totals;
    }
  } catch (const BackendError& error) {
    check.why_not = error.what();
  } catch (const Stopped& stopped) {
    check.why_not = stopped.what();
  }
  return check;
}

// One run. Points are all looked at before the first is predicted, so that what is wrong with any
// is said at once. What spans points is here: what those that are known say of the others, and what
// a failure or a stop means for these.
class Run {
 public:
  Run(Preparer& points, const RunOptions& options)
      : points_(points), file_(points.file()), options_(options) {}

  std::vector<PointOutcome> outcomes() {
    const ProgressEnd end(options_.progress);
    look_at_all();
    try {
      StopRequest::check();
      predict_all();
    } catch (const Stopped& stopped) {
      give_up({FailureCause::stopped, stopped.what()});
    } catch (const InputError& error) {
      if (!has_results()) throw;
      give_up({FailureCause::refused, error.what()});
    } catch (const BackendError& error) {
      if (!has_results()) throw;
      give_up({FailureCause::failed, error.what()});
    }
    const auto is_refused = [](const PointOutcome& one) {
      return one.failure && one.failure->cause == FailureCause::refused;
    };
    if (first_refusal_ && std::ranges::all_of(outcomes_, is_refused)) throw *first_refusal_;
    find_measured_one_gpu(outcomes_);
    return std::move(outcomes_);
  }

 private:
  using Points = std::vector<std::size_t>;

  [[nodiscard]] bool has_results() const {
    return std::ranges::any_of(outcomes_,
                               [](const PointOutcome& one) { return one.predicted.has_value(); });
  }

  void give_up(const PointFailure& why) {
    for (PointOutcome& outcome : outcomes_) {
      if (!outcome.predicted && !outcome.failure) outcome.failure = why;
    }
  }

  void look_at_all() {
    for (std::size_t point = 0; point < file_.point_count(); ++point) {
      StopRequest::check();
      const auto scenario = points_.scenario(point);
      tell(fmt::format("preparing {} GPUs", scenario->cluster.ranks().value()), std::nullopt);
      refuse_too_many(scenario->cluster.ranks(), options_.force, {file_.path()});
      const auto prepared = points_.prediction(point);
      outcomes_.push_back(outcome_of(file_, *prepared));
      if (options_.only_if_it_fits) refuse_too_large(outcomes_.back(), *scenario);
      times_.push_back(time_expected(prepared->point, options_.force, {file_.path()}));
      if (options_.check) cheapest_.look_at(point, prepared->point);
    }
  }

  void refuse_too_large(const PointOutcome& outcome, const Scenario& scenario) const {
    if (!outcome.is_too_large()) return;
    throw StrategyRefusal({file_.path()}, std::string(scenario.strategy->name),
                          "needs " + memory_text(outcome) + " per GPU", "");
  }

  void predict_all() {
    uncertain::Belief belief = options_.belief ? *options_.belief : unconditioned_belief();
    if (!options_.belief && has_evidence(points_)) {
      tell("known points", std::nullopt);
      belief = belief_from(points_, options_);
    }
    Points all(outcomes_.size());
    std::iota(all.begin(), all.end(), 0);
    const auto checked = cheapest_.point();
    if (checked) std::swap(all.front(), all[*checked]);  // SimGrid runs beside the others
    for_each(all.size(), options_.jobs, [&](std::size_t i) {
      Predicted predicted =
          predict_point(next(all[i]), belief, simulation(options_.force, options_.check));
      const std::lock_guard lock(mutex_);
      take_one(std::move(predicted), all[i]);
    });
    if (check_.valid()) outcomes_[*checked].check = check_.get();
  }

  std::shared_ptr<const PreparedPoint> next(std::size_t point) {
    const std::lock_guard lock(mutex_);
    StopRequest::check();
    tell(outcomes_[point].name(), times_[point]);
    return points_.prediction(point);
  }

  void take_one(Predicted predicted, std::size_t point) {
    PointOutcome& outcome = outcomes_[point];
    const Location where{file_.path()};
    const auto* failure = std::get_if<PointFailure>(&predicted);
    if (failure != nullptr && failure->cause == FailureCause::refused && !first_refusal_) {
      first_refusal_ = refusal(failure->why, where);
    }
    take(std::move(predicted), where, outcome);
    if (outcome.predicted && point == cheapest_.point()) check_ = checked_by_simgrid(outcome);
    if (outcome.predicted && outcome.gpus > 1) outcome.losses = losses_of(outcome);
    if (outcome.predicted && !options_.keep_traces) outcome.predicted->drop_trace();
    ++done_;
    tell("", std::nullopt);
  }

  void tell(std::string doing, std::optional<Seconds> about) const {
    if (options_.progress) {
      options_.progress({done_, file_.point_count(), "points", std::move(doing), "", about});
    }
  }

  Preparer& points_;
  const ScenarioFile& file_;
  const RunOptions& options_;
  std::vector<PointOutcome> outcomes_;         // by point, as times
  std::vector<std::optional<Seconds>> times_;  // that are expected
  CheapestPoint cheapest_;
  std::mutex mutex_;  // of what threads share: all but times
  std::future<SimGridCheck> check_;
  std::optional<InputError> first_refusal_;
  std::size_t done_ = 0;
};

}  // namespace

void CheapestPoint::look_at(std::size_t number, const ResolvedPoint& point) {
  if (point.fidelity != Fidelity::folded || job_cluster(point).ranks() == RankCount(1)) return;
  const double transfers = has_calls_to_simulate(point.program)
                               ? cost::work_about(point).transfers
                               : std::numeric_limits<double>::infinity();
  if (point_ && transfers >= transfers_) return;
  point_ = number;
  transfers_ = transfers;
}

std::future<SimGridCheck> checked_by_simgrid(const PointOutcome& outcome) {
  const Prediction& predicted = *outcome.predicted;
  SimGridCheck check{outcome.gpus, predicted.transfers, "", predicted.totals_alone, {}};
  if (predicted.fidelity == Fidelity::flow) {
    check.why_not = "simulated by SimGrid itself";
  } else if (check.transfers > transfers_max) {
    check.why_not = in_thousands(static_cast<double>(check.transfers)) + " transfers";
  }
  if (!check.is_done()) {
    std::promise<SimGridCheck> known;
    known.set_value(std::move(check));
    return known.get_future();
  }
  return std::async(std::launch::async, simulated, std::move(check), predicted.alone);
}

std::vector<PointOutcome> points_to_measure(Preparer& points) {
  std::vector<PointOutcome> outcomes;
  for (std::size_t point = 0; point < points.file().point_count(); ++point) {
    outcomes.push_back(outcome_of(points.file(), *points.measurement(point)));
    outcomes.back().measured.reset();
    outcomes.back().fidelity = Fidelity::measured;
  }
  return outcomes;
}

std::vector<PointOutcome> run_scenario(Preparer& points, const RunOptions& options) {
  return Run(points, options).outcomes();
}

std::vector<PointOutcome> run_scenario(const ScenarioFile& file, const RunOptions& options) {
  Preparer points(file);
  return run_scenario(points, options);
}

Attempt attempt(const std::function<ScenarioFile()>& read, const RunOptions& options) {
  try {
    const ScenarioFile file = read();
    if (file.point_count() > 1) {
      throw InputError({file.path()}, fmt::format("has {} points", file.point_count()),
                       "give one value of each axis: --set gpus=8");
    }
    RunOptions quietly = options;
    quietly.progress = nullptr;
    std::vector<PointOutcome> outcomes = run_scenario(file, quietly);
    const PointOutcome& outcome = outcomes.front();
    if (outcome.failure && outcome.failure->cause == FailureCause::stopped) throw Stopped();
    if (outcome.failure) throw BackendError("paceline-sim", outcome.failure->why);
    return {std::move(outcomes.front()), ""};
  } catch (const StrategyRefusal& refusal) {
    return {std::nullopt, refusal.reason()};
  }
}

std::string memory_text(const PointOutcome& outcome) {
  return in_gibibytes(outcome.memory->total()) + " of " + in_gibibytes(*outcome.device_memory);
}

}  // namespace paceline
