#pragma once

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

}  // namespace paceline::explain
