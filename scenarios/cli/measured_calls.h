#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "models/run/measurement.h"
#include "models/training/step_program.h"
#include "scenarios/cli/command_options.h"
#include "scenarios/measure/worker_ranks.h"

namespace paceline::cli {

// The options of `paceline collective --measure`.
struct MeasureCallOptions {
  bool is_asked = false;
  std::string backend = "nccl", mode = "native", type = "float", timeout = "30s", secret_file;
  std::uint32_t iterations = 20, warmup = 5;

  void add_to(CommandOptions& app);
  // These throw InputError.
  [[nodiscard]] MeasureSettings settings() const;
  [[nodiscard]] RankGroup group(std::uint32_t ranks) const;
};

// What nccl-tests call a type, which is --type's word.
[[nodiscard]] std::string_view nccl_tests_name(DataType type);
// Throws InputError.
[[nodiscard]] DataType type_of_name(const std::string& name);

// A call that was measured.
struct MeasuredCall {
  training::CollectiveCall call;
  RepeatedTimes times;
  std::optional<Seconds> predicted;
};

// What all calls of a table have in common.
struct MeasuredTable {
  RankGroup group;
  MeasureSettings settings;
  collectives::Collective collective;
  std::string algorithm;  // "native": the library's own
  bool has_predictions = false;
};

// Measures a point of one call. Throws InputError when it cannot be measured, BackendError when a
// rank is lost.
[[nodiscard]] RepeatedTimes measure_call(WorkerRanks& ranks, const ResolvedPoint& point);

// The table of nccl-tests, line by line, and our own columns behind it.
void write_head(std::ostream& out, const MeasuredTable& table);
void write_row(std::ostream& out, const MeasuredTable& table, const MeasuredCall& row);
// Its last lines: what was wrong in all, and the mean of the bus bandwidths.
void write_end(std::ostream& out, const MeasuredTable& table,
               const std::vector<MeasuredCall>& rows);

// Whether all of a table's calls were measured.
enum class Completeness { whole, broken_off };

void write_json(std::ostream& out, const MeasuredTable& table,
                const std::vector<MeasuredCall>& rows, Completeness completeness);

// Of all calls and ways.
[[nodiscard]] std::uint64_t wrong_elements(const std::vector<MeasuredCall>& rows);

}  // namespace paceline::cli
