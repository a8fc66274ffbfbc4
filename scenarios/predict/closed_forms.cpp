#include "scenarios/predict/closed_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/cost/auto_choice.h"
#include "models/cost/uniform_step.h"
#include "models/folding/call_form.h"
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

folding::CallTime time_alone(const topology::Cluster& cluster, const CollectiveCall& call) {
  ResolvedPoint one;
  one.cluster = cluster;
  one.fidelity = Fidelity::folded;
  ResolvedPoint in_a_row = cost::alone(one, call);
  const training::Operation first = in_a_row.program.operations.front();
  in_a_row.program.add(first);
  const Result result = folded_evenly(std::move(in_a_row));
  std::array<Seconds, 2> ends{};
  for (const RankClass& members : result.trace.classes) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ends[i] = std::max(ends[i], members.intervals[i].end);
    }
  }
  return {ends[0], ends[0] - (ends[1] - ends[0])};
}

// What a step computes for each byte of its calls.
Seconds compute_of_a_byte(const PreparedPoint& prepared) {
  double bytes = 0;
  for (const training::Operation& operation : prepared.point.program.operations) {
    if (const auto* call = call_of(operation)) bytes += static_cast<double>(call->size().value());
  }
  return bytes > 0 ? prepared.one_gpu_step / bytes : Seconds(0);
}

}  // namespace

// What calls take on the clusters of several groups. Any thread may ask.
class ClosedForms::Calls {
 public:
  Calls(const PreparedPoint& prepared, const LinkNumbers& least, const LinkNumbers& most)
      : domain_{prepared.point.cluster, least, most, compute_of_a_byte(prepared), time_alone} {}

  // nullopt: another thread asks for the same call, and `waits` is not set.
  [[nodiscard]] std::optional<folding::CallTime> time(const CollectiveCall& call,
                                                      const LinkNumbers& at, bool waits) {
    const auto [plain, start] = folding::plain_call(call);
    Entry& entry = entry_of(plain);
    std::unique_lock lock(entry.mutex, std::defer_lock);
    if (waits) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return std::nullopt;
    }
    folding::CallTime found = entry.form.at(at);
    found.time += start;
    return found;
  }

 private:
  struct Entry {
    std::mutex mutex;
    folding::CallForm form;
    Entry(const folding::CallDomain& domain, const CollectiveCall& call) : form(domain, call) {}
  };

  Entry& entry_of(const CollectiveCall& call) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(call);
    if (found != entries_.end()) return found->second;
    return entries_.try_emplace(call, domain_, call).first->second;
  }

  const folding::CallDomain domain_;
  std::mutex mutex_;
  std::map<CollectiveCall, Entry> entries_;
};

// One group's points as functions of their links' numbers. A thread works on a copy of its own.
class ClosedForms::Form {
 public:
  Form(const Scenario& scenario, const PreparedPoint& prepared, PointOutcome outcome,
       std::shared_ptr<Calls> calls)
      : scenario_(scenario),
        prepared_(prepared),
        outcome_(std::move(outcome)),
        step_(prepared.point.program,
              prepared.point.slowdown.empty() ? 1.0 : prepared.point.slowdown.front()),
        links_(LinkNumbers::of(scenario.cluster)),
        forms_(std::move(calls)) {
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
    go_to(axes);
    PointOutcome made = outcome_;
    made.axes = axes;
    made.take(prediction(correction_.at(axes)));
    return made;
  }

  std::vector<Seconds> steps(const std::vector<AxisValue>& axes, std::span<const StepDraw> draws) {
    go_to(axes);
    const UniformStep::Times alone = alone_times();
    const auto beside = slowdown();
    const UniformStep::Times times = beside ? step_.contended(alone, *beside) : alone;
    const double correction = correction_.at(axes);
    std::vector<Seconds> made;
    for (std::size_t first = 0; first < draws.size(); first += UniformStep::width) {
      const auto some = draws.subspan(first, std::min(UniformStep::width, draws.size() - first));
      const auto steps = step_.steps(variants_of(times, some));
      for (std::size_t k = 0; k < some.size(); ++k) made.push_back(steps[k] * correction);
    }
    return made;
  }

 private:
  // Calls that are the same; what they take at present.
  struct Kind {
    CollectiveCall call;
    Seconds time, lead;
    std::size_t times = 0;
  };

  void go_to(const std::vector<AxisValue>& axes) {
    numbers_at(links_, axes).give_to(scenario_.cluster);
    plan_calls();
  }

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
    std::vector<Kind*> left;
    for (Kind& kind : kinds_) {
      if (const auto* known = kind.call.known()) {
        kind.time = known->time;
      } else {
        library_->plan(kind.call);
        left.push_back(&kind);
      }
    }
    find_times(std::move(left));
    channels_ = channels_of(scenario_);
  }

  // Those first that no other thread is asking for.
  void find_times(std::vector<Kind*> left) {
    const LinkNumbers numbers = LinkNumbers::of(scenario_.cluster);
    const auto find = [&](Kind& kind, bool waits) {
      const auto found = forms_->time(kind.call, numbers, waits);
      if (found) std::tie(kind.time, kind.lead) = std::pair(found->time, found->lead);
      return found.has_value();
    };
    while (!left.empty()) {
      if (std::erase_if(left, [&](Kind* kind) { return find(*kind, false); }) > 0) continue;
      find(*left.back(), true);
      left.pop_back();
    }
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

  [[nodiscard]] UniformStep::Times alone_times() const {
    UniformStep::Times alone = step_.alone();
    for (std::size_t i = 0; i < step_.calls().size(); ++i) {
      const Kind& kind = kinds_[kind_of_[i]];
      alone.work[step_.calls()[i]] = kind.time;
      alone.lead[step_.calls()[i]] = kind.lead;
    }
    return alone;
  }

  Prediction prediction(double correction) {
    Prediction made;
    const UniformStep::Times alone = alone_times();
    const auto beside = slowdown();
    const UniformStep::Times times = beside ? step_.contended(alone, *beside) : alone;
    made.communication_alone = totals(alone).communication;
    made.totals = beside ? totals(times) : totals(alone);
    made.parts = parts_of(prepared_, made.totals.communication,
                          [&](std::span<const StepScale> scales) { return scaled(times, scales); });
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

  // How many times as long each part of a step is in one variant.
  struct Factors {
    double compute = 1, waits = 1;
    std::vector<double> calls, leads;  // by kind of call
  };

  [[nodiscard]] UniformStep::Variants variants(const UniformStep::Times& times,
                                               std::span<const Factors> factors) const {
    const auto& operations = prepared_.point.program.operations;
    UniformStep::Variants made;
    made.work.resize(operations.size());
    made.lead.resize(operations.size());
    for (std::size_t k = 0; k < factors.size(); ++k) {
      for (std::size_t id = 0; id < operations.size(); ++id) {
        const bool is_wait = operations[id].kind == training::OperationKind::wait;
        made.work[id][k] = times.work[id] * (is_wait ? factors[k].waits : factors[k].compute);
      }
      for (std::size_t i = 0; i < step_.calls().size(); ++i) {
        const training::OperationId id = step_.calls()[i];
        made.work[id][k] = (times.work[id] + times.held[id]) * factors[k].calls[kind_of_[i]];
        made.lead[id][k] = times.lead[id] * factors[k].leads[kind_of_[i]];
      }
    }
    return made;
  }

  [[nodiscard]] std::vector<Seconds> scaled(const UniformStep::Times& times,
                                            std::span<const StepScale> scales) const {
    std::vector<Factors> factors;
    for (const StepScale& scale : scales) {
      Factors& one = factors.emplace_back(scale.compute, scale.waits);
      for (const Kind& kind : kinds_) {
        const RatioRange& range = kind.call.range;
        double factor = 1;
        if (scale.calls == CallEnds::low) factor = range.low;
        if (scale.calls == CallEnds::high) factor = range.high;
        one.calls.push_back(factor);
        one.leads.push_back(1);
      }
    }
    const auto steps = step_.steps(variants(times, factors));
    return {steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(scales.size())};
  }

  // At most UniformStep::width draws.
  [[nodiscard]] UniformStep::Variants variants_of(const UniformStep::Times& times,
                                                  std::span<const StepDraw> draws) const {
    std::vector<Factors> factors;
    for (const StepDraw& draw : draws) {
      LinkNumbers numbers = LinkNumbers::of(scenario_.cluster);
      for (std::size_t n = 0; n < LinkNumbers::count; ++n)
        numbers.values[n] *= draw.links.values[n];
      Factors& one = factors.emplace_back(draw.compute, draw.waits);
      for (const Kind& kind : kinds_) {
        const folding::CallTime drawn = kind.call.known() != nullptr
                                            ? folding::CallTime{kind.time, kind.lead}
                                            : *forms_->time(kind.call, numbers, true);
        one.calls.push_back(kind.time > Seconds(0) ? draw.calls * (drawn.time / kind.time) : 1);
        one.leads.push_back(kind.lead > Seconds(0) ? draw.calls * (drawn.lead / kind.lead) : 1);
      }
    }
    return variants(times, factors);
  }

  Scenario scenario_;
  PreparedPoint prepared_;
  PointOutcome outcome_;
  UniformStep step_;
  LinkNumbers links_;  // of the first point
  std::shared_ptr<Calls> forms_;
  std::uint64_t transfers_ = 0;
  Correction correction_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> kind_of_;  // by call of the step
  std::optional<LibraryCalls> library_;
  double channels_ = 0;
  std::vector<std::string> assumptions_;  // but for those of the library
  RankClass ran_{{Rank(0)}, {}};
};

ClosedForms::ClosedForms(ScenarioFile file, bool force, double part, double links_drawn)
    : file_(std::move(file)), force_(force), links_drawn_(links_drawn), preparer_(file_) {
  PACELINE_EXPECTS(part >= 0 && part <= 1 && links_drawn >= 1);
  double points = part;
  for (const ScenarioFile::Axis& axis : file_.axes()) {
    const bool is_it = axis.values.size() > 1 && is_of_links(axis);
    is_of_links_.push_back(is_it);
    is_of_no_call_.push_back(is_it || axis.path == "training.bucket_cap");
    if (is_it) points *= static_cast<double>(axis.values.size());
  }
  are_enough_ = points >= static_cast<double>(points_least);
}
ClosedForms::~ClosedForms() = default;

// The number of a point among those that are alike in these axes.
std::uint64_t ClosedForms::number_without(const std::vector<bool>& axes, std::size_t point) const {
  std::uint64_t number = 0, stride = 1;
  for (std::size_t a = axes.size(); a-- > 0;) {
    const std::size_t size = file_.axes()[a].values.size();
    if (!axes[a]) {
      number += point % size * stride;
      stride *= size;
    }
    point /= size;
  }
  return number;
}

std::optional<std::uint64_t> ClosedForms::group_of(std::size_t point) const {
  if (!are_enough_) return std::nullopt;
  return number_without(is_of_links_, point);
}

std::shared_ptr<ClosedForms::Group> ClosedForms::kept_group(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Group>& group = groups_[number];
  if (!group) group = std::make_shared<Group>();
  group->asked_last = ++asked_;
  const std::shared_ptr<Group> asked = group;
  if (groups_.size() > groups_kept) {
    groups_.erase(std::ranges::min_element(
        groups_, {}, [](const auto& entry) { return entry.second->asked_last; }));
    std::erase_if(calls_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  return asked;
}

template <class Use>
auto ClosedForms::used(std::size_t point, const Use& use)
    -> std::optional<decltype(use(std::declval<Form&>()))> {
  const auto number = group_of(point);
  if (!number) return std::nullopt;
  const std::shared_ptr<Group> group = kept_group(*number);
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
  std::optional<decltype(use(*copy))> made;
  try {
    made = use(*copy);
  } catch (const folding::NotSimulated&) {
    // Of a call that the library has here and not elsewhere: the point says so by itself.
  }
  lock.lock();
  group->copies.push_back(std::move(copy));
  return made;
}

std::optional<PointOutcome> ClosedForms::outcome(std::size_t point) {
  return used(point, [&](Form& form) { return form.at(file_.axes_of(point)); });
}

std::optional<std::vector<Seconds>> ClosedForms::steps(std::size_t point,
                                                       std::span<const StepDraw> draws) {
  return used(point, [&](Form& form) { return form.steps(file_.axes_of(point), draws); });
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

std::shared_ptr<ClosedForms::Calls> ClosedForms::calls_of(std::size_t point,
                                                          const PreparedPoint& prepared,
                                                          const LinkNumbers& least,
                                                          const LinkNumbers& most) {
  const std::lock_guard lock(mutex_);
  auto& calls = calls_[number_without(is_of_no_call_, point)];
  if (!calls) calls = std::make_shared<Calls>(prepared, least, most);
  return calls;
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
    for (std::size_t n = 0; n < LinkNumbers::count; ++n) {
      if (least.values[n] == most.values[n]) continue;
      least.values[n] /= links_drawn_;
      most.values[n] *= links_drawn_;
    }
  }
  if (!Form::fits(*scenario, *prepared)) return nullptr;
  auto form = std::make_unique<Form>(*scenario, *prepared, outcome_of(file_, *prepared),
                                     calls_of(first, *prepared, least, most));
  // The logarithm of a simulated step over the form's.
  const auto apart = [&](std::size_t one) {
    const auto found = simulated(one);
    if (!found) throw folding::NotSimulated("a point at an end has no step", false);
    form->stands_for(found->transfers);
    return std::log(found->totals.step / form->at(file_.axes_of(one)).predicted->totals.step);
  };
  std::map<std::size_t, double> known;
  for (const std::size_t one : {first, anchors.ends.back(), anchors.middle}) {
    known.emplace(one, apart(one));
  }
  const auto is_right = [](const auto& entry) { return std::abs(entry.second) <= right_within; };
  if (std::ranges::all_of(known, is_right)) return form;
  std::vector<double> at_ends;
  for (const std::size_t one : anchors.ends) {
    if (!known.contains(one)) known.emplace(one, apart(one));
    at_ends.push_back(known.at(one));
    if (std::abs(at_ends.back()) > corrected_by) return nullptr;
  }
  Correction correction(file_.axes_of(first), file_.axes_of(anchors.ends.back()), is_of_links_,
                        std::move(at_ends));
  const double left =
      known.at(anchors.middle) - std::log(correction.at(file_.axes_of(anchors.middle)));
  if (std::abs(left) > form_within) return nullptr;
  form->correct(std::move(correction));
  return form;
}

}  // namespace paceline
