#include "scenarios/capacity/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "scenarios/capacity/bounds.h"
#include "scenarios/errors.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/point_source.h"

namespace paceline::capacity {

Predictor::Predictor(const PlannedJob& job, RunOptions options)
    : job_(job), options_(std::move(options)) {
  if (!options_.belief) {
    options_.belief = std::make_shared<const uncertain::Belief>(unconditioned_belief());
  }
  PACELINE_EXPECTS(!options_.belief->is_conditioned());
}

Setup Predictor::on_first(Setup setup) const {
  setup.machine = job_.machines[setup.machine].hardware;
  return setup;
}

std::vector<std::optional<Speed>> Predictor::speeds(std::span<const Setup> setups) {
  std::vector<std::pair<const Setup, Known>*> made;
  for (const Setup& setup : setups) {
    const auto [at, is_new] = known_.try_emplace(on_first(setup));
    if (is_new) made.push_back(&*at);
  }
  for_each(made.size(), options_.jobs,
           [&](std::size_t i) { made[i]->second = predicted(made[i]->first); });
  for (const auto* one : made) {
    if (first_refusal_.empty()) first_refusal_ = one->second.refusal;
  }
  std::vector<std::optional<Speed>> speeds;
  for (const Setup& setup : setups) {
    const PointOutcome* known = outcome(setup);
    speeds.push_back(known != nullptr ? std::optional(speed_of(job_, setup, *known))
                                      : std::nullopt);
  }
  if (options_.progress) {
    options_.progress({.done = known_.size(), .of = "plans predicted", .doing = "searching"});
  }
  return speeds;
}

Predictor::Prepared Predictor::prepare(const Setup& setup) const {
  try {
    const ScenarioFile file =
        job_.scenario(job_.machines[setup.machine], setup.nodes, settings_of(job_, setup));
    Prepared made{Preparer(file).prediction(0), {}, ""};
    made.outcome = outcome_of(file, *made.point);
    if (made.outcome.servers > 0) {
      return {nullptr,
              {},
              fmt::format("has {} servers on hosts of their own, which have no price; "
                          "take server_hosts: beside_workers",
                          made.outcome.servers)};
    }
    return made;
  } catch (const InputError& error) {
    return {nullptr, {}, error.what()};
  }
}

StepBound Predictor::step_at_least(const Setup& of) {
  const Setup setup = on_first(of);
  constexpr Seconds never(std::numeric_limits<double>::infinity());
  const auto [at, is_new] = bounds_.try_emplace(setup, StepBound{never, never});
  if (!is_new) return at->second;
  Prepared made = prepare(setup);
  if (!made.point) {
    if (first_refusal_.empty()) first_refusal_ = made.refusal;
    return at->second;
  }
  at->second = capacity::step_at_least(*made.point, options_.belief->priors(), job_.probability);
  constexpr std::size_t kept = 64;
  if (prepared_.size() == kept) prepared_.pop_front();
  prepared_.emplace_back(setup, std::move(made));
  return at->second;
}

Predictor::Prepared Predictor::take_prepared(const Setup& setup) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(prepared_, setup, &std::pair<Setup, Prepared>::first);
    if (found != prepared_.end()) {
      Prepared made = std::move(found->second);
      prepared_.erase(found);
      return made;
    }
  }
  return prepare(setup);
}

Predictor::Known Predictor::predicted(const Setup& setup) {
  Prepared prepared = take_prepared(setup);
  if (!prepared.point) return {std::nullopt, prepared.refusal};
  PointOutcome& outcome = prepared.outcome;
  take(predict_point(prepared.point, *options_.belief, simulation(false)), {job_.path}, outcome);
  if (!outcome.failure) {
    outcome.predicted->drop_trace();
    outcome.predicted->calls.clear();
    return {std::move(outcome), ""};
  }
  if (outcome.failure->cause == FailureCause::refused) return {std::nullopt, outcome.failure->why};
  throw BackendError("simulation", outcome.failure->why);
}

const PointOutcome* Predictor::outcome(const Setup& setup) const {
  const auto found = known_.find(on_first(setup));
  PACELINE_EXPECTS(found != known_.end());
  return found->second.outcome ? &*found->second.outcome : nullptr;
}

Speed speed_of(const PlannedJob& job, const Setup& setup, const PointOutcome& outcome) {
  const Prediction& predicted = *outcome.predicted;
  const Seconds step = predicted.totals.step;
  return {step,
          std::log(predicted.interval.low / step),
          std::log(predicted.interval.high / step),
          uncertain::freedom,
          outcome.samples_per_step,
          input_of(job, setup)};
}

}  // namespace paceline::capacity
