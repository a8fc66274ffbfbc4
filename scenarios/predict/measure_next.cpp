#include "scenarios/predict/measure_next.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/uncertain/learn.h"
#include "models/uncertain/next.h"

namespace paceline {
namespace {

using uncertain::Candidate;
using uncertain::Place;
using uncertain::Response;
using uncertain::Unknown;

struct Named {
  std::string what;
  Candidate candidate;
};

bool depends_on(const Prediction& predicted, Unknown quantity) {
  constexpr double much = 1;  // a factor of e
  return std::abs(predicted.response.at(quantity, much)) > 1e-3;
}

std::vector<const PointOutcome*> open_points(const std::vector<PointOutcome>& outcomes) {
  std::vector<const PointOutcome*> open;
  for (const PointOutcome& outcome : outcomes) {
    const bool is_known = outcome.measured && outcome.measured->known;
    if (outcome.predicted && !outcome.predicted->response.place.is_alone() && !is_known) {
      open.push_back(&outcome);
    }
  }
  return open;
}

// As --known takes them: "gpus=8,training.strategy=ddp,".
std::string axes_of(const PointOutcome& point) {
  if (point.axes.empty()) return fmt::format("gpus={},", point.gpus);
  std::string axes;
  for (const AxisValue& axis : point.axes) axes += fmt::format("{}={},", axis.path, axis.text);
  return axes;
}

// Of what a run's calls depend on, the links of its largest point.
class Candidates {
 public:
  explicit Candidates(const std::vector<const PointOutcome*>& points) : points_(points) {
    largest_ = *std::ranges::max_element(points, {}, &PointOutcome::gpus);
    add_one_gpu();
    add_logs();
    add_rows();
  }

  [[nodiscard]] const std::vector<Named>& all() const { return all_; }

 private:
  [[nodiscard]] const Place& place() const { return largest_->predicted->response.place; }
  [[nodiscard]] const uncertain::Priors& priors() const {
    return largest_->predicted->belief.priors();
  }
  [[nodiscard]] bool any_depends_on(Unknown quantity) const {
    return std::ranges::any_of(
        points_, [&](const PointOutcome* one) { return depends_on(*one->predicted, quantity); });
  }

  void add_one_gpu() {
    Place alone = place();
    alone.log2_ranks = alone.log2_gpus_per_node = alone.log2_nodes = 0;
    all_.push_back({"a step of one GPU alone (workload.single_gpu_throughput)",
                    {{response_of_itself(alone, Unknown::compute), 0, priors().row}, 1}});
  }

  // Calls by themselves tell of those in a step within what links that were measured are off by.
  void add_logs() {
    const double left = priors().links[static_cast<std::size_t>(uncertain::LinkClass::measured)];
    const std::uint32_t per_node = largest_->gpus / largest_->nodes;
    if (any_depends_on(Unknown::node_links)) {
      Place node = place();
      node.log2_nodes = 0;
      all_.push_back({"all_reduce_perf of 100 MB in a node (cluster.calibration)",
                      {{response_of_itself(node, Unknown::node_links), 0, left}, 1.0 * per_node}});
    }
    if (any_depends_on(Unknown::network)) {
      Place two = place();
      two.log2_nodes = 1;
      all_.push_back({"all_reduce_perf of 100 MB between two nodes (cluster.calibration)",
                      {{response_of_itself(two, Unknown::network), 0, left}, 2.0 * per_node}});
    }
  }

  void add_rows() {
    std::vector<Place> places;
    for (const PointOutcome* one : points_) places.push_back(one->predicted->response.place);
    for (const std::size_t i : uncertain::smallest_rows(places, 2)) {
      const PointOutcome& point = *points_[i];
      all_.push_back({fmt::format("a minute of {} (--known \"{}throughput=...\")", point.name(),
                                  axes_of(point)),
                      {{point.predicted->response}, 1.0 * point.gpus}});
    }
  }

  std::vector<const PointOutcome*> points_;
  const PointOutcome* largest_ = nullptr;
  std::vector<Named> all_;
};

double width_of(const PointOutcome& outcome) {
  return outcome.predicted->believed.high - outcome.predicted->believed.low;
}

const PointOutcome* widest_point(const std::vector<const PointOutcome*>& points) {
  return *std::ranges::max_element(points, {},
                                   [](const PointOutcome* one) { return width_of(*one); });
}

std::string class_in_words(const Place& place, Unknown quantity) {
  if (quantity == Unknown::node_links) return fmt::format(" ({})", to_text(place.node));
  if (quantity == Unknown::network) return fmt::format(" ({})", to_text(place.network));
  return "";
}

std::string widest_of(const Prediction& predicted) {
  const auto widest = predicted.believed.widest();
  if (!widest) return "what no quantity explains";
  return std::string(to_text(*widest)) + class_in_words(predicted.response.place, *widest);
}

std::string percent_of(double logarithm) {
  return fmt::format("{:+.0f}%", 100 * std::expm1(logarithm));
}

}  // namespace

std::optional<std::string> widest_in_words(const std::vector<PointOutcome>& outcomes) {
  const auto points = open_points(outcomes);
  if (points.empty()) return std::nullopt;
  const PointOutcome& widest = *widest_point(points);
  return fmt::format("{}, because of {}", widest.name(), widest_of(*widest.predicted));
}

std::optional<ProposedMeasurement> propose_measurement(const std::vector<PointOutcome>& outcomes) {
  const auto points = open_points(outcomes);
  if (points.empty()) return std::nullopt;
  const std::vector<Named> named = Candidates(points).all();
  std::vector<Candidate> candidates;
  for (const Named& one : named) candidates.push_back(one.candidate);
  std::vector<Response> targets;
  for (const PointOutcome* one : points) targets.push_back(one->predicted->response);
  const uncertain::Belief& belief = points.front()->predicted->belief;
  const auto next = uncertain::next_measurement(belief, candidates, targets);
  if (!next) return std::nullopt;
  const PointOutcome& widest = *widest_point(points);
  const uncertain::Believed after = uncertain::believed_after(
      belief, candidates[next->candidate].row, widest.predicted->response);
  return ProposedMeasurement{named[next->candidate].what, next->narrowed_to,
                             static_cast<std::size_t>(&widest - outcomes.data()), after.low,
                             after.high};
}

Sureness sureness_in_words(const std::vector<PointOutcome>& outcomes) {
  Sureness found;
  if (const auto widest = widest_in_words(outcomes)) found.widest = "widest interval: " + *widest;
  if (const auto next = propose_measurement(outcomes)) {
    const uncertain::Believed& now = outcomes[next->of].predicted->believed;
    found.next = fmt::format(
        "measure next: {}; intervals would shrink to {:.0f}% of their width, that of {} from {} {} "
        "to {} {}",
        next->what, 100 * next->narrowed_to, outcomes[next->of].name(), percent_of(now.low),
        percent_of(now.high), percent_of(next->low), percent_of(next->high));
  }
  return found;
}

}  // namespace paceline
