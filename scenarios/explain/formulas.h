#pragma once

#include <initializer_list>
#include <string>

#include "scenarios/explain/calls.h"
#include "scenarios/explain/terms.h"

namespace paceline::explain {

// How parts of a step come about, with their numbers filled in. All must outlive it.
class Formulas {
 public:
  Formulas(const Prediction& predicted, const StepTerms& terms)
      : predicted_(predicted), terms_(terms) {}

  [[nodiscard]] std::string of(Part part) const;

 private:
  const Prediction& predicted_;
  const StepTerms& terms_;
};

// "25MiB x 1.938 / 11.2GBps + 62 x 3.1us + 60us", what of it is hidden, and what other ranks and
// compute beside it add.
[[nodiscard]] std::string formula_of(const ExplainedCall& call);

// A number to four digits.
[[nodiscard]] std::string factor_text(double factor);

// Where the numbers of an explanation are from.
class Sources {
 public:
  // All must outlive it. `file` is of the point alone.
  Sources(const ScenarioFile& file, const Settings& settings, const PointOutcome& outcome)
      : file_(file), settings_(settings), outcome_(outcome) {}

  [[nodiscard]] std::string of(Part part) const;
  [[nodiscard]] std::string of_call(const ExplainedCall& call) const;

 private:
  // "scenario.yaml:12 workload.model", or the setting, for the first of the paths that is given;
  // empty: none is.
  [[nodiscard]] std::string place_of(std::initializer_list<const char*> paths) const;
  [[nodiscard]] std::string of_passes() const;
  [[nodiscard]] std::string of_links() const;

  const ScenarioFile& file_;
  const Settings& settings_;
  const PointOutcome& outcome_;
};

}  // namespace paceline::explain
