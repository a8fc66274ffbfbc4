#include "scenarios/predict/link_forms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/contract.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/point_source.h"
#include "scenarios/predict/predict_point.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/resolve.h"
#include "sim/folded/predicted_point.h"

namespace paceline {
namespace {

using sim::LinkNumbers;

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

bool is_alike(const std::optional<cost::TcpRate>& one, const std::optional<cost::TcpRate>& other) {
  if (!one || !other) return !one && !other;
  return one->low == other->low && one->likely == other->likely && one->high == other->high;
}

}  // namespace

LinkForms::LinkForms(ScenarioFile file, bool force, uncertain::Belief belief, double part)
    : file_(std::move(file)), force_(force), belief_(std::move(belief)), preparer_(file_) {
  PACELINE_EXPECTS(part >= 0 && part <= 1);
  double points = part;
  for (const ScenarioFile::Axis& axis : file_.axes()) {
    const bool is_it = is_of_links(axis);
    is_of_links_.push_back(is_it);
    is_of_no_call_.push_back(is_it || axis.path == "training.bucket_cap");
    if (is_it) points *= static_cast<double>(axis.values.size());
  }
  const auto values = file_.values();
  const auto fidelity = values.find("simulation.fidelity");
  const bool may_be_folded = fidelity == values.end() || fidelity->second.text == "folded";
  are_enough_ = may_be_folded && points >= static_cast<double>(points_least);
}
LinkForms::~LinkForms() = default;

// The number of a point among those that are alike in these axes.
std::uint64_t LinkForms::number_without(const std::vector<bool>& axes, std::size_t point) const {
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

std::uint64_t LinkForms::groups_of(const ScenarioFile& file) {
  std::uint64_t groups = 1;
  for (const ScenarioFile::Axis& axis : file.axes()) {
    if (!is_of_links(axis)) groups *= axis.values.size();
  }
  return groups;
}

std::optional<std::uint64_t> LinkForms::group_of(std::size_t point) const {
  if (!are_enough_) return std::nullopt;
  return number_without(is_of_links_, point);
}

std::shared_ptr<LinkForms::Group> LinkForms::kept_group(std::uint64_t number) {
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

std::optional<PointOutcome> LinkForms::outcome(std::size_t point) {
  const auto number = group_of(point);
  if (!number) return std::nullopt;
  const std::shared_ptr<Group> group = kept_group(*number);
  std::unique_lock lock(group->mutex);
  if (!group->is_tried) {
    try {
      group->form = form_of(point);
    } catch (const InputError&) {
      // Each point says so by itself.
    } catch (const sim::NotSimulated&) {
    }
    group->is_tried = true;
  }
  if (!group->form) return std::nullopt;
  std::unique_ptr<GroupForm> copy;
  if (group->copies.empty()) {
    copy = std::make_unique<GroupForm>(*group->form);
  } else {
    copy = std::move(group->copies.back());
    group->copies.pop_back();
  }
  lock.unlock();
  std::optional<PointOutcome> made;
  try {
    made = copy->at(file_.axes_of(point));
    made->measured = file_.measured(point);
  } catch (const sim::NotSimulated&) {
    // Of a call that the library has here and not elsewhere: the point says so by itself.
  }
  lock.lock();
  group->copies.push_back(std::move(copy));
  return made;
}

std::optional<Prediction> LinkForms::simulated(std::size_t point) {
  std::shared_ptr<const PreparedPoint> prepared;
  {
    const std::lock_guard lock(mutex_);
    prepared = preparer_.prediction(point);
  }
  Predicted predicted = predict_point(prepared, belief_, simulation(force_));
  auto* made = std::get_if<Prediction>(&predicted);
  return made == nullptr ? std::nullopt : std::optional(std::move(*made));
}

std::shared_ptr<CallForms> LinkForms::calls_of(std::size_t point, const PreparedPoint& prepared,
                                               const LinkNumbers& least, const LinkNumbers& most) {
  const std::lock_guard lock(mutex_);
  auto& calls = calls_[number_without(is_of_no_call_, point)];
  if (!calls) calls = std::make_shared<CallForms>(prepared, least, most);
  return calls;
}

// Null where the points have none, or it is not near enough.
std::unique_ptr<GroupForm> LinkForms::form_of(std::size_t point) {
  const Anchors anchors = anchors_of(file_, is_of_links_, point);
  const std::size_t first = anchors.ends.front();
  LinkNumbers least, most;
  std::shared_ptr<const Scenario> scenario;
  std::shared_ptr<const PreparedPoint> prepared;
  {
    const std::lock_guard lock(mutex_);
    scenario = preparer_.scenario(first);
    refuse_too_many(scenario->cluster.ranks(), force_, {file_.path()});
    prepared = preparer_.prediction(first);
    least = most = LinkNumbers::of(scenario->cluster);
    for (const std::size_t one : anchors.ends) {
      // What hosts move through TCP is a part of its own of each bandwidth.
      const Scenario& end = *preparer_.scenario(one);
      if (!is_alike(end.tcp_rate, scenario->tcp_rate)) return nullptr;
      if (place_of(end).network != prepared->place.network) return nullptr;
      const LinkNumbers numbers = LinkNumbers::of(preparer_.scenario(one)->cluster);
      for (std::size_t n = 0; n < LinkNumbers::count; ++n) {
        least.values[n] = std::min(least.values[n], numbers.values[n]);
        most.values[n] = std::max(most.values[n], numbers.values[n]);
      }
    }
  }
  if (!GroupForm::fits(*scenario, *prepared)) return nullptr;
  auto form = std::make_unique<GroupForm>(*scenario, *prepared, outcome_of(file_, *prepared),
                                          calls_of(first, *prepared, least, most), belief_);
  // The logarithm of a simulated step over the form's.
  const auto apart = [&](std::size_t one) {
    const auto found = simulated(one);
    if (!found) throw sim::NotSimulated("a point at an end has no step", false);
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
