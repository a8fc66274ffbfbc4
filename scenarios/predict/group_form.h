#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/cost/uniform_step.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/predict/composition.h"
#include "scenarios/prepare/library_calls.h"
#include "scenarios/prepare/resolve.h"
#include "sim/folded/call_form.h"

namespace paceline {

// Whether an axis has several values of one number of links (sim::LinkNumbers), above 0, that
// rise or fall from the first to the last.
[[nodiscard]] bool is_of_links(const ScenarioFile::Axis& axis);

// `numbers` with those that the axes of a point give.
[[nodiscard]] sim::LinkNumbers numbers_at(sim::LinkNumbers numbers,
                                          const std::vector<AxisValue>& axes);

// What calls take alone on clusters that differ in numbers of links only. Any thread may ask.
class CallForms {
 public:
  // Of a point's step, or others that are alike but for links and for what calls they have.
  CallForms(const PreparedPoint& prepared, const sim::LinkNumbers& least,
            const sim::LinkNumbers& most);

  // Precondition: the call is simulated. nullopt: another thread is at it, and not `waits`. Throws
  // sim::NotSimulated.
  [[nodiscard]] std::optional<sim::CallTime> time(const training::CollectiveCall& call,
                                                  const sim::LinkNumbers& at, bool waits);

 private:
  struct Entry {
    std::mutex mutex;
    sim::CallForm form;
    Entry(const sim::CallDomain& domain, const training::CollectiveCall& call)
        : form(domain, call) {}
  };

  Entry& entry_of(const training::CollectiveCall& call);

  const sim::CallDomain domain_;
  std::mutex mutex_;
  std::map<training::CollectiveCall, Entry> entries_;
};

// What steps are to be multiplied with, in logarithms: known at the ends of link axes, on straight
// lines in the logarithms of their numbers between them.
class Correction {
 public:
  Correction() = default;
  // `at_ends`: bit i of an index at the last value of the i-th axis from the end that is of links.
  Correction(const std::vector<AxisValue>& first, const std::vector<AxisValue>& last,
             const std::vector<bool>& is_of_links, std::vector<double> at_ends);

  [[nodiscard]] double at(const std::vector<AxisValue>& axes) const;

 private:
  struct Axis {
    std::size_t number;
    double first, last;  // logarithms
  };

  std::vector<Axis> axes_;
  std::vector<double> at_ends_;
};

// Points that differ in numbers of links only, as functions of these: the step composed of its
// calls' forms. One thread uses it; others use copies.
class GroupForm {
 public:
  // Of one of the points. Precondition: fits. Throws what the library's choice and forms do.
  GroupForm(const Scenario& scenario, const PreparedPoint& prepared, PointOutcome outcome,
            std::shared_ptr<CallForms> calls, const uncertain::Belief& belief);

  // Whether ranks are alike and make their calls all together, one at a time.
  [[nodiscard]] static bool fits(const Scenario& scenario, const PreparedPoint& prepared);

  // As many as at a point that was simulated.
  void stands_for(std::uint64_t transfers) { transfers_ = transfers; }
  void correct(Correction correction) { correction_ = std::move(correction); }

  // The point with these values of the axes, without calls and trace.
  [[nodiscard]] PointOutcome at(const std::vector<AxisValue>& axes);

 private:
  using Times = cost::UniformStep::Times;
  using Variants = cost::UniformStep::Variants;

  // Calls that are the same; what they take at present.
  struct Kind {
    training::CollectiveCall call;
    Seconds time, lead;
    std::size_t times = 0;
  };
  // How many times as long each part of a step is in one variant.
  struct Factors {
    double compute = 1, waits = 1;
    std::vector<double> calls = {};  // by kind of call
    double overlap_lost = 0;         // uncertain::Unknown::overlap
  };

  void find_kinds();
  void go_to(const std::vector<AxisValue>& axes);
  void plan_calls();
  void find_times(std::vector<Kind*> left);
  [[nodiscard]] std::optional<cost::SideBySide> slowdown() const;
  [[nodiscard]] StepTotals totals(const Times& times);
  [[nodiscard]] Times alone_times() const;
  [[nodiscard]] Prediction prediction(double correction);
  [[nodiscard]] std::vector<Seconds> beside_calls() const;
  [[nodiscard]] cost::LeastTimes call_times(const cost::UniformStep::Times& times) const;
  [[nodiscard]] Variants variants(const Times& times, std::span<const Seconds> beside_calls,
                                  std::span<const Factors> factors) const;
  [[nodiscard]] Factors factors_of(const StepScale& scale) const;
  [[nodiscard]] std::vector<Seconds> scaled(const Times& times,
                                            std::span<const Seconds> beside_calls,
                                            std::span<const StepScale> scales) const;
  [[nodiscard]] Times scaled(const Times& times, std::span<const Seconds> beside_calls,
                             const StepScale& scale) const;

  Scenario scenario_;
  PreparedPoint prepared_;
  PointOutcome outcome_;
  cost::UniformStep step_;
  sim::LinkNumbers links_;  // of the first point
  std::shared_ptr<CallForms> forms_;
  uncertain::Belief belief_;
  std::uint64_t transfers_ = 0;
  Correction correction_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> kind_of_;  // by call of the step
  std::optional<LibraryCalls> library_;
  double channels_ = 0;
  std::vector<std::string> assumptions_;  // but for those of the library
  RankClass ran_{{Rank(0)}, {}};
};

}  // namespace paceline
