#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/stats/errors.h"
#include "scenarios/judge/known_rows.h"
#include "scenarios/judge/validation.h"

namespace paceline {

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
  // The mean of the sources' mean |error|, and its middle 90 % when as many sources are drawn again
  // with repetitions.
  double mean_percent = 0, mean_low_percent = 0, mean_high_percent = 0;
};

// Judges a choice among candidates (of a parameter, or of a form) source by source: the one with
// the least mean error on all others predicts the one left out. Precondition: at least one
// candidate; all have the same rows, of two sources or more.
[[nodiscard]] LeftOut leave_out_sources(std::span<const RowsBySource> candidates);

}  // namespace paceline
