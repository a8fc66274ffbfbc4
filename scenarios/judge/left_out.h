#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/stats/errors.h"
#include "models/uncertain/learn.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// A measured point with the errors of its prediction and of two null models, which it has to beat.
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

// Rows by the people who measured them. Figures over several sources are means over sources, so
// that many rows of one count no more than few of another.
using RowsBySource = std::map<std::string, std::vector<ValidationRow>>;

// A row, predicted with the smallest of its scenario known (uncertain::smallest_rows).
struct JudgedRow {
  std::string scenario = {}, point = {};
  Seconds measured_step{}, one_gpu_step{}, communication{};  // as of ValidationRow
  bool one_gpu_is_measured = false;
  uncertain::LinkClass links;      // that its calls cross at the outermost
  double unconditioned = 0;        // error of throughput, per cent, with nothing known
  double error = 0;                // with the rows that are known
  double constant_efficiency = 0;  // a step as long as that of the last row known
  double no_overlap =
      0;                // one GPU's step and all communication, times what the last known row gives
  double measured = 0;  // the logarithm of the measured step over the one predicted
  double low = 0, high = 0;  // ends of the 90 % interval, likewise
};

// What 90 % intervals of steps are worth on measured rows. The score is the interval score of
// Gneiting and Raftery (JASA 102, 2007, eq. 43) of logarithms, the less the better: the width, and
// 2 / 0.1 times as much as the measurement lies outside.
struct IntervalFigures {
  double coverage_percent = 0;
  double width_percent = 0;  // the median of high over low, less 1
  double score = 0;
};
[[nodiscard]] IntervalFigures figures_of(const std::vector<JudgedRow>& rows);

// Turns rows into evidence, by scenario. Precondition: they were predicted by priors alone.
[[nodiscard]] std::vector<uncertain::Rows> evidence_of(const std::vector<ValidationRow>& rows);
[[nodiscard]] uncertain::Sources evidence_of(const RowsBySource& sources);

// Of one source, with so many rows of each scenario known: 0, 1 or 2. Scenarios that have no rows
// beside these are left out. Steps are moved by the sum of their responses, where a run composes
// them.
[[nodiscard]] std::vector<JudgedRow> judge_rows(const std::vector<ValidationRow>& rows,
                                                const uncertain::Priors& priors, std::size_t known);

// A row that next_measurement() would have had measured, of a scenario's smallest two: the other
// rows' mean interval width over that with nothing known, and their mean |error|.
struct NextRow {
  std::string scenario;
  double promised = 1, had = 1;
  double error_before = 0, error_after = 0;  // per cent
};
// Leaves out scenarios in which no row is worth measuring.
[[nodiscard]] std::vector<NextRow> judge_next_rows(const std::vector<ValidationRow>& rows,
                                                   const uncertain::Priors& priors);

// Whether perfect scaling and no overlap differ by less than 10 %: any model is about right then.
[[nodiscard]] bool is_easy(const ValidationRow& row);

// A null model with what is left when nothing is known of how a strategy works: on several GPUs a
// step takes (1 + wrapper) times that of one, and the part of the communication that is not hidden.
struct ConstantOverlap {
  double wrapper = 0;  // 0 to 0.3
  double hidden = 0;   // 0 to 1
};

// Of throughput, in per cent.
[[nodiscard]] double error_percent(const ConstantOverlap& model, const ValidationRow& row);

// Throws InputError for a row without a source.
[[nodiscard]] RowsBySource by_source(std::span<const ValidationRow> rows);

// Finds the pair with the least mean |error| over the sources, on a grid of 0.005 and 0.02.
[[nodiscard]] ConstantOverlap fit_constant_overlap(const RowsBySource& sources);

// The most known rows per scenario that are tried.
inline constexpr std::size_t known_rows_most = 2;

// One source, judged by what all others choose.
struct LeftOutSource {
  std::string source;
  std::size_t chosen = 0;  // of the candidates, by the others
  // Of its rows; nullopt: some of either.
  std::optional<NetworkKnowledge> network = std::nullopt;
  stats::ErrorSummary predicted;
  uncertain::Priors priors;  // that the others say
  // With no, one and two rows of each scenario known; the rows beside them.
  std::array<std::vector<JudgedRow>, known_rows_most + 1> rows;
  std::vector<NextRow> next;  // by scenario, as it would have been proposed to measure
  stats::ErrorSummary perfect_scaling, no_overlap;
  ConstantOverlap others_overlap;  // as the others fit it
  stats::ErrorSummary constant_overlap;
  stats::ErrorSummary in_sample;  // with what all sources choose, this one among them
  // What is exposed, times the factor that fits this source best: what no better knowledge of how
  // quick its links are could improve. Not a prediction.
  stats::ErrorSummary oracle;
  // Of rows where perfect scaling and no overlap differ by 10 % and more; none: no points.
  stats::ErrorSummary decisive, decisive_no_overlap, decisive_constant_overlap;
};

struct LeftOut {
  std::vector<LeftOutSource> sources;
  std::size_t chosen_by_all = 0;
  uncertain::Priors priors_by_all;  // what all sources say
  // The mean of the sources' mean |error|, and its 90 % interval by bootstrap over sources.
  double mean_percent = 0, mean_low_percent = 0, mean_high_percent = 0;
};

// Judges a choice among candidates (of a parameter, or of a form) source by source: the one with
// the least mean error on all others predicts the one left out. Precondition: at least one
// candidate; all have the same rows, of two sources or more.
[[nodiscard]] LeftOut leave_out_sources(std::span<const RowsBySource> candidates);

}  // namespace paceline
