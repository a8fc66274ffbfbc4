#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/stats/errors.h"
#include "scenarios/calibration/calibration.h"

namespace paceline {

// A row of a log with its prediction and with a null model: the time that the largest fitted group
// of the same collective took for the same size.
struct LogRow {
  Bytes size;
  Seconds measured;
  cost::Prediction predicted;
  std::optional<Seconds> copied;

  [[nodiscard]] bool is_covered() const {
    return measured >= predicted.low && measured <= predicted.high;
  }
};

struct ValidatedLog {
  std::string file;
  cost::CollectiveShape shape;
  bool is_fitted = false;  // rows of this group were: no prediction
  std::vector<LogRow> rows;
};

// Compares the tables whose collective the calibration has. Throws InputError for a table of more
// ranks a node than the machine has, and for a group that cannot be predicted
// (Calibration::unknown).
[[nodiscard]] std::vector<ValidatedLog> validate_logs(const Calibration& calibration,
                                                      const std::vector<LogTable>& tables);

// Errors of times, where twice and half are equally wrong: max(p / m, m / p) - 1, in percent.
struct RatioSummary {
  std::size_t points = 0;
  double geometric_mean = 0, median = 0, largest = 0;
  double bias = 0;  // above 0: predicted too long
};

struct LogSummary {
  RatioSummary predicted, copied;  // copied: of the rows whose size the largest fitted group has
  double coverage_percent = 0;     // of 90 % intervals
};

// Over the rows of those logs.
[[nodiscard]] LogSummary summarise(const std::vector<const ValidatedLog*>& logs);

}  // namespace paceline
