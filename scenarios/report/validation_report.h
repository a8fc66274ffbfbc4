#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/calibration/calibration.h"
#include "scenarios/judge/contradictions.h"
#include "scenarios/judge/health.h"
#include "scenarios/judge/left_out.h"

namespace paceline {

// Predictions beside what was measured: the points of scenarios, and logs of collectives.
struct Validation {
  struct Contradicted {
    std::string scenario;
    FoundContradiction found;
  };

  // By SimGrid, of one scenario.
  struct Checked {
    std::string scenario;
    SimGridCheck check;
  };

  std::vector<ValidationRow> rows;
  std::vector<Contradicted> contradictions;
  bool is_complete = true;  // no scenario is missing
  std::size_t failed = 0;   // points without a prediction, which have no row
  std::size_t scenarios = 0;
  std::vector<Checked> checks;
  std::vector<std::pair<std::string, std::size_t>> assumptions;  // and of how many scenarios
  std::vector<ValidatedLog> logs;

  // Of a scenario: each sentence once.
  void assume(const std::vector<std::string>& sentences);
};

// Of the logs that were not fitted.
[[nodiscard]] LogSummary summary_of_predicted(const std::vector<ValidatedLog>& logs);

void write_text(std::ostream& out, const Validation& made);

// paceline.validation/1. One object, ends with a line break.
void write_json(std::ostream& out, const Validation& made);

// A machine's health, and paceline.health/1.
void write_text(std::ostream& out, const Health& made);
void write_json(std::ostream& out, const Health& made);

// A row per source left out, and their unweighted mean. `candidates`: what could be chosen.
void write_table(std::ostream& out, const LeftOut& judged,
                 const std::vector<std::string>& candidates);
void write_json(std::ostream& out, const LeftOut& judged,
                const std::vector<std::string>& candidates);

}  // namespace paceline
