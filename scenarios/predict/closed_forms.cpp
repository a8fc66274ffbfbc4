#include "scenarios/predict/closed_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "models/cost/auto_choice.h"
#include "models/cost/uniform_step.h"
#include "models/folding/call_forms.h"
#include "models/folding/folded_step.h"
#include "models/folding/predicted_point.h"
#include "scenarios/predict/interval.h"
#include "scenarios/predict/point_source.h"
#include "scenarios/predict/predict_point.h"
#include "scenarios/predict/simulator.h"
#include "scenarios/prepare/library_calls.h"
#include "scenarios/prepare/overheads.h"

namespace paceline {
namespace {

using cost::UniformStep;
using folding::LinkNumbers;
using training::CollectiveCall;

constexpr AssumptionKind between_points{
    "{}: between points of the sweep that were simulated; within 0.5 % of one in the middle of "
    "them"};

// Axes that are numbers of links, in the order of LinkNumbers; whether more is less.
struct LinkAxis {
  std::string_view path, unit;
  bool is_a_rate;
};
constexpr std::array<LinkAxis, LinkNumbers::count> link_axes{{
    {"cluster.network.latency", "s", false},
    {"cluster.intra_node.latency", "s", false},
    {"cluster.network.bandwidth", "B/s", true},
    {"cluster.intra_node.bandwidth", "B/s", true},
}};

// Which number of a link an axis has; nullopt: none.
std::optional<std::size_t> number_of_axis(const AxisValue& axis) {
  for (std::size_t n = 0; n < link_axes.size(); ++n) {
    const auto* value = std::get_if<double>(&axis.value);
    const bool is_it = axis.path == link_axes[n].path && axis.unit == link_axes[n].unit;
    if (is_it && value != nullptr && *value > 0) return n;
  }
  return std::nullopt;
}

bool is_of_links(const ScenarioFile::Axis& axis) {
  return std::ranges::all_of(
      axis.values, [](const AxisValue& value) { return number_of_axis(value).has_value(); });
}

LinkNumbers numbers_at(LinkNumbers numbers, const std::vector<AxisValue>& axes) {
  for (const AxisValue& axis : axes) {
    const auto n = number_of_axis(axis);
    if (!n) continue;
    const double value = std::get<double>(axis.value);
    numbers.values[*n] = link_axes[*n].is_a_rate ? 1 / value : value;
  }
  return numbers;
}

// Points that a group's form is held against: those at the ends of its link axes, bit i of the
// index at the last value of axis i; and one in the middle of all.
struct Anchors {
  std::vector<std::size_t> ends;
  std::size_t middle;
};

Anchors anchors_of(const ScenarioFile& file, const std::vector<bool>& is_of_links,
                   std::size_t point) {
  const auto& axes = file.axes();
  Anchors anchors{{point}, point};
  std::size_t stride = 1;
  for (std::size_t a = axes.size(); a-- > 0;) {
    const std::size_t size = axes[a].values.size();
    if (is_of_links[a]) {
      const std::size_t first = point / stride % size * stride;
      for (std::size_t& end : anchors.ends) end -= first;
      anchors.middle += size / 2 * stride - first;
      const std::size_t count = anchors.ends.size();
      for (std::size_t i = 0; i < count; ++i) {
        anchors.ends.push_back(anchors.ends[i] + (size - 1) * stride);
      }
    }
    stride *= size;
  }
  return anchors;
}

// What steps are to be multiplied with, in logarithms: known at the ends of link axes, on straight
// lines in the logarithms of their numbers between them.
class Correction {
 public:
  Correction() = default;
  Correction(const std::vector<AxisValue>& first, const std::vector<AxisValue>& last,
             const std::vector<bool>& is_of_links, std::vector<double> at_ends)
      : at_ends_(std::move(at_ends)) {
    for (std::size_t a = first.size(); a-- > 0;) {
      if (!is_of_links[a]) continue;
      axes_.push_back({a, log_of(first[a]), log_of(last[a])});
    }
  }

  [[nodiscard]] double at(const std::vector<AxisValue>& axes) const {
    double sum = 0;
    for (std::size_t end = 0; end < at_ends_.size(); ++end) {
      double weight = 1;
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        const Axis& axis = axes_[i];
        const double part = (log_of(axes[axis.number]) - axis.first) / (axis.last - axis.first);
        weight *= (end >> i & 1) != 0 ? part : 1 - part;
      }
      sum += weight * at_ends_[end];
    }
    return std::exp(sum);
  }

 private:
  struct Axis {
    std::size_t number;
    double first, last;  // logarithms
  };
  static double log_of(const AxisValue& axis) { return std::log(std::get<double>(axis.value)); }

  std::vector<Axis> axes_;
  std::vector<double> at_ends_;
};

bool are_alike(const std::vector<double>& slowdown) {
  return std::ranges::adjacent_find(slowdown, std::ranges::not_equal_to()) == slowdown.end();
}

// Whether the step's calls are all of one kind that a form has: planned by the library's choice or
// of a known time.
bool is_formed(const training::StepProgram& program) {
  return std::ranges::none_of(program.operations, [](const training::Operation& operation) {
    const CollectiveCall* call = call_of(operation);
    return call != nullptr && (call->is_untold || std::get_if<training::AutomaticCall>(&call->how));
  });
}

// With chunks of a round taken as equal, where the call has no root: ranks are alike then.
Result folded_evenly(ResolvedPoint point) {
  const auto& call = *call_of(point.program.operations.front());
  if (!collectives::has_root(call.collective)) {
    try {
      folding::Rates rates;
      return simulate_folded(point, folding::Chunks::even, rates);
    } catch (const folding::NotFolded&) {
    }
  }
  return folding::predict_here(std::move(point));
}

folding::CallForms::Predicted time_alone(const topology::Cluster& cluster,
                                         const CollectiveCall& call) {
  ResolvedPoint one;
  one.cluster = cluster;
  one.fidelity = Fidelity::folded;
  ResolvedPoint in_a_row = cost::alone(one, call);
  const training::Operation first = in_a_row.program.operations.front();
  for (int more = 0; more < 2; ++more) in_a_row.program.add(first);
  const Result result = folded_evenly(std::move(in_a_row));
  std::array<Seconds, 3> ends{};
  for (const RankClass& members : result.trace.classes) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ends[i] = std::max(ends[i], members.intervals[i].end);
    }
  }
  return {ends[0], ends[0] - (ends[2] - ends[1])};
}

}  // namespace

// What calls take on the clusters of several groups.
class ClosedForms::Calls {
 public:
  Calls(const topology::Cluster& cluster, const LinkNumbers& least, const LinkNumbers& most)
      : forms_(cluster, least, most, time_alone) {}

  [[nodiscard]] folding::CallForms::Predicted time(const CollectiveCall& call,
                                                   const LinkNumbers& at) {
    const std::lock_guard lock(mutex_);
    return forms_.time(call, at);
  }

 private:
  std::mutex mutex_;
  folding::CallForms forms_;
};

// One group's points as functions of their links' numbers. A thread works on a copy of its own.
class ClosedForms::Form {
 public:
  // `calls` must outlive it.
  Form(const Scenario& scenario, const PreparedPoint& prepared, PointOutcome outcome, Calls& calls)
      : scenario_(scenario),
        prepared_(prepared),
        outcome_(std::move(outcome)),
        step_(prepared.point.program,
              prepared.point.slowdown.empty() ? 1.0 : prepared.point.slowdown.front()),
        links_(LinkNumbers::of(scenario.cluster)),
        forms_(calls) {
    find_kinds();
    plan_calls();
    const auto planned = library_->assumptions().sentences();
    for (std::string& sentence : prepared.assumptions.sentences()) {
      if (std::ranges::find(planned, sentence) == planned.end()) {
        assumptions_.push_back(std::move(sentence));
      }
    }
  }

  // As many as at a point that was simulated.
  void stands_for(std::uint64_t transfers) { transfers_ = transfers; }
  void correct(Correction correction) { correction_ = std::move(correction); }

  static bool fits(const Scenario& scenario, const PreparedPoint& prepared) {
    const ResolvedPoint& point = prepared.point;
    return scenario.fidelity == Fidelity::closed && scenario.calibration.empty() &&
           !prepared.decided_by && point.jobs.empty() && point.cluster.servers == 0 &&
           are_alike(point.slowdown) && !prepared.contention.measured &&
           UniformStep::fits(point.program) && is_formed(point.program);
  }

  PointOutcome at(const std::vector<AxisValue>& axes) {
    const LinkNumbers numbers = numbers_at(links_, axes);
    numbers.give_to(scenario_.cluster);
    plan_calls();
    UniformStep::Times alone = step_.alone();
    for (std::size_t i = 0; i < step_.calls().size(); ++i) {
      const Kind& kind = kinds_[kind_of_[i]];
      alone.work[step_.calls()[i]] = kind.time;
      alone.lead[step_.calls()[i]] = kind.lead;
    }
    PointOutcome made = outcome_;
    made.axes = axes;
    made.take(prediction(alone, correction_.at(axes)));
    return made;
  }

 private:
  // Calls that are the same; what they take at present.
  struct Kind {
    CollectiveCall call;
    Seconds time, lead;
    std::size_t times = 0;
  };

  void find_kinds() {
    std::map<CollectiveCall, std::size_t> numbers;
    for (const training::OperationId id : step_.calls()) {
      CollectiveCall call = *call_of(prepared_.point.program.operations[id]);
      if (call.known() == nullptr) call.how = training::Unplanned{};
      const auto [entry, is_new] = numbers.try_emplace(call, kinds_.size());
      if (is_new) kinds_.push_back({call, {}, {}});
      ++kinds_[entry->second].times;
      kind_of_.push_back(entry->second);
    }
  }

  // As the library has them on the links as they are now.
  void plan_calls() {
    library_.emplace(scenario_);
    const LinkNumbers numbers = LinkNumbers::of(scenario_.cluster);
    for (Kind& kind : kinds_) {
      if (const auto* known = kind.call.known()) {
        kind.time = known->time;
        continue;
      }
      library_->plan(kind.call);
      const auto found = forms_.time(kind.call, numbers);
      kind.time = found.time;
      kind.lead = found.lead;
    }
    channels_ = channels_of(scenario_);
  }

  [[nodiscard]] std::optional<cost::SideBySide> slowdown() const {
    if (kinds_.empty()) return std::nullopt;
    double bytes = 0;
    Seconds time;
    for (const Kind& kind : kinds_) {
      bytes += static_cast<double>(kind.times) * static_cast<double>(kind.call.size().value());
      time += kind.time * static_cast<double>(kind.times);
    }
    const double assumed =
        cost::assumed_slowdown(bytes, time, scenario_.cluster.ranks(), prepared_.device, channels_);
    return slowdown_of(prepared_.contention, assumed, nullptr);
  }

  StepTotals totals(const UniformStep::Times& times) {
    step_.run(times, ran_.intervals);
    return totals_of(prepared_.point.program, ran_);
  }

  Prediction prediction(const UniformStep::Times& alone, double correction) {
    Prediction made;
    const auto beside = slowdown();
    const UniformStep::Times times = beside ? step_.contended(alone, *beside) : alone;
    made.communication_alone = totals(alone).communication;
    made.totals = beside ? totals(times) : totals(alone);
    made.parts = parts_of(prepared_, made.totals.communication,
                          [&](double compute, double waits, CallEnds calls) {
                            return step_.step(scaled(times, compute, waits, calls));
                          });
    const Seconds more = made.totals.step * (correction - 1);
    made.totals.step += more;
    for (Seconds* part : {&made.totals.communication, &made.totals.exposed_communication}) {
      *part = std::max(*part + more, Seconds(0));
    }
    made.interval = to_interval(made.totals.step, ends_of(made.parts, interval_widths));
    made.assumptions = assumptions_;
    Assumptions here = library_->assumptions();
    here.add({between_points, "closed"});
    if (beside) say_slowdown(prepared_.contention, *beside, here);
    for (std::string& sentence : here.sentences()) made.assumptions.push_back(std::move(sentence));
    made.fidelity = Fidelity::closed;
    made.transfers = transfers_;
    return made;
  }

  [[nodiscard]] UniformStep::Times scaled(const UniformStep::Times& times, double compute,
                                          double waits, CallEnds ends) const {
    UniformStep::Times made = times;
    const auto& operations = prepared_.point.program.operations;
    for (std::size_t id = 0; id < operations.size(); ++id) {
      const bool is_wait = operations[id].kind == training::OperationKind::wait;
      made.work[id] = made.work[id] * (is_wait ? waits : compute);
    }
    for (std::size_t i = 0; i < step_.calls().size(); ++i) {
      const training::OperationId id = step_.calls()[i];
      const RatioRange& range = kinds_[kind_of_[i]].call.range;
      double factor = 1;
      if (ends == CallEnds::low) factor = range.low;
      if (ends == CallEnds::high) factor = range.high;
      made.work[id] = (times.work[id] + times.held[id]) * factor;
      made.held[id] = Seconds(0);
    }
    return made;
  }

  Scenario scenario_;
  PreparedPoint prepared_;
  PointOutcome outcome_;
  UniformStep step_;
  LinkNumbers links_;  // of the first point
  Calls& forms_;
  std::uint64_t transfers_ = 0;
  Correction correction_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> kind_of_;  // by call of the step
  std::optional<LibraryCalls> library_;
  double channels_ = 0;
  std::vector<std::string> assumptions_;  // but for those of the library
  RankClass ran_{{Rank(0)}, {}};
};

ClosedForms::ClosedForms(ScenarioFile file, bool force)
    : file_(std::move(file)), force_(force), preparer_(file_) {
  for (const ScenarioFile::Axis& axis : file_.axes()) {
    is_of_links_.push_back(axis.values.size() > 1 && is_of_links(axis));
    if (is_of_links_.back()) points_of_group_ *= axis.values.size();
  }
}
ClosedForms::~ClosedForms() = default;

std::optional<PointOutcome> ClosedForms::outcome(std::size_t point) {
  if (points_of_group_ < points_least) return std::nullopt;
  Group* group = nullptr;
  {
    const std::lock_guard lock(mutex_);
    group = &groups_[key_of(point, false)];
  }
  std::unique_lock lock(group->mutex);
  if (!group->is_tried) {
    try {
      group->form = form_of(point);
    } catch (const InputError&) {
      // Each point says so by itself.
    } catch (const folding::NotSimulated&) {
    }
    group->is_tried = true;
  }
  if (!group->form) return std::nullopt;
  std::unique_ptr<Form> copy;
  if (group->copies.empty()) {
    copy = std::make_unique<Form>(*group->form);
  } else {
    copy = std::move(group->copies.back());
    group->copies.pop_back();
  }
  lock.unlock();
  std::optional<PointOutcome> made;
  try {
    made = copy->at(file_.axes_of(point));
  } catch (const folding::NotSimulated&) {
    // Of a call that the library has here and not elsewhere: the point says so by itself.
  }
  lock.lock();
  group->copies.push_back(std::move(copy));
  return made;
}

// The values of the axes that are none of links; of a cluster without those that change none.
std::string ClosedForms::key_of(std::size_t point, bool of_cluster) const {
  std::string key;
  const std::vector<AxisValue> axes = file_.axes_of(point);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (is_of_links_[a] || (of_cluster && axes[a].path == "training.bucket_cap")) continue;
    key += axes[a].text + '\n';
  }
  return key;
}

std::optional<Prediction> ClosedForms::simulated(std::size_t point) {
  std::shared_ptr<const PreparedPoint> prepared;
  {
    const std::lock_guard lock(mutex_);
    prepared = preparer_.prediction(point);
  }
  Predicted predicted = predict_point(prepared, [this](ResolvedPoint resolved) {
    resolved.force = force_;
    return closed_reply_to(resolved);
  });
  auto* made = std::get_if<Prediction>(&predicted);
  return made == nullptr ? std::nullopt : std::optional(std::move(*made));
}

ClosedForms::Calls& ClosedForms::calls_of(std::size_t point, const topology::Cluster& cluster,
                                          const LinkNumbers& least, const LinkNumbers& most) {
  const std::lock_guard lock(mutex_);
  auto& calls = calls_[key_of(point, true)];
  if (!calls) calls = std::make_unique<Calls>(cluster, least, most);
  return *calls;
}

// Null where the points have none, or it is not near enough.
std::unique_ptr<ClosedForms::Form> ClosedForms::form_of(std::size_t point) {
  const Anchors anchors = anchors_of(file_, is_of_links_, point);
  const std::size_t first = anchors.ends.front();
  LinkNumbers least, most;
  std::shared_ptr<const Scenario> scenario;
  std::shared_ptr<const PreparedPoint> prepared;
  {
    const std::lock_guard lock(mutex_);
    scenario = preparer_.scenario(first);
    prepared = preparer_.prediction(first);
    least = most = LinkNumbers::of(scenario->cluster);
    for (const std::size_t one : anchors.ends) {
      const LinkNumbers numbers = LinkNumbers::of(preparer_.scenario(one)->cluster);
      for (std::size_t n = 0; n < LinkNumbers::count; ++n) {
        least.values[n] = std::min(least.values[n], numbers.values[n]);
        most.values[n] = std::max(most.values[n], numbers.values[n]);
      }
    }
  }
  if (!Form::fits(*scenario, *prepared)) return nullptr;
  auto form = std::make_unique<Form>(*scenario, *prepared, outcome_of(file_, *prepared),
                                     calls_of(first, prepared->point.cluster, least, most));
  // The logarithm of a simulated step over the form's.
  const auto apart = [&](std::size_t one) -> std::optional<double> {
    const auto found = simulated(one);
    if (!found) return std::nullopt;
    form->stands_for(found->transfers);
    return std::log(found->totals.step / form->at(file_.axes_of(one)).predicted->totals.step);
  };
  std::vector<double> at_ends;
  for (const std::size_t one : anchors.ends) {
    const auto of_end = apart(one);
    if (!of_end || std::abs(*of_end) > corrected_by) return nullptr;
    at_ends.push_back(*of_end);
  }
  form->correct(
      {file_.axes_of(first), file_.axes_of(anchors.ends.back()), is_of_links_, std::move(at_ends)});
  const auto left = apart(anchors.middle);
  if (!left || std::abs(*left) > form_within) return nullptr;
  return form;
}

}  // namespace paceline
