#pragma once

#include <algorithm>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "models/run/measurement.h"
#include "models/run/resolved_point.h"
#include "scenarios/measure/worker_ranks.h"

namespace paceline {

struct PredictedCall {
  Bytes size;
  std::string protocol;  // of the library; may be empty
  Result predicted;
  Seconds least;  // that wires allow (models/cost/bounds.h)

  [[nodiscard]] Seconds time() const { return predicted.totals.step; }
  [[nodiscard]] const training::CollectiveCall& call() const {
    return *call_of(predicted.trace.program.operations.front());
  }
  // Of the time, 90 %.
  [[nodiscard]] Seconds low() const {
    return std::max(time() * call().range.low, std::min(time(), least));
  }
  [[nodiscard]] Seconds high() const { return time() * call().range.high; }
};

struct PredictedCalls {
  collectives::Collective collective;
  RankCount ranks;
  std::uint32_t nodes = 1;
  DataType type;
  Fidelity fidelity;
  bool is_calibrated = false, is_complete = false;
  std::vector<PredictedCall> rows = {};
};

// The columns of nccl-tests, out of place, and our own behind them.
void write_text(std::ostream& out, const PredictedCalls& calls);
// paceline.collective/1
void write_json(std::ostream& out, const PredictedCalls& calls);

struct MeasuredCall {
  training::CollectiveCall call;
  RepeatedTimes times;
  std::optional<Seconds> predicted;
};

struct MeasuredCalls {
  RankGroup group;
  MeasureSettings settings;
  collectives::Collective collective;
  std::string algorithm;  // "native": the library's own
  bool has_predictions = false;
  bool is_complete = false;
  std::vector<MeasuredCall> rows = {};

  // Of all calls and ways.
  [[nodiscard]] std::uint64_t wrong_elements() const;
};

// Parts of the table: what precedes the rows (nccl-tests' columns, then ours), the last row, and
// what follows: the number of wrong elements and the mean bus bandwidths.
void write_head(std::ostream& out, const MeasuredCalls& calls);
void write_last_row(std::ostream& out, const MeasuredCalls& calls);
void write_end(std::ostream& out, const MeasuredCalls& calls);
// paceline.measured_collective/1
void write_json(std::ostream& out, const MeasuredCalls& calls);

}  // namespace paceline
