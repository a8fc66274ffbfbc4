#include "scenarios/predict/evidence.h"

#include <cmath>
#include <utility>

#include "models/contract.h"
#include "scenarios/errors.h"
#include "scenarios/predict/effort.h"
#include "scenarios/predict/point_source.h"

namespace paceline {

const uncertain::Belief& unconditioned_belief() {
  static const uncertain::Belief belief(uncertain::known_priors());
  return belief;
}

uncertain::KnownRow known_row_of(const PointOutcome& outcome) {
  PACELINE_EXPECTS(outcome.predicted && outcome.measured && outcome.gpus > 1);
  const double ratio = outcome.predicted_throughput() / outcome.measured->throughput;
  return {outcome.predicted->response, std::log(ratio)};
}

std::vector<std::size_t> points_as_evidence(Preparer& points) {
  std::vector<std::size_t> known;
  for (const std::size_t point : points.file().known_points()) {
    if (points.scenario(point)->cluster.ranks() > RankCount(1)) known.push_back(point);
  }
  return known;
}

void require_evidence(const Contention& contention, bool is_any_known) {
  if (!contention.measured || is_any_known) return;
  throw InputError(contention.where,
                   "contention is measured, but no measured point of the sweep with more than one "
                   "GPU is known",
                   "mark one in measured.points: {gpus: 8, throughput: .., known: true}");
}

uncertain::Belief belief_from(Preparer& points, bool force, Simulator& simulator) {
  const Location where{points.file().path(), 0, 0};
  std::vector<uncertain::KnownRow> rows;
  for (const std::size_t point : points_as_evidence(points)) {
    const auto prepared = points.prediction(point);
    const Effort effort = effort_of(prepared->point, force, where);
    PointOutcome outcome = outcome_of(points.file(), *prepared);
    take(predict_point(prepared, unconditioned_belief(),
                       executor_on(simulator, effort.limit, force)),
         where, outcome);
    if (const auto& failure = outcome.failure) {
      if (failure->cause == FailureCause::refused) throw refusal(failure->why, where);
      throw BackendError("paceline-sim", "of a point that is known: " + failure->why);
    }
    rows.push_back(known_row_of(outcome));
  }
  return {uncertain::known_priors(), std::move(rows)};
}

std::shared_ptr<const uncertain::Belief> belief_of(const ScenarioFile& file,
                                                   const RunOptions& options) {
  if (options.belief) return options.belief;
  Preparer points(file);
  if (points_as_evidence(points).empty()) return nullptr;
  std::shared_ptr<const uncertain::Belief> belief;
  for_each(1, 1, [&](std::size_t, Simulator& simulator) {
    belief =
        std::make_shared<const uncertain::Belief>(belief_from(points, options.force, simulator));
  });
  return belief;
}

}  // namespace paceline
