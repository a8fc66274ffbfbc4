#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "models/folding/call_forms.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/prepare/preparer.h"

namespace paceline {

// The points of a scenario with fidelity: closed, many of which differ in nothing but latencies and
// bandwidths of links. What these have in common is made once: the step as numbers
// (cost::UniformStep), and what its calls take as functions of those numbers (folding::CallForms).
//
// Points that differ in them only are a group. A group has such a form where its ranks are alike and
// make their calls all together, one at a time. Points at the ends of all numbers are simulated as
// they are, and the form is corrected by what it differs by there; where it is then off in the
// middle, or corrected by much, all points of the group are simulated. Any thread may ask. The file
// must outlive it.
class ClosedForms {
 public:
  ClosedForms(const ScenarioFile& file, bool force);
  ~ClosedForms();

  // Throws InputError and what a simulation throws.
  [[nodiscard]] PointOutcome outcome(std::size_t point);

  // Points that were simulated as they are, so far.
  [[nodiscard]] std::size_t simulated() const { return simulated_; }

  // How far a form may be from the points at the ends, by which it is corrected, and then from the
  // one in the middle, as parts of their step.
  static constexpr double corrected_by = 0.02, form_within = 0.005;

 private:
  class Form;
  class Calls;
  struct Group {
    std::mutex mutex;
    bool is_tried = false;
    std::unique_ptr<Form> form;  // null: there is none
  };

  [[nodiscard]] PointOutcome simulate(std::size_t point);
  [[nodiscard]] std::unique_ptr<Form> form_of(std::size_t point);
  Group& group_of(std::size_t point);
  Calls& calls_of(std::size_t point, const topology::Cluster& cluster,
                  const folding::LinkNumbers& least, const folding::LinkNumbers& most);

  const ScenarioFile& file_;
  bool force_;
  std::mutex mutex_;  // of preparer and groups
  Preparer preparer_;
  std::map<std::string, std::unique_ptr<Calls>> calls_;
  std::map<std::string, Group> groups_;  // by the values of all other axes
  std::size_t simulated_ = 0;
};

}  // namespace paceline
