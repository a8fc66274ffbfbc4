#include "models/folding/call_forms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/contract.h"

namespace paceline::folding {
namespace {

// Of a box: the high end of a number over the low one.
constexpr double widest = 100;

// A box that was cut so often is taken for right.
constexpr int cuts_max = 14;

// Of a number, for a slope: calls differ by whole elements and by rounding below it.
constexpr double slope_part = 2e-3;

// Sizes of which a chunk has fewer elements than this a rank: rounding to whole ones shows.
constexpr double elements_of_a_rank = 1000;

constexpr double size_bracket = 16;

}  // namespace

LinkNumbers LinkNumbers::of(const topology::Cluster& cluster) {
  const auto a_byte = [](BytesPerSecond rate) { return rate.value() > 0 ? 1 / rate.value() : 0; };
  return {{cluster.network.latency.value(), cluster.intra_node.latency.value(),
           a_byte(cluster.network.bandwidth), a_byte(cluster.intra_node.bandwidth)}};
}

void LinkNumbers::give_to(topology::Cluster& cluster) const {
  cluster.network.latency = Seconds(values[0]);
  cluster.intra_node.latency = Seconds(values[1]);
  if (values[2] > 0) cluster.network.bandwidth = BytesPerSecond(1 / values[2]);
  if (values[3] > 0) cluster.intra_node.bandwidth = BytesPerSecond(1 / values[3]);
}

LongestPath::LongestPath(Place least, Place most) : whole_{std::move(least), std::move(most)} {}

double LongestPath::Piece::at(const Place& place) const {
  double value = constant;
  for (std::size_t d = 0; d < place.size(); ++d) value += slopes[d] * place[d];
  return value;
}

double LongestPath::at(const Box& box, const Place& place) {
  double most = 0;
  for (const Piece& piece : box.pieces) most = std::max(most, piece.at(place));
  return most;
}

bool LongestPath::is_right(const Box& box, const Place& place, double true_value) {
  return std::abs(at(box, place) - true_value) <= right_within * true_value;
}

// The piece of a place, in place of those that are too large there.
void LongestPath::learn(Box& box, const Place& place, const Value& value) {
  const double here = value(place);
  if (is_right(box, place, here)) return;
  std::erase_if(box.pieces,
                [&](const Piece& piece) { return piece.at(place) > here * (1 + right_within); });
  Piece piece{here, {}};
  for (std::size_t d = 0; d < place.size(); ++d) {
    Place beside = place;
    // Into the box: at its border another piece may begin.
    const double step = place[d] * (place[d] < box.high[d] ? slope_part : -slope_part);
    beside[d] += step;
    piece.slopes.push_back((value(beside) - here) / step);
    piece.constant -= piece.slopes.back() * place[d];
  }
  box.pieces.push_back(std::move(piece));
}

void LongestPath::look_at(Box& box, const Value& value) {
  const std::size_t numbers = box.low.size();
  // In each number at either end and in the middle.
  std::vector<Place> places(1);
  std::vector<double> middles;
  for (std::size_t d = 0; d < numbers; ++d) {
    middles.push_back(std::sqrt(box.low[d] * box.high[d]));
    std::vector<Place> more;
    for (const double number : {middles[d], box.low[d], box.high[d]}) {
      for (const Place& place : places) more.emplace_back(place).push_back(number);
    }
    places = std::move(more);
  }
  for (const Place& place : places) learn(box, place, value);
  const bool is_right_everywhere = std::ranges::all_of(
      places, [&](const Place& place) { return is_right(box, place, value(place)); });
  const auto width = [&](std::size_t d) { return box.high[d] / box.low[d]; };
  for (std::size_t d = 1; d < numbers; ++d) {
    if (width(d) > width(box.cut)) box.cut = d;
  }
  const bool is_narrow = numbers == 0 || width(box.cut) <= widest;
  const bool is_done = (is_right_everywhere && is_narrow) || box.depth == cuts_max;
  box.state = is_done ? Box::State::right : Box::State::cut;
  if (is_done) return;
  box.parts.assign(2, Box{box.low, box.high, box.depth + 1, Box::State::new_, box.pieces});
  box.parts[0].high[box.cut] = box.parts[1].low[box.cut] = middles[box.cut];
}

double LongestPath::at(const Place& place, const Value& value) {
  Box* box = &whole_;
  while (true) {
    if (box->state == Box::State::new_) look_at(*box, value);
    if (box->state == Box::State::right) return at(*box, place);
    box = &box->parts[place[box->cut] > box->parts[0].high[box->cut] ? 1 : 0];
  }
}

CallForms::CallForms(topology::Cluster cluster, const LinkNumbers& least, const LinkNumbers& most,
                     Predict predict)
    : cluster_(std::move(cluster)),
      planner_(cluster_),
      least_(least),
      most_(most),
      predict_(std::move(predict)) {
  for (std::size_t n = 0; n < LinkNumbers::count; ++n) {
    PACELINE_EXPECTS(least.values[n] <= most.values[n]);
    if (least.values[n] != most.values[n]) differing_.push_back(n);
  }
}

CallForms::Predicted CallForms::time(training::CollectiveCall call, const LinkNumbers& at) {
  PACELINE_EXPECTS(call.simulated() != nullptr);
  // All ranks wait for it, whatever the links.
  const Seconds start =
      std::exchange(std::get<training::SimulatedCall>(call.how).wire.start, Seconds(0));
  const auto [entry, is_new] = by_call_.try_emplace(call);
  if (is_new) entry->second = &form_of(call);
  Form& form = *entry->second;
  const Place place = place_of(form, static_cast<double>(call.size().value()), at);
  const Seconds first(
      form.first.at(place, [&](const Place& one) { return simulate(form, one).time.value(); }));
  const Seconds next(form.next.at(place, [&](const Place& one) {
    const Predicted found = simulate(form, one);
    return (found.time - found.lead).value();
  }));
  return {start + first, first - next};
}

// Calls of one structure share one, where rounding to whole elements does not show.
CallForms::Form& CallForms::form_of(const training::CollectiveCall& call) {
  const double size = static_cast<double>(call.size().value());
  const int bracket = static_cast<int>(std::floor(std::log(size) / std::log(size_bracket)));
  const double low = std::pow(size_bracket, bracket), high = low * size_bracket;
  const auto sized = [&](double bytes) {
    training::CollectiveCall other = call;
    other.count = ElementCount(
        static_cast<std::uint64_t>(bytes / static_cast<double>(call.element_size.value())));
    return other;
  };
  const auto structure = [&](const training::CollectiveCall& one) {
    return structure_of(one, planner_.plan_of(one), Chunks::even);
  };
  const double elements = low / static_cast<double>(call.element_size.value());
  if (elements >= elements_of_a_rank * cluster_.ranks().value()) {
    const Structure own = structure(call);
    if (own == structure(sized(low)) && own == structure(sized(high))) {
      auto& brackets = by_structure_[own];
      const std::pair sizes(call.element_size, bracket);
      const auto known = brackets.find(sizes);
      if (known != brackets.end()) return known->second;
      return brackets.emplace(sizes, new_form(call, true, low, high)).first->second;
    }
  }
  return alone_.emplace(call, new_form(call, false, size, size)).first->second;
}

CallForms::Form CallForms::new_form(const training::CollectiveCall& call, bool has_size,
                                    double size_low, double size_high) const {
  Form form{call, has_size, {}, {{}, {}}, {{}, {}}};
  const Place low = place_of(form, size_low, least_), high = place_of(form, size_high, most_);
  form.first = LongestPath(low, high);
  form.next = LongestPath(low, high);
  return form;
}

CallForms::Place CallForms::place_of(const Form& form, double size, const LinkNumbers& at) const {
  Place place;
  for (const std::size_t n : differing_) {
    place.push_back(at.values[n] * (LinkNumbers::is_of_a_byte[n] ? size : 1));
  }
  if (form.has_size) place.push_back(size);
  return place;
}

CallForms::Predicted CallForms::simulate(Form& form, const Place& place) {
  const auto [entry, is_new] = form.known.try_emplace(place);
  if (!is_new) return entry->second;
  training::CollectiveCall call = form.call;
  if (form.has_size) {
    call.count = ElementCount(static_cast<std::uint64_t>(
        std::llround(place.back() / static_cast<double>(call.element_size.value()))));
  }
  const double size = static_cast<double>(call.size().value());
  LinkNumbers numbers = least_;
  for (std::size_t d = 0; d < differing_.size(); ++d) {
    const std::size_t n = differing_[d];
    numbers.values[n] = place[d] / (LinkNumbers::is_of_a_byte[n] ? size : 1);
  }
  topology::Cluster cluster = cluster_;
  numbers.give_to(cluster);
  ++simulated_;
  return entry->second = predict_(cluster, call);
}

}  // namespace paceline::folding
