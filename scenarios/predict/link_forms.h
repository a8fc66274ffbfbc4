#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "scenarios/predict/group_form.h"
#include "scenarios/prepare/preparer.h"

namespace paceline {

// Predicts the folded points of a scenario of which many differ only in latencies and bandwidths of
// links. What these have in common is made once: the step as numbers (cost::UniformStep), and what
// its calls take as functions of those numbers (sim::CallForm).
//
// Points that differ in them only are a group. A group has such a form where its ranks are alike
// and make their calls all together, one at a time. Points at two opposite ends of all numbers and
// in the middle are simulated as they are. A form that is not near enough to them is held against
// those at all ends, and corrected by what it differs by there; where it is then off in the middle,
// or corrected by much, all points of the group are simulated. Any thread may ask; of a group that
// is asked for the first time one has to find the form, and others wait for it.
class LinkForms {
 public:
  // `belief`: of the machine. `part`: how many of the points will be asked for, from 0 to 1.
  LinkForms(ScenarioFile file, bool force, uncertain::Belief belief, double part = 1);
  ~LinkForms();

  // Without calls and trace; nullopt where the point's group has no form.
  [[nodiscard]] std::optional<PointOutcome> outcome(std::size_t point);

  [[nodiscard]] static std::uint64_t groups_of(const ScenarioFile& file);

  // The number of a point's group; nullopt: these points are simulated, each by itself.
  [[nodiscard]] std::optional<std::uint64_t> group_of(std::size_t point) const;

  // Groups of fewer points have no form: it takes the simulation of some tens of them to find one.
  static constexpr std::size_t points_least = 64;
  // How far a form may be from the points at the ends, by which it is corrected, and then from the
  // one in the middle, as parts of their step. One that is nearer than the last at two opposite
  // ends and in the middle is not corrected.
  static constexpr double corrected_by = 0.02, form_within = 0.005, right_within = 0.0005;
  // The least recently used forms are forgotten: ask for the points of a group in sequence.
  static constexpr std::size_t groups_kept = 64;

 private:
  struct Group {
    std::mutex mutex;
    bool is_tried = false;
    std::unique_ptr<GroupForm> form;                 // null: there is none
    std::vector<std::unique_ptr<GroupForm>> copies;  // that no thread has at present
    std::uint64_t asked_last = 0;
  };

  [[nodiscard]] std::shared_ptr<Group> kept_group(std::uint64_t number);
  [[nodiscard]] std::unique_ptr<GroupForm> form_of(std::size_t point);
  [[nodiscard]] std::optional<Prediction> simulated(std::size_t point);
  [[nodiscard]] std::shared_ptr<CallForms> calls_of(std::size_t point,
                                                    const PreparedPoint& prepared,
                                                    const sim::LinkNumbers& least,
                                                    const sim::LinkNumbers& most);
  [[nodiscard]] std::uint64_t number_without(const std::vector<bool>& axes,
                                             std::size_t point) const;

  ScenarioFile file_;
  bool force_;
  uncertain::Belief belief_;
  std::vector<bool> is_of_links_, is_of_no_call_;  // by axis
  bool are_enough_ = false;                        // points of a group
  std::mutex mutex_;                               // of what follows
  Preparer preparer_;
  std::uint64_t asked_ = 0;
  std::map<std::uint64_t, std::shared_ptr<CallForms>>
      calls_;  // by the cluster that they are made on
  std::map<std::uint64_t, std::shared_ptr<Group>> groups_;
};

}  // namespace paceline
