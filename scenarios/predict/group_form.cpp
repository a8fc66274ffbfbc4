#include "scenarios/predict/group_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "models/contract.h"
#include "models/cost/auto_choice.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/predict_point.h"
#include "scenarios/prepare/overheads.h"
#include "sim/folded/folded_step.h"
#include "sim/folded/predicted_point.h"

namespace paceline {
namespace {

using sim::LinkNumbers;

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

using training::CollectiveCall;

// With chunks of a round taken as equal, where the call has no root: ranks are alike then.
Result folded_evenly(ResolvedPoint point) {
  const auto& call = *call_of(point.program.operations.front());
  if (!collectives::has_root(call.collective)) {
    try {
      return simulate_folded(point, sim::Chunks::even);
    } catch (const sim::NotFolded&) {
    }
  }
  return sim::predict_folded(std::move(point));
}

sim::CallTime time_alone(const topology::Cluster& cluster, const CollectiveCall& call,
                         bool has_next) {
  ResolvedPoint one;
  one.cluster = cluster;
  one.fidelity = Fidelity::folded;
  ResolvedPoint in_a_row = cost::alone(one, call);
  if (has_next) in_a_row.program.add(training::Operation(in_a_row.program.operations.front()));
  const std::size_t count = in_a_row.program.operations.size();
  const Result result = folded_evenly(std::move(in_a_row));
  std::vector<Seconds> ends(count);
  for (const RankClass& members : result.trace.classes) {
    for (std::size_t i = 0; i < count; ++i) ends[i] = std::max(ends[i], members.intervals[i].end);
  }
  return {ends[0], has_next ? ends[0] - (ends[1] - ends[0]) : Seconds(0)};
}

// What a step computes for each byte of its calls.
Seconds compute_of_a_byte(const PreparedPoint& prepared) {
  double bytes = 0;
  for (const training::Operation& operation : prepared.point.program.operations) {
    if (const auto* call = call_of(operation)) bytes += static_cast<double>(call->size().value());
  }
  return bytes > 0 ? prepared.one_gpu_step / bytes : Seconds(0);
}

using cost::UniformStep;

constexpr AssumptionKind between_points{
    "{}: interpolated between simulated points of the sweep; within 0.5 % of a simulated one "
    "in the middle of them"};

bool are_alike(const std::vector<double>& slowdown) {
  return std::ranges::adjacent_find(slowdown, std::ranges::not_equal_to()) == slowdown.end();
}

// Whether all calls have a form: planned by the library's choice, or of a known time.
bool is_formed(const training::StepProgram& program) {
  return std::ranges::none_of(program.operations, [](const training::Operation& operation) {
    const CollectiveCall* call = call_of(operation);
    return call != nullptr && (call->is_untold || std::get_if<training::AutomaticCall>(&call->how));
  });
}

double log_of(const AxisValue& axis) { return std::log(std::get<double>(axis.value)); }

}  // namespace

bool is_of_links(const ScenarioFile::Axis& axis) {
  std::vector<double> values;
  for (const AxisValue& value : axis.values) {
    if (!number_of_axis(value)) return false;
    values.push_back(std::get<double>(value.value));
  }
  const auto is_sorted = [&](auto order) {
    return std::ranges::adjacent_find(values, std::not_fn(order)) == values.end();
  };
  return values.size() > 1 && (is_sorted(std::less()) || is_sorted(std::greater()));
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

CallForms::CallForms(const PreparedPoint& prepared, const sim::LinkNumbers& least,
                     const sim::LinkNumbers& most)
    : domain_{prepared.point.cluster, least, most, compute_of_a_byte(prepared), time_alone} {}

std::optional<sim::CallTime> CallForms::time(const CollectiveCall& call, const sim::LinkNumbers& at,
                                             bool waits) {
  const auto [plain, start] = sim::plain_call(call);
  Entry& entry = entry_of(plain);
  std::unique_lock lock(entry.mutex, std::defer_lock);
  if (waits) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return std::nullopt;
  }
  sim::CallTime found = entry.form.at(at);
  found.time += start;
  return found;
}

CallForms::Entry& CallForms::entry_of(const CollectiveCall& call) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(call);
  if (found != entries_.end()) return found->second;
  return entries_.try_emplace(call, domain_, call).first->second;
}

Correction::Correction(const std::vector<AxisValue>& first, const std::vector<AxisValue>& last,
                       const std::vector<bool>& is_of_links, std::vector<double> at_ends)
    : at_ends_(std::move(at_ends)) {
  for (std::size_t a = first.size(); a-- > 0;) {
    if (!is_of_links[a]) continue;
    axes_.push_back({a, log_of(first[a]), log_of(last[a])});
  }
}

double Correction::at(const std::vector<AxisValue>& axes) const {
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

GroupForm::GroupForm(const Scenario& scenario, const PreparedPoint& prepared, PointOutcome outcome,
                     std::shared_ptr<CallForms> calls, const uncertain::Belief& belief)
    : scenario_(scenario),
      prepared_(prepared),
      outcome_(std::move(outcome)),
      step_(prepared.point.program,
            prepared.point.slowdown.empty() ? 1.0 : prepared.point.slowdown.front()),
      links_(LinkNumbers::of(scenario.cluster)),
      forms_(std::move(calls)),
      belief_(is_input(prepared.place) ? unconditioned_belief() : belief) {
  find_kinds();
  plan_calls();
  const auto planned = library_->assumptions().sentences();
  for (std::string& sentence : prepared.assumptions.sentences()) {
    if (std::ranges::find(planned, sentence) == planned.end()) {
      assumptions_.push_back(std::move(sentence));
    }
  }
}

bool GroupForm::fits(const Scenario& scenario, const PreparedPoint& prepared) {
  const ResolvedPoint& point = prepared.point;
  return scenario.fidelity == Fidelity::folded && scenario.calibration.empty() &&
         !prepared.decided_by && point.jobs.empty() && point.cluster.servers == 0 &&
         are_alike(point.slowdown) && UniformStep::fits(point.program) && is_formed(point.program);
}

PointOutcome GroupForm::at(const std::vector<AxisValue>& axes) {
  go_to(axes);
  PointOutcome made = outcome_;
  made.axes = axes;
  made.take(prediction(correction_.at(axes)));
  return made;
}

void GroupForm::go_to(const std::vector<AxisValue>& axes) {
  numbers_at(links_, axes).give_to(scenario_.cluster);
  plan_calls();
}

void GroupForm::find_kinds() {
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
void GroupForm::plan_calls() {
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
void GroupForm::find_times(std::vector<Kind*> left) {
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

std::optional<cost::SideBySide> GroupForm::slowdown() const {
  if (kinds_.empty()) return std::nullopt;
  double bytes = 0;
  Seconds time;
  for (const Kind& kind : kinds_) {
    bytes += static_cast<double>(kind.times) * static_cast<double>(kind.call.size().value());
    time += kind.time * static_cast<double>(kind.times);
  }
  const double assumed =
      cost::assumed_slowdown(bytes, time, scenario_.cluster.ranks(), prepared_.device, channels_);
  return slowdown_of(prepared_.contention, assumed);
}

StepTotals GroupForm::totals(const UniformStep::Times& times) {
  step_.run(times, ran_.intervals);
  return totals_of(prepared_.point.program, ran_);
}

UniformStep::Times GroupForm::alone_times() const {
  UniformStep::Times alone = step_.alone();
  for (std::size_t i = 0; i < step_.calls().size(); ++i) {
    const Kind& kind = kinds_[kind_of_[i]];
    alone.work[step_.calls()[i]] = kind.time;
    alone.lead[step_.calls()[i]] = kind.lead;
  }
  return alone;
}

Prediction GroupForm::prediction(double correction) {
  Prediction made;
  const UniformStep::Times alone = alone_times();
  const auto beside = slowdown();
  const UniformStep::Times times = beside ? step_.contended(alone, *beside) : alone;
  made.totals_alone = totals(alone);
  made.totals = beside ? totals(times) : totals(alone);
  const std::vector<Seconds> overlapped = beside_calls();
  made.response = response_of(prepared_, made.totals.step, [&](std::span<const StepScale> scales) {
    return scaled(times, overlapped, scales);
  });
  give_bounds(prepared_, scenario_.cluster, call_times(times), made.response);
  made.belief = belief_;
  made.believed = belief_.of(made.response);
  if (!made.believed.is_as_described()) {
    made.totals = totals(scaled(times, overlapped, scale_of(prepared_, made.believed.values)));
  }
  const Seconds more = made.totals.step * (correction - 1);
  made.totals.step += more;
  for (Seconds* part : {&made.totals.communication, &made.totals.exposed_communication}) {
    *part = std::max(*part + more, Seconds(0));
  }
  made.interval = to_interval(made.totals.step, made.believed);
  made.assumptions = assumptions_;
  Assumptions here = library_->assumptions();
  here.add({between_points, "folded"});
  if (beside) say_slowdown(prepared_.contention, *beside, here);
  for (std::string& sentence : here.sentences()) made.assumptions.push_back(std::move(sentence));
  for (std::string& sentence : sentences_of(belief_, made)) {
    made.assumptions.push_back(std::move(sentence));
  }
  made.fidelity = Fidelity::folded;
  made.transfers = transfers_;
  return made;
}

cost::LeastTimes GroupForm::call_times(const UniformStep::Times& times) const {
  cost::LeastTimes sum;
  for (const training::OperationId id : step_.calls()) {
    const auto& call = *call_of(prepared_.point.program.operations[id]);
    (leaves_node(prepared_, call) ? sum.network : sum.node_links) += times.work[id];
  }
  return sum;
}

// Of the step that was followed last.
std::vector<Seconds> GroupForm::beside_calls() const {
  StepTrace trace;
  trace.classes.push_back(ran_);
  return time_beside_calls(prepared_.point.program, trace);
}

UniformStep::Variants GroupForm::variants(const UniformStep::Times& times,
                                          std::span<const Seconds> beside_calls,
                                          std::span<const Factors> factors) const {
  PACELINE_EXPECTS(factors.size() <= UniformStep::width);
  const auto& operations = prepared_.point.program.operations;
  UniformStep::Variants made;
  made.work.resize(operations.size());
  made.lead.resize(operations.size());
  for (std::size_t k = 0; k < factors.size(); ++k) {
    for (std::size_t id = 0; id < operations.size(); ++id) {
      made.work[id][k] =
          times.work[id] * factor_of(operations[id], factors[k].compute, factors[k].waits) +
          beside_calls[id] * factors[k].overlap_lost;
    }
    for (std::size_t i = 0; i < step_.calls().size(); ++i) {
      const training::OperationId id = step_.calls()[i];
      made.work[id][k] = (times.work[id] + times.held[id]) * factors[k].calls[kind_of_[i]];
      made.lead[id][k] = times.lead[id];
    }
  }
  return made;
}

GroupForm::Factors GroupForm::factors_of(const StepScale& scale) const {
  Factors factors{scale.compute, scale.waits};
  factors.overlap_lost = scale.overlap_lost;
  for (const Kind& kind : kinds_) {
    factors.calls.push_back(call_factor(prepared_, kind.call, scale));
  }
  return factors;
}

std::vector<Seconds> GroupForm::scaled(const UniformStep::Times& times,
                                       std::span<const Seconds> beside_calls,
                                       std::span<const StepScale> scales) const {
  std::vector<Seconds> made;
  for (std::size_t first = 0; first < scales.size(); first += UniformStep::width) {
    const auto some = scales.subspan(first, std::min(UniformStep::width, scales.size() - first));
    std::vector<Factors> factors;
    for (const StepScale& scale : some) factors.push_back(factors_of(scale));
    const auto steps = step_.steps(variants(times, beside_calls, factors));
    made.insert(made.end(), steps.begin(),
                steps.begin() + static_cast<std::ptrdiff_t>(some.size()));
  }
  return made;
}

UniformStep::Times GroupForm::scaled(const UniformStep::Times& times,
                                     std::span<const Seconds> beside_calls,
                                     const StepScale& scale) const {
  const Factors factors = factors_of(scale);
  UniformStep::Times made = times;
  const auto& operations = prepared_.point.program.operations;
  for (std::size_t id = 0; id < operations.size(); ++id) {
    made.work[id] = times.work[id] * factor_of(operations[id], factors.compute, factors.waits) +
                    beside_calls[id] * factors.overlap_lost;
  }
  for (std::size_t i = 0; i < step_.calls().size(); ++i) {
    const training::OperationId id = step_.calls()[i];
    made.work[id] = times.work[id] * factors.calls[kind_of_[i]];
    made.held[id] = times.held[id] * factors.calls[kind_of_[i]];
  }
  return made;
}

}  // namespace paceline
