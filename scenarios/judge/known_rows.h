#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/stats/errors.h"
#include "models/uncertain/learn.h"
#include "scenarios/judge/validation.h"

namespace paceline {

// Rows by the people who measured them. Figures over several sources are means over sources, so
// that many rows of one count no more than few of another.
using RowsBySource = std::map<std::string, std::vector<ValidationRow>>;

// A measured row, predicted with the smallest rows of its scenario known
// (uncertain::smallest_rows).
struct JudgedRow {
  std::string source;
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
// beside these are left out. Steps are moved by the sum
// of their responses, where a run composes them.
[[nodiscard]] std::vector<JudgedRow> judge_rows(const std::vector<ValidationRow>& rows,
                                                const uncertain::Priors& priors, std::size_t known);

// A row of a scenario that next_measurement() would have had measured, of its smallest two, and
// what came of it: widths of the other rows' intervals over those with nothing known, in their
// mean, and their mean |error|.
struct NextRow {
  std::string scenario;
  double promised = 1, had = 1;
  double error_before = 0, error_after = 0;  // per cent
};
// Leaves out scenarios in which no row is worth measuring.
[[nodiscard]] std::vector<NextRow> judge_next_rows(const std::vector<ValidationRow>& rows,
                                                   const uncertain::Priors& priors);

// Whether perfect scaling and no overlap differ by less than 10 %, so that any model is about
// right.
[[nodiscard]] bool is_easy(const ValidationRow& row);

}  // namespace paceline
