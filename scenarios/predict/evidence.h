#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "models/uncertain/belief.h"
#include "scenarios/calibration/learnt_steps.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/predict/run_scenario.h"
#include "scenarios/prepare/preparer.h"

namespace paceline {

// What nothing is known of but descriptions: priors alone.
[[nodiscard]] const uncertain::Belief& unconditioned_belief();

// A point as evidence. Precondition: predicted by priors alone and measured, on several GPUs.
[[nodiscard]] uncertain::KnownRow known_row_of(const PointOutcome& outcome);

// The numbers of a file's points that are known and of several GPUs: those of one are inputs.
[[nodiscard]] std::vector<std::size_t> points_as_evidence(Preparer& points);

// Whether these, or what its calibration learnt from others, tell anything of the machine.
[[nodiscard]] bool has_evidence(Preparer& points);

// What is known of the machine: predicts the points that are known by priors alone, one after the
// other, and takes what others said of it beside them. Throws InputError where one is refused, and
// for what was learnt from this very scenario; BackendError where a prediction fails.
[[nodiscard]] uncertain::Belief belief_from(Preparer& points, const RunOptions& options);

// The same of points of one's choice, for others to name. Of no more than `learnt_rows_most`.
[[nodiscard]] LearntSteps learn_from(Preparer& points, const std::vector<std::size_t>& known,
                                     bool force);

// The same of a file, for predictions of other points than its own, also of what it knows of other
// numbers of GPUs than a setting asks for; null: nothing is known of it.
[[nodiscard]] std::shared_ptr<const uncertain::Belief> belief_of(
    const std::string& path, std::vector<ScenarioFile::Setting> settings,
    const RunOptions& options);

}  // namespace paceline
