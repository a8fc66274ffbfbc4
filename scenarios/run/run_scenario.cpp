#include "scenarios/run/run_scenario.h"

#include <algorithm>
#include <utility>

#include "models/cost/closed_step.h"
#include "scenarios/run/effort.h"
#include "scenarios/run/simulator.h"

namespace paceline {
namespace {

PointOutcome outcome_of(const ScenarioFile& file, std::size_t point,
                        const PreparedPoint& prepared) {
  PointOutcome outcome;
  outcome.axes = file.points()[point];
  outcome.gpus = prepared.point.cluster.ranks().value();
  outcome.nodes = prepared.point.cluster.nodes;
  outcome.fidelity = prepared.point.fidelity;
  outcome.one_gpu_step = prepared.one_gpu_step;
  outcome.samples_per_step = prepared.samples_per_step;
  outcome.assumptions = prepared.assumptions;
  outcome.measured = file.measured(point);
  return outcome;
}

bool differ_in_gpus_only(const PointOutcome& a, const PointOutcome& b) {
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    if (a.axes[i].path != "gpus" && a.axes[i].value != b.axes[i].value) return false;
  }
  return true;
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

void take_reply(traces::Reply reply, const RunOptions& options, const std::string& path,
                PointOutcome& outcome) {
  const bool keep_trace = options.keep_traces;
  if (auto* failure = std::get_if<traces::Failure>(&reply)) {
    if (failure->refused) throw_refusal(failure->what, {path, 0, 0});
    outcome.failure = std::move(failure->what);
  } else {
    outcome.predicted = std::move(std::get<Result>(reply));
    outcome.fidelity = outcome.predicted->fidelity;
    outcome.assumptions.insert(outcome.assumptions.end(), outcome.predicted->notes.begin(),
                               outcome.predicted->notes.end());
    if (!keep_trace) outcome.predicted->trace = {};
  }
}

}  // namespace

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

std::vector<PointOutcome> run_scenario(const ScenarioFile& file, const RunOptions& options) {
  std::vector<PointOutcome> outcomes;
  std::vector<PreparedPoint> to_simulate;
  std::vector<std::size_t> simulated_points;
  const std::size_t all = file.points().size();
  std::size_t done = 0;
  const auto advance = [&] {
    ++done;
    if (options.progress) options.progress(done, all);
  };
  for (std::size_t point = 0; point < all; ++point) {
    PreparedPoint prepared = resolve(file.scenario(point), point);
    PointOutcome& outcome = outcomes.emplace_back(outcome_of(file, point, prepared));
    prepared.point.force = options.force;
    if (!options.force) refuse_too_much_effort(prepared.point, {file.path(), 0, 0});
    if (prepared.point.fidelity == Fidelity::closed) {
      take_reply(cost::predict_closed(prepared.point), options, file.path(), outcome);
      advance();
      continue;
    }
    to_simulate.push_back(std::move(prepared));
    simulated_points.push_back(point);
  }
  std::vector<const ResolvedPoint*> points;
  for (const PreparedPoint& prepared : to_simulate) points.push_back(&prepared.point);
  auto replies = simulate(points, options.jobs, advance);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    take_reply(std::move(replies[i]), options, file.path(), outcomes[simulated_points[i]]);
  }
  find_measured_one_gpu(outcomes);
  return outcomes;
}

}  // namespace paceline
