#include "scenarios/measure/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "models/stats/least_squares.h"
#include "scenarios/errors.h"
#include "scenarios/measure/measure_scenario.h"
#include "scenarios/process/stop_request.h"

namespace paceline {
namespace {

using Settings = std::vector<ScenarioFile::Setting>;

// Of the logarithms: hosts often add many times the wire's latency; a bandwidth is seldom less than
// half of its data sheet's.
const stats::Parameters prior_deviations{2.0, 0.5};
constexpr double call_deviation = 0.05;  // of a measured call, relative
constexpr Seconds least_latency{1e-6};   // where a fit begins when the scenario says none

Settings joined(Settings all, const Settings& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

ScenarioFile::Setting gpus_setting(const std::vector<std::uint32_t>& gpus) {
  return {"sweep.gpus", fmt::format("[{}]", fmt::join(gpus, ", "))};
}

// The numbers of GPUs above 1 that the scenario sweeps over.
std::vector<std::uint32_t> gpus_of(Preparer& points) {
  std::set<std::uint32_t> all;
  for (std::size_t point = 0; point < points.file().point_count(); ++point) {
    const auto gpus = points.scenario(point)->cluster.ranks().value();
    if (gpus > 1) all.insert(gpus);
  }
  return {all.begin(), all.end()};
}

void add_durations(const std::vector<CallTimes>& calls, std::vector<double>& times) {
  for (const CallTimes& call : calls) times.push_back(call.together().value());
}

// Of all measured calls, in their order.
std::vector<double> durations_measured(const std::vector<PointOutcome>& outcomes) {
  std::vector<double> times;
  for (const PointOutcome& outcome : outcomes) add_durations(outcome.calls_measured, times);
  return times;
}

// Throws where a point has no prediction.
std::vector<double> durations_predicted(const std::vector<PointOutcome>& outcomes) {
  StopRequest::check();
  std::vector<double> times;
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.failure) throw BackendError("paceline-sim", outcome.failure->why);
    add_durations(outcome.predicted->calls, times);
  }
  return times;
}

class NetworkSearch {
 public:
  NetworkSearch(Preparer& points, const RunOptions& options,
                const std::vector<PointOutcome>& measured)
      : path_(points.file().path()),
        settings_(points.file().settings()),
        prediction_(points.options()),
        options_(options),
        measured_(durations_measured(measured)) {
    const topology::Cluster& cluster = points.scenario(0)->cluster;
    const bool one_node =
        std::ranges::all_of(measured, [](const PointOutcome& one) { return one.nodes == 1; });
    fit_.section = one_node ? "cluster.intra_node" : "cluster.network";
    fit_.latency =
        std::max(one_node ? cluster.intra_node.latency : cluster.network.latency, least_latency);
    fit_.bandwidth = one_node ? cluster.intra_node.bandwidth : cluster.network.bandwidth;
    fit_.calls = measured_.size();
  }

  NetworkFit run() {
    const auto residuals = [this](const stats::Parameters& at) { return residuals_at(at); };
    const auto found = stats::least_squares(residuals, call_deviation, prior_deviations);
    double squares = 0;
    for (const double one : found.residuals) squares += one * one;
    NetworkFit fit = fit_at(found.parameters);
    fit.residual = std::sqrt(squares / static_cast<double>(found.residuals.size()));
    return fit;
  }

 private:
  // By logarithms of latency and bandwidth over where they begin.
  [[nodiscard]] NetworkFit fit_at(const stats::Parameters& at) const {
    NetworkFit moved = fit_;
    moved.latency = fit_.latency * std::exp(at[0]);
    moved.bandwidth = BytesPerSecond(fit_.bandwidth.value() * std::exp(at[1]));
    return moved;
  }

  // Logarithms of predicted over measured.
  [[nodiscard]] std::vector<double> residuals_at(const stats::Parameters& at) const {
    const auto file = ScenarioFile::read(path_, joined(settings_, fit_at(at).settings()));
    Preparer points(file, prediction_);
    auto predicted = durations_predicted(run_scenario(points, options_));
    if (predicted.size() != measured_.size()) {
      throw InputError({path_}, "makes other calls when measured than when predicted",
                       "fix the algorithm of its collectives");
    }
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      predicted[i] = std::log(predicted[i] / measured_[i]);
    }
    return predicted;
  }

  std::string path_;
  Settings settings_;
  PredictionOptions prediction_;
  RunOptions options_;
  std::vector<double> measured_;  // by call, seconds
  NetworkFit fit_;                // where the search begins
};

// Throws BackendError where a point could not be measured, and Stopped where it was not to be.
void require_measured(const std::vector<PointOutcome>& outcomes) {
  StopRequest::check();
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.measure_failure) {
      throw BackendError("paceline-worker", outcome.measure_failure->why);
    }
  }
}

bool has_measured(const std::vector<PointOutcome>& outcomes) {
  return std::ranges::any_of(outcomes,
                             [](const PointOutcome& one) { return one.measurement.has_value(); });
}

void choose(const ScenarioFile& file, const LoopOptions& options,
            std::vector<std::uint32_t>& fitted, std::vector<std::uint32_t>& predicted) {
  Preparer points(file);
  const auto all = gpus_of(points);
  const Location where{file.path()};
  const auto first = points.scenario(0);
  if (!first->calibration.empty()) {
    throw InputError(where, "has a calibration, and the loop makes its own",
                     "leave out cluster.calibration");
  }
  fitted = options.fitted;
  if (fitted.empty() && all.size() >= 3) fitted = {all[0], all[1]};
  for (const std::uint32_t gpus : fitted) {
    if (std::ranges::find(all, gpus) == all.end()) {
      throw InputError(where, fmt::format("has no point of {} GPUs to fit", gpus),
                       "name numbers of its sweep.gpus above 1");
    }
  }
  for (const std::uint32_t gpus : all) {
    if (std::ranges::find(fitted, gpus) == fitted.end()) predicted.push_back(gpus);
  }
  if (fitted.empty() || predicted.empty()) {
    throw InputError(where, "has too few numbers of GPUs to fit some and predict others",
                     "write sweep: {gpus: [2, 3, 6]}");
  }
}

// One loop, whose result has what is done by now.
class Loop {
 public:
  Loop(std::string path, Settings settings, const LoopOptions& options)
      : path_(std::move(path)), settings_(std::move(settings)), options_(options) {}

  LoopResult run() {
    std::vector<std::uint32_t> fitted, predicted;
    choose(ScenarioFile::read(path_, settings_), options_, fitted, predicted);
    try {
      fit(fitted);
      predict(predicted);
      result_.is_complete = true;
    } catch (const Stopped&) {
      if (!has_measured(result_.outcomes)) throw;
    }
    return std::move(result_);
  }

 private:
  void fit(const std::vector<std::uint32_t>& gpus) {
    const auto file = ScenarioFile::read(path_, joined(settings_, {gpus_setting(gpus)}));
    Preparer few(file, {.as_measured = true});
    result_.outcomes = points_to_measure(few);
    measure_scenario(few, hardware_, result_.outcomes);
    require_measured(result_.outcomes);
    if (durations_measured(result_.outcomes).empty()) {
      throw InputError({path_}, "makes no collective calls to fit", "");
    }
    RunOptions quiet = options_.run;
    quiet.progress = nullptr;
    result_.fit = fit_network(few, quiet, result_.outcomes);
    settings_ = joined(settings_, result_.fit->settings());
    as_fitted_ = {.as_measured = true, .measured_links = result_.fit->section};
    lay_beside(gpus);
  }

  // What was measured, beside what the fitted network predicts of it.
  void lay_beside(const std::vector<std::uint32_t>& gpus) {
    const auto file = ScenarioFile::read(path_, joined(settings_, {gpus_setting(gpus)}));
    Preparer again(file, as_fitted_);
    auto outcomes = run_scenario(again, options_.run);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const PointOutcome& measured = result_.outcomes[i];
      outcomes[i].measured = measured.measured;
      outcomes[i].measured->known = true;
      outcomes[i].measurement = measured.measurement;
      outcomes[i].calls_measured = measured.calls_measured;
      outcomes[i].compute_spread_measured = measured.compute_spread_measured;
    }
    result_.outcomes = std::move(outcomes);
  }

  void predict(const std::vector<std::uint32_t>& gpus) {
    const auto file = ScenarioFile::read(path_, joined(settings_, {gpus_setting(gpus)}));
    Preparer more(file, as_fitted_);
    auto others = run_scenario(more, options_.run);
    measure_scenario(more, hardware_, others);
    const std::size_t before = result_.outcomes.size();
    result_.outcomes.insert(result_.outcomes.end(), std::make_move_iterator(others.begin()),
                            std::make_move_iterator(others.end()));
    require_measured(
        {result_.outcomes.begin() + static_cast<std::ptrdiff_t>(before), result_.outcomes.end()});
  }

  std::string path_;
  Settings settings_;
  const LoopOptions& options_;
  MeasureOptions hardware_{nullptr, options_.run.progress, false};
  PredictionOptions as_fitted_;
  LoopResult result_;
};

}  // namespace

std::vector<ScenarioFile::Setting> NetworkFit::settings() const {
  Settings fitted{{section + ".latency", fmt::format("{:.9g}us", latency.value() * 1e6)},
                  {section + ".bandwidth", fmt::format("{:.9g}Bps", bandwidth.value())}};
  // What hosts move through TCP is in the bandwidth that was fitted.
  if (section == "cluster.network") fitted.push_back({section + ".efficiency", "1"});
  return fitted;
}

NetworkFit fit_network(Preparer& points, const RunOptions& options,
                       const std::vector<PointOutcome>& measured) {
  return NetworkSearch(points, options, measured).run();
}

LoopResult validate_by_loop(const std::string& path, const Settings& settings,
                            const LoopOptions& options) {
  return Loop(path, settings, options).run();
}

}  // namespace paceline
