#include "scenarios/predict/point_source.h"

#include <utility>

#include "scenarios/errors.h"
#include "scenarios/predict/evidence.h"

namespace paceline {

PointOutcome outcome_of(const ScenarioFile& file, const PreparedPoint& prepared) {
  const std::size_t point = prepared.point.id;
  PointOutcome outcome;
  outcome.axes = file.axes_of(point);
  const topology::Cluster cluster = job_cluster(prepared.point);
  outcome.gpus = cluster.ranks().value();
  outcome.nodes = cluster.nodes;
  outcome.servers = prepared.point.cluster.servers;
  outcome.fidelity = prepared.point.fidelity;
  outcome.one_gpu_step = prepared.one_gpu_step;
  outcome.launches = prepared.launches;
  outcome.nic = prepared.point.cluster.network.bandwidth;
  outcome.nic_efficiency = prepared.point.cluster.network.efficiency;
  outcome.setup = prepared.setup;
  outcome.samples_per_step = prepared.samples_per_step;
  outcome.memory = prepared.memory;
  outcome.device_memory = prepared.device.memory;
  outcome.assumptions = prepared.assumptions.sentences();
  outcome.remarks = prepared.assumptions.remarks();
  outcome.measured = file.measured(point);
  return outcome;
}

void take(Predicted predicted, const Location& where, PointOutcome& outcome) {
  if (auto* failure = std::get_if<PointFailure>(&predicted)) {
    if (failure->cause == FailureCause::refused) failure->why = refusal(failure->why, where).what();
    outcome.failure = std::move(*failure);
  } else {
    outcome.take(std::move(std::get<Prediction>(predicted)));
  }
}

PointSource::PointSource(ScenarioFile file, bool force, uncertain::Belief belief,
                         std::shared_ptr<LinkForms> forms)
    : file_(std::move(file)),
      points_(file_, {.operations_kept = 0}),
      force_(force),
      belief_(std::move(belief)),
      forms_(std::move(forms)) {}

PointOutcome PointSource::outcome(std::size_t point) {
  try {
    return predicted(point);
  } catch (const InputError& error) {
    PointOutcome refused;
    refused.axes = file_.axes_of(point);
    refused.failure = PointFailure{FailureCause::refused, error.what()};
    return refused;
  }
}

PointOutcome PointSource::predicted(std::size_t point) {
  if (forms_) {
    if (auto formed = forms_->outcome(point)) return std::move(*formed);
  }
  const Location where{file_.path()};
  refuse_too_many(points_.scenario(point)->cluster.ranks(), force_, where);
  const auto prepared = points_.prediction(point);
  (void)time_expected(prepared->point, force_, where);
  PointOutcome outcome = outcome_of(file_, *prepared);
  take(predict_point(prepared, belief_, simulation(force_)), where, outcome);
  if (outcome.predicted) outcome.predicted->drop_trace();
  return outcome;
}

}  // namespace paceline
