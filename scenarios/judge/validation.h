#pragma once

#include <string>
#include <vector>

#include "models/stats/errors.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// A measured point with the errors of its prediction and of two null models, which a prediction has
// to beat.
struct ValidationRow {
  std::string scenario, point;
  std::string source;  // the group of people who measured it; may be empty
  NetworkKnowledge network = NetworkKnowledge::described;
  Seconds measured_step{}, predicted_step{}, one_gpu_step{};
  Seconds communication{};         // predicted, as if nothing hid it
  Seconds low{}, high{};           // of the prediction's 90 % interval; 0 without one
  uncertain::Response response{};  // to what its description leaves open
  double measured_per_s = 0, predicted_per_s = 0;
  double error_percent = 0;
  // n times the throughput of one GPU.
  double perfect_scaling_percent = 0;
  // One-GPU step plus the whole predicted communication.
  double no_overlap_percent = 0;
  // Measured within the 90 % interval of the prediction.
  bool is_covered = false;
  // Measured at least 10 % below perfect scaling: where communication decides something.
  bool in_headline = false;
};

[[nodiscard]] std::vector<ValidationRow> validation_rows(const std::string& scenario,
                                                         const std::string& source,
                                                         const std::vector<PointOutcome>& outcomes);
// The same for a file, with what it says about its network.
[[nodiscard]] std::vector<ValidationRow> validation_rows(const ScenarioFile& file,
                                                         const std::vector<PointOutcome>& outcomes);

struct ValidationSummary {
  stats::ErrorSummary predicted, perfect_scaling, no_overlap;
  double coverage_percent = 0;  // of the predictions' 90 % intervals
};

// Over all rows, or over those of the headline.
[[nodiscard]] ValidationSummary summarise(const std::vector<ValidationRow>& rows,
                                          bool headline_only);

}  // namespace paceline
