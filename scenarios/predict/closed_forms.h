#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "models/folding/call_forms.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/prepare/preparer.h"

namespace paceline {

// The points of a scenario with fidelity: closed, many of which differ in nothing but latencies and
// bandwidths of links. What these have in common is made once: the step as numbers
// (cost::UniformStep), and what its calls take as functions of those numbers (folding::CallForms).
//
// Points that differ in them only are a group. A group has such a form where its ranks are alike
// and make their calls all together, one at a time. Points at the ends of all numbers are simulated
// as they are, and the form is corrected by what it differs by there; where it is then off in the
// middle, or corrected by much, all points of the group are simulated. Any thread may ask.
class ClosedForms {
 public:
  ClosedForms(ScenarioFile file, bool force);
  ~ClosedForms();

  // Without calls and trace; nullopt where the point's group has no form.
  [[nodiscard]] std::optional<PointOutcome> outcome(std::size_t point);

  // Groups of fewer points have no form: it takes the simulation of some tens of them to find one.
  static constexpr std::size_t points_least = 64;
  // How far a form may be from the points at the ends, by which it is corrected, and then from the
  // one in the middle, as parts of their step.
  static constexpr double corrected_by = 0.02, form_within = 0.005;

 private:
  class Form;
  class Calls;
  struct Group {
    std::mutex mutex;
    bool is_tried = false;
    std::unique_ptr<Form> form;                 // null: there is none
    std::vector<std::unique_ptr<Form>> copies;  // that no thread has at present
  };

  [[nodiscard]] std::string key_of(std::size_t point, bool of_cluster) const;
  [[nodiscard]] std::unique_ptr<Form> form_of(std::size_t point);
  [[nodiscard]] std::optional<Prediction> simulated(std::size_t point);
  Calls& calls_of(std::size_t point, const topology::Cluster& cluster,
                  const folding::LinkNumbers& least, const folding::LinkNumbers& most);

  ScenarioFile file_;
  bool force_;
  std::vector<bool> is_of_links_;  // by axis
  std::size_t points_of_group_ = 1;
  std::mutex mutex_;  // of what follows
  Preparer preparer_;
  std::map<std::string, std::unique_ptr<Calls>> calls_;
  std::map<std::string, Group> groups_;  // by the values of all other axes
};

}  // namespace paceline
