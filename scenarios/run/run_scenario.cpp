#include "scenarios/run/run_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "models/assumption.h"
#include "models/cost/closed_step.h"
#include "scenarios/errors.h"
#include "scenarios/run/contention.h"
#include "scenarios/run/contention_fit.h"
#include "scenarios/run/effort.h"
#include "scenarios/run/simulator.h"
#include "scenarios/run/stop_request.h"

namespace paceline {
namespace {

constexpr AssumptionKind slowed{"{}: compute beside a collective takes {} times as long"};
constexpr AssumptionKind slowed_calls{"{}: a collective beside compute takes {} times as long"};
constexpr AssumptionKind unsettled{
    "{}: what is reduced together depends on times that depend on it, and {} passes did not settle "
    "it: the step is of the last, its interval of all"};
constexpr AssumptionKind settled_alone{
    "{}: what is reduced together is decided by compute that is not slowed"};
constexpr AssumptionKind slowed_by_traffic{
    "{}: compute beside a collective takes {} times as long, by channels and memory traffic{}"};

PointOutcome outcome_of(const ScenarioFile& file, const PreparedPoint& prepared) {
  const std::size_t point = prepared.point.id;
  PointOutcome outcome;
  outcome.axes = file.points()[point];
  const topology::Cluster cluster = job_cluster(prepared.point);
  outcome.gpus = cluster.ranks().value();
  outcome.nodes = cluster.nodes;
  outcome.servers = prepared.point.cluster.servers;
  outcome.fidelity = prepared.point.fidelity;
  outcome.one_gpu_step = prepared.one_gpu_step;
  outcome.samples_per_step = prepared.samples_per_step;
  outcome.memory = prepared.memory;
  outcome.device_memory = prepared.device.memory;
  outcome.assumptions = prepared.assumptions.sentences();
  outcome.measured = file.measured(point);
  return outcome;
}

bool differ_in_gpus_only(const PointOutcome& a, const PointOutcome& b) {
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    if (a.axes[i].path != "gpus" && a.axes[i].value != b.axes[i].value) return false;
  }
  return true;
}

void take_reply(traces::Reply reply, const PreparedPoint& prepared, PointOutcome& outcome) {
  if (auto* failure = std::get_if<traces::Failure>(&reply)) {
    outcome.failure = std::move(failure->what);
  } else {
    outcome.predicted = std::move(std::get<Result>(reply));
    outcome.fidelity = outcome.predicted->fidelity;
    outcome.assumptions = prepared.assumptions.sentences();
    outcome.assumptions.insert(outcome.assumptions.end(), outcome.predicted->notes.begin(),
                               outcome.predicted->notes.end());
    outcome.calls_predicted = calls_of(outcome.predicted->trace);
    outcome.parts = parts_of(prepared, *outcome.predicted);
    outcome.interval =
        to_interval(outcome.predicted->totals.step, ends_of(*outcome.parts, interval_widths));
    outcome.compute_spread_predicted = compute_spread(outcome.predicted->trace);
  }
}

// Of points whose strategy decides at run time: how often at most, and how like two decisions are
// that are the same, as a part of the step.
constexpr int decision_passes = 8;
constexpr double decided_within = 1e-4;

struct Waiting {
  std::size_t point;
  std::optional<Seconds> limit;
};

// One run. Points to simulate are looked at twice: all before the first simulation starts, so that
// what is wrong with any is said at once, and each again when its turn comes.
class Run {
 public:
  Run(Preparer& points, const RunOptions& options)
      : points_(points), file_(points.file()), options_(options) {}

  std::vector<PointOutcome> outcomes() {
    const ProgressEnd end(options_.progress);
    look_at_all();
    const std::vector<Waiting> to_fit = points_to_fit();
    try {
      StopRequest::check();
      simulate_all(to_fit);
    } catch (const Stopped& stopped) {
      give_up(FailureCause::stopped, stopped.what());
    } catch (const InputError& error) {
      if (!has_results()) throw;
      give_up(FailureCause::refused, error.what());
    } catch (const BackendError& error) {
      if (!has_results()) throw;
      give_up(FailureCause::failed, error.what());
    }
    if (!has_results() && first_refusal_) throw *first_refusal_;
    find_measured_one_gpu(outcomes_);
    return std::move(outcomes_);
  }

 private:
  [[nodiscard]] bool has_results() const {
    return std::ranges::find(is_done_, true) != is_done_.end();
  }

  void refuse(std::size_t point, InputError why) {
    outcomes_[point].failure = why.what();
    outcomes_[point].cause = FailureCause::refused;
    if (!first_refusal_) first_refusal_ = std::move(why);
  }

  void simulate_all(const std::vector<Waiting>& to_fit) {
    while (!waiting_.empty()) simulate_waiting();
    if (!unfitted_.empty()) find_slowdown(to_fit);
    for (const Waiting& one : std::exchange(unfitted_, {})) start(one);
    while (!waiting_.empty()) simulate_waiting();
  }

  // Of points that are not done what may have been predicted is of an earlier pass.
  void give_up(FailureCause cause, const std::string& why) {
    for (std::size_t point = 0; point < outcomes_.size(); ++point) {
      PointOutcome& outcome = outcomes_[point];
      if (is_done_[point] || !outcome.failure.empty()) continue;
      outcome.predicted.reset();
      outcome.interval.reset();
      outcome.parts.reset();
      outcome.calls_predicted.clear();
      outcome.failure = why;
      outcome.cause = cause;
    }
  }

  // Those whose compute slows down beside collectives wait again: contention.h.
  void simulate_waiting() {
    const std::vector<Waiting> now = std::exchange(waiting_, {});
    SimulationQueue queue;
    queue.count = now.size();
    queue.make = [&](std::size_t i) {
      const auto& [point, limit] = now[i];
      Simulation simulation{contended(point)->point, limit};
      tell(outcomes_[point].name(), effort_of(simulation.point).time);
      simulation.point.force = options_.force;
      return simulation;
    };
    queue.take = [&](std::size_t i, traces::Reply reply) {
      const bool again = take(std::move(reply), now[i].point);
      if (again) waiting_.push_back(now[i]);
    };
    simulate(queue, options_.jobs);
  }

  // The point with what is known by now of its compute beside collectives.
  std::shared_ptr<const PreparedPoint> contended(std::size_t point) {
    auto alone = decided(point);
    const auto found = contended_.find(point);
    const Contended* state = found == contended_.end() ? nullptr : &found->second;
    const bool is_fitted = alone->contention.measured;
    if (state == nullptr && !is_fitted) return alone;
    auto made = std::make_shared<PreparedPoint>(*alone);
    if (state != nullptr) state->step.apply_to(made->point.program);
    if (is_fitted && fitted_assumption_) made->assumptions.add(*fitted_assumption_);
    if (state != nullptr) {
      for (const Assumption& said : state->assumptions) made->assumptions.add(said);
    }
    if (made->is_forecast) made->assumptions.add({settled_alone, "engine"});
    return made;
  }

  // When it is to stop, what closed formulas have predicted is kept.
  void look_at_all() {
    const std::size_t count = file_.points().size();
    for (std::size_t point = 0; point < count; ++point) {
      if (StopRequest::signal() == 0) {
        look_at(point);
      } else if (has_results()) {
        leave_out(point);
      } else {
        throw Stopped();
      }
    }
  }

  void leave_out(std::size_t point) {
    PointOutcome& outcome = outcomes_.emplace_back();
    const topology::Cluster cluster = points_.scenario(point)->cluster;
    outcome.axes = file_.points()[point];
    outcome.gpus = cluster.ranks().value();
    outcome.nodes = cluster.nodes;
    is_done_.push_back(false);
  }

  void look_at(std::size_t point) {
    const auto scenario = points_.scenario(point);
    tell(fmt::format("preparing {} GPUs", scenario->cluster.ranks().value()), std::nullopt);
    refuse_too_many(scenario->cluster.ranks(), options_.force, {file_.path(), 0, 0});
    const auto looked_at = points_.prediction(point);
    outcomes_.push_back(outcome_of(file_, *looked_at));
    is_done_.push_back(false);
    const auto limit = simulation_limit(looked_at->point, options_.force, {file_.path(), 0, 0});
    if (looked_at->contention.measured) {
      unfitted_.push_back({point, limit});
    } else {
      start({point, limit});
    }
  }

  // Closed formulas are done at once.
  void start(const Waiting& one) {
    if (outcomes_[one.point].fidelity == Fidelity::closed) {
      while (take(cost::predict_closed(contended(one.point)->point), one.point)) {
      }
    } else {
      waiting_.push_back(one);
    }
  }

  // Of the points that wait for a slowdown (contention_fit.h), those it is to be fitted to.
  [[nodiscard]] std::vector<Waiting> points_to_fit() const {
    std::vector<Waiting> marked;
    for (const Waiting& one : unfitted_) {
      const PointOutcome& outcome = outcomes_[one.point];
      if (outcome.gpus > 1 && outcome.measured && outcome.measured->fitted) marked.push_back(one);
    }
    if (marked.empty() && !unfitted_.empty()) {
      throw InputError(points_.prediction(unfitted_.front().point)->contention.where,
                       "contention is measured, but no measured point of the sweep with more than "
                       "one GPU is to be fitted",
                       "mark one in measured.points: {gpus: 8, throughput: .., fitted: true}");
    }
    return marked;
  }

  void find_slowdown(const std::vector<Waiting>& marked) {
    is_fitting_ = true;
    const auto fit = fit_contention([&](double slowdown) {
      fitted_slowdown_ = slowdown;
      for (const Waiting& one : marked) start(one);
      while (!waiting_.empty()) simulate_waiting();
      contended_.clear();
      return log_errors(marked);
    });
    is_fitting_ = false;
    if (!fit) {
      throw InputError(points_.prediction(marked.front().point)->contention.where,
                       "contention is measured, but no factor moves a fitted point by 0.5%: too "
                       "little of its compute is beside collectives",
                       "mark a point that hides more communication, or write a factor");
    }
    std::vector<PointOutcome> given;
    for (const Waiting& one : marked) given.push_back(outcomes_[one.point]);
    fitted_slowdown_ = fit->slowdown;
    fitted_assumption_ = to_assumption(*fit, given);
  }

  [[nodiscard]] std::vector<double> log_errors(const std::vector<Waiting>& marked) const {
    std::vector<double> errors;
    for (const Waiting& one : marked) {
      const PointOutcome& outcome = outcomes_[one.point];
      if (!outcome.predicted) {
        throw BackendError("paceline-sim", "while contention was fitted: " + outcome.failure);
      }
      errors.push_back(std::log(outcome.predicted_throughput() / outcome.measured->throughput));
    }
    return errors;
  }

  struct Contended {
    std::vector<Assumption> assumptions;
    ContendedStep step;
  };

  // A point that is predicted again and again, until its strategy decides as before.
  struct Deciding {
    std::shared_ptr<const PreparedPoint> last;
    Seconds shortest, longest;  // steps of all passes
    int passes = 0;
    bool is_settled = false;
  };

  [[nodiscard]] std::shared_ptr<const PreparedPoint> decided(std::size_t point) {
    const auto found = deciding_.find(point);
    return found == deciding_.end() ? points_.prediction(point) : found->second.last;
  }

  // Whether the point is to be predicted again, with what its strategy decides now.
  bool decide_again(std::size_t point) {
    const auto last = decided(point);
    if (!last->is_forecast) return false;
    PointOutcome& outcome = outcomes_[point];
    const Seconds step = outcome.predicted->totals.step;
    Deciding& state = deciding_.try_emplace(point, Deciding{last, step, step}).first->second;
    if (state.is_settled) return false;
    state.shortest = std::min(state.shortest, step);
    state.longest = std::max(state.longest, step);
    auto next = points_.prediction_after(point, outcome.predicted->trace);
    state.is_settled = are_alike(last->point.program, next->point.program, step * decided_within);
    if (state.is_settled) return false;
    if (++state.passes < decision_passes) {
      state.last = std::move(next);
      return true;
    }
    state.is_settled = true;
    widen(outcome, state);
    return false;
  }

  static void widen(PointOutcome& outcome, const Deciding& state) {
    StepInterval& interval = *outcome.interval;
    interval.low = std::min(interval.low, state.shortest);
    interval.high = std::max(interval.high, state.longest);
    const Assumption said(unsettled, "engine", {std::to_string(state.passes)});
    outcome.assumptions.push_back(said.sentence());
  }

  // Whether the point is to be predicted again, with compute slowed down beside collectives.
  bool slow_down(std::size_t point) {
    const auto alone = decided(point);
    const Contention& contention = alone->contention;
    const double given = contention.measured ? fitted_slowdown_ : contention.slowdown;
    const Result& predicted = *outcomes_[point].predicted;
    if (outcomes_[point].calls_predicted.empty()) return false;
    if (!contention.assumed && given <= 1 && *contention.calls <= 1) return false;
    if (contended_.erase(point) > 0) return false;  // this was with contention
    const RankCount ranks = job_cluster(alone->point).ranks();
    const double slowdown =
        contention.assumed
            ? assumed_slowdown(predicted, ranks, alone->device, alone->channels) + contention.more
            : given;
    contended_.emplace(point,
                       Contended{sentences_of(contention, slowdown),
                                 settled_step(*alone, predicted, {slowdown, *contention.calls})});
    return true;
  }

  static std::vector<Assumption> sentences_of(const Contention& contention, double slowdown) {
    std::vector<Assumption> said;
    const auto say = [&](const AssumptionKind& kind, std::vector<std::string> figures) {
      said.emplace_back(kind, "contention", std::move(figures));
    };
    const std::string factor = fmt::format("{:.2f}", slowdown);
    // A trace's device tells neither multiprocessors nor memory: then they are no reason.
    if (contention.assumed && slowdown > 1 + contention.more) {
      const std::string more =
          contention.more > 0 ? fmt::format(", and {:.2g} more", contention.more) : "";
      say(slowed_by_traffic, {factor, more});
    } else if (slowdown > 1 && !contention.measured) {
      say(slowed, {factor});
    }
    if (*contention.calls > 1) say(slowed_calls, {fmt::format("{:.2f}", *contention.calls)});
    return said;
  }

  // Whether the point is to be predicted again.
  bool take(traces::Reply reply, std::size_t point) {
    PointOutcome& outcome = outcomes_[point];
    const auto* failure = std::get_if<traces::Failure>(&reply);
    if (failure != nullptr && failure->refused) {
      refuse(point, refusal(failure->what, {file_.path(), 0, 0}));
    } else {
      take_reply(std::move(reply), *contended(point), outcome);
    }
    if (outcome.predicted && !contended_.contains(point)) {
      outcome.communication_alone = outcome.predicted->totals.communication;
    }
    const bool again = outcome.predicted && (decide_again(point) || slow_down(point));
    if (outcome.predicted && !options_.keep_traces) outcome.predicted->trace = {};
    if (again) return true;
    if (is_fitting_) return false;
    ++done_;
    is_done_[point] = outcome.predicted.has_value();
    tell("", std::nullopt);
    return false;
  }

  void tell(std::string doing, std::optional<Seconds> about) const {
    if (options_.progress) {
      options_.progress({done_, file_.points().size(), "points", std::move(doing), "", about});
    }
  }

  Preparer& points_;
  const ScenarioFile& file_;
  const RunOptions& options_;
  std::vector<PointOutcome> outcomes_;  // by point
  std::vector<Waiting> waiting_;
  std::vector<Waiting> unfitted_;  // until there is a slowdown for them
  double fitted_slowdown_ = 1;     // of those, once found; while it is sought, what is tried
  std::optional<Assumption> fitted_assumption_;  // that says so
  bool is_fitting_ = false;
  std::map<std::size_t, Contended> contended_;  // by point
  std::map<std::size_t, Deciding> deciding_;    // likewise
  std::vector<bool> is_done_;                   // by point: it has its result
  std::optional<InputError> first_refusal_;
  std::size_t done_ = 0;
};

}  // namespace

std::vector<PointOutcome> points_to_measure(Preparer& points) {
  std::vector<PointOutcome> outcomes;
  for (std::size_t point = 0; point < points.file().points().size(); ++point) {
    outcomes.push_back(outcome_of(points.file(), *points.measurement(point)));
    outcomes.back().measured.reset();
    outcomes.back().fidelity = Fidelity::measured;
  }
  return outcomes;
}

void find_measured_one_gpu(std::vector<PointOutcome>& outcomes) {
  std::vector<const PointOutcome*> one_gpu;
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.gpus == 1 && outcome.measured) one_gpu.push_back(&outcome);
  }
  for (PointOutcome& outcome : outcomes) {
    for (const PointOutcome* one : one_gpu) {
      if (differ_in_gpus_only(outcome, *one)) outcome.measured_one_gpu = one->measured->throughput;
    }
  }
}

std::string PointOutcome::name() const {
  std::string name = fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
  for (const AxisValue& axis : axes) {
    if (axis.path != "gpus") name += fmt::format(", {}={}", axis.path, axis.text);
  }
  return name;
}

SamplesPerSecond PointOutcome::predicted_throughput() const {
  return SamplesPerSecond(samples_per_step / predicted->totals.step.value());
}

SamplesPerSecond PointOutcome::predicted_one_gpu() const {
  return SamplesPerSecond(samples_per_step / gpus / one_gpu_step.value());
}

double PointOutcome::predicted_speedup() const {
  return predicted_throughput() / predicted_one_gpu();
}

std::optional<double> PointOutcome::measured_speedup() const {
  if (!measured || !measured_one_gpu) return std::nullopt;
  return measured->throughput / *measured_one_gpu;
}

std::optional<double> PointOutcome::error_percent() const {
  if (!predicted || !measured) return std::nullopt;
  return 100 * (predicted_throughput() - measured->throughput) / measured->throughput;
}

bool PointOutcome::counts() const { return predicted && measured && gpus > 1 && !measured->fitted; }

std::vector<PointOutcome> run_scenario(Preparer& points, const RunOptions& options) {
  return Run(points, options).outcomes();
}

std::vector<PointOutcome> run_scenario(const ScenarioFile& file, const RunOptions& options) {
  Preparer points(file);
  return run_scenario(points, options);
}

}  // namespace paceline
