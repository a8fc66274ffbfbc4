#pragma once

#include <initializer_list>
#include <string>

#include "scenarios/explain/calls.h"
#include "scenarios/explain/terms.h"
#include "scenarios/explain/without.h"

namespace paceline::explain {

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
