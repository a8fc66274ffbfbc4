#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/judge/validation.h"
#include "scenarios/outcome/step_interval.h"

namespace paceline {

// Rows by the people who measured them: every figure of several sources is their mean, so that one
// with many rows counts no more than one with few.
using RowsBySource = std::map<std::string, std::vector<ValidationRow>>;

// What 90 % intervals of steps are worth on measured rows. The score is the interval score of
// Gneiting and Raftery (JASA 102, 2007, eq. 43) of logarithms, the less the better: the width, and
// 2 / 0.1 times as much as the measurement lies outside.
struct IntervalFigures {
  double coverage_percent = 0;
  double width_percent = 0;  // the median of high over low, less 1
  // The same of rows where perfect scaling and no overlap differ by less than 10 %; 0 without any.
  double easy_width_percent = 0;
  double score = 0;
};

// An interval of the same width for every row, as logarithms of the step over the one predicted.
struct ConstantInterval {
  double low = 0, high = 0;
};

// Whether perfect scaling and no overlap differ by less than 10 %: any model is about right there.
[[nodiscard]] bool is_easy(const ValidationRow& row);

// Precondition for these: rows have parts; at least one.
[[nodiscard]] IntervalFigures judge_intervals(const std::vector<ValidationRow>& rows,
                                              const IntervalWidths& widths);
[[nodiscard]] IntervalFigures judge_intervals(const std::vector<ValidationRow>& rows,
                                              const ConstantInterval& constant);

// The widths, on a grid, with the least mean interval score over the sources, at 95 % in place of
// 90: what is not among these sources is off by more than they are.
[[nodiscard]] IntervalWidths choose_widths(const RowsBySource& sources);
// Likewise, at 90 %: the best that a constant width can do.
[[nodiscard]] ConstantInterval choose_constant(const RowsBySource& sources);

}  // namespace paceline
