#include "scenarios/predict/run_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/predict/contention_fit.h"
#include "scenarios/predict/point_source.h"
#include "scenarios/process/stop_request.h"

namespace paceline {
namespace {

// One run. Points are all looked at before the first is predicted, so that what is wrong with any
// is said at once. What spans points is here: the slowdown that is fitted to some of them, and what
// a failure or a stop means for the others.
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
    if (!has_results() && first_refusal_) throw *first_refusal_;
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
      refuse_too_many(scenario->cluster.ranks(), options_.force, {file_.path(), 0, 0});
      const auto prepared = points_.prediction(point);
      outcomes_.push_back(outcome_of(file_, *prepared));
      efforts_.push_back(effort_of(prepared->point, options_.force, {file_.path(), 0, 0}));
      (prepared->contention.measured ? unfitted_ : others_).push_back(point);
    }
    if (!unfitted_.empty()) to_fit_ = points_to_fit();
  }

  void predict_all() {
    const auto straight = [](std::shared_ptr<const PreparedPoint> prepared, const Executor& run) {
      return predict_point(std::move(prepared), run);
    };
    predict(others_, straight);
    if (unfitted_.empty()) return;
    const FittedSlowdown fitted = find_slowdown();
    predict(unfitted_, [&](std::shared_ptr<const PreparedPoint> prepared, const Executor& run) {
      Settled settled = settle_point(std::move(prepared), run);
      if (auto* failure = std::get_if<PointFailure>(&settled)) return Predicted(*failure);
      return contend_point(std::move(std::get<SettledPoint>(settled)), &fitted, run);
    });
  }

  // Points to their outcomes, several at once.
  template <class PredictOne>
  void predict(const Points& points, const PredictOne& predict_one) {
    for_each(points.size(), options_.jobs, [&](std::size_t i, Simulator& simulator) {
      const std::size_t point = points[i];
      Predicted predicted = predict_one(next(point), executor(point, simulator));
      const std::lock_guard lock(mutex_);
      take_one(std::move(predicted), point);
    });
  }

  // Whose turn it is.
  std::shared_ptr<const PreparedPoint> next(std::size_t point) {
    const std::lock_guard lock(mutex_);
    StopRequest::check();
    tell(outcomes_[point].name(), efforts_[point].time);
    return points_.prediction(point);
  }

  [[nodiscard]] Executor executor(std::size_t point, Simulator& simulator) const {
    return executor_on(simulator, efforts_[point].limit, options_.force);
  }

  void take_one(Predicted predicted, std::size_t point) {
    PointOutcome& outcome = outcomes_[point];
    const Location where{file_.path(), 0, 0};
    const auto* failure = std::get_if<PointFailure>(&predicted);
    if (failure != nullptr && failure->cause == FailureCause::refused && !first_refusal_) {
      first_refusal_ = refusal(failure->why, where);
    }
    take(std::move(predicted), where, outcome);
    if (outcome.predicted && !options_.keep_traces) outcome.predicted->trace = {};
    ++done_;
    tell("", std::nullopt);
  }

  // Of the points that wait for a slowdown (contention_fit.h), those it is to be fitted to.
  [[nodiscard]] Points points_to_fit() const {
    Points marked;
    for (const std::size_t point : unfitted_) {
      const PointOutcome& outcome = outcomes_[point];
      if (outcome.gpus > 1 && outcome.measured && outcome.measured->known) marked.push_back(point);
    }
    if (marked.empty()) {
      throw InputError(points_.prediction(unfitted_.front())->contention.where,
                       "contention is measured, but no measured point of the sweep with more than "
                       "one GPU is to be fitted",
                       "mark one in measured.points: {gpus: 8, throughput: .., fitted: true}");
    }
    return marked;
  }

  // What one of them fails of ends the fit.
  template <class Made, class Make>
  std::vector<Made> each_to_fit(const Make& make) {
    std::vector<std::optional<Made>> all(to_fit_.size());
    for_each(to_fit_.size(), options_.jobs, [&](std::size_t i, Simulator& simulator) {
      auto made = make(i, executor(to_fit_[i], simulator));
      const auto* failure = std::get_if<PointFailure>(&made);
      if (failure == nullptr) {
        all[i] = std::move(std::get<Made>(made));
      } else if (failure->cause == FailureCause::refused) {
        throw refusal(failure->why, {file_.path(), 0, 0});
      } else {
        throw BackendError("paceline-sim", "while contention was fitted: " + failure->why);
      }
    });
    std::vector<Made> made;
    for (std::optional<Made>& one : all) made.push_back(std::move(*one));
    return made;
  }

  FittedSlowdown find_slowdown() {
    const auto settled = each_to_fit<SettledPoint>(
        [&](std::size_t i, const Executor& run) { return settle_point(next(to_fit_[i]), run); });
    const auto fit = fit_contention([&](double slowdown) {
      const FittedSlowdown tried{slowdown};
      const auto predicted = each_to_fit<Prediction>([&](std::size_t i, const Executor& run) {
        return contend_point(settled[i], &tried, run);
      });
      return log_errors(predicted);
    });
    if (!fit) {
      throw InputError(points_.prediction(to_fit_.front())->contention.where,
                       "contention is measured, but no factor moves a fitted point by 0.5%: too "
                       "little of its compute is beside collectives",
                       "mark a point that hides more communication, or write a factor");
    }
    std::vector<PointOutcome> given;
    for (const std::size_t point : to_fit_) given.push_back(outcomes_[point]);
    return {fit->slowdown, to_assumption(*fit, given)};
  }

  [[nodiscard]] std::vector<double> log_errors(const std::vector<Prediction>& predicted) const {
    std::vector<double> errors;
    for (std::size_t i = 0; i < to_fit_.size(); ++i) {
      const PointOutcome& outcome = outcomes_[to_fit_[i]];
      const SamplesPerSecond throughput(outcome.samples_per_step /
                                        predicted[i].totals.step.value());
      errors.push_back(std::log(throughput / outcome.measured->throughput));
    }
    return errors;
  }

  void tell(std::string doing, std::optional<Seconds> about) const {
    if (options_.progress) {
      options_.progress({done_, file_.point_count(), "points", std::move(doing), "", about});
    }
  }

  Preparer& points_;
  const ScenarioFile& file_;
  const RunOptions& options_;
  std::vector<PointOutcome> outcomes_;  // by point, as efforts
  std::vector<Effort> efforts_;
  Points unfitted_, others_;  // those whose contention is to be fitted, and those that are straight
  Points to_fit_;             // of the first those that it is fitted to
  std::mutex mutex_;          // of what threads share: all but efforts
  std::optional<InputError> first_refusal_;
  std::size_t done_ = 0;
};

}  // namespace

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

}  // namespace paceline
