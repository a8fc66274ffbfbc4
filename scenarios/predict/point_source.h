#pragma once

#include <memory>

#include "scenarios/outcome/point_outcome.h"
#include "scenarios/predict/link_forms.h"
#include "scenarios/predict/predict_point.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/preparer.h"

namespace paceline {

// A point's outcome before it is predicted.
[[nodiscard]] PointOutcome outcome_of(const ScenarioFile& file, const PreparedPoint& prepared);

// What a point became is its outcome's. A refusal says where, and what to do.
void take(Predicted predicted, const Location& where, PointOutcome& outcome);

// Predicts points one at a time without keeping them; used by sweeps. For one thread.
class PointSource {
 public:
  // `forms`, of the same file, where others may use them, too; null: each point by itself.
  // `belief`: of the machine, as the forms have it.
  PointSource(ScenarioFile file, bool force, uncertain::Belief belief,
              std::shared_ptr<LinkForms> forms = nullptr);
  PointSource(const PointSource&) = delete;
  PointSource& operator=(const PointSource&) = delete;

  // Bad input is the point's failure. Without a trace. Throws BackendError and Stopped.
  [[nodiscard]] PointOutcome outcome(std::size_t point);

 private:
  [[nodiscard]] PointOutcome predicted(std::size_t point);

  ScenarioFile file_;
  Preparer points_;
  bool force_;
  uncertain::Belief belief_;
  std::shared_ptr<LinkForms> forms_;
};

}  // namespace paceline
