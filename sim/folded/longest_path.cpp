#include "sim/folded/longest_path.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace paceline::sim {
namespace {

using Place = LongestPath::Place;
using Piece = LongestPath::Piece;

// A box cut so often for each number may be `slacks` times as far off, and is cut so often at most.
constexpr std::size_t cuts_right = 1, cuts_max = 2;
constexpr std::array<double, 2> slacks{2, 4};

// Of a number, for a slope.
constexpr double slope_part = 0.01;

// Of a box that is taken for convex: so many pieces at most, looked for so often.
constexpr std::size_t pieces_max = 6;
constexpr int passes_max = 3;

// A part of a value below which it is the same.
constexpr double same_within = 1e-9;

double largest(const std::vector<Piece>& pieces, const Place& place) {
  double most = 0;
  for (const Piece& piece : pieces) most = std::max(most, piece.at(place));
  return most;
}

// Calls it with each choice of `size` of the numbers below `count`, ascending.
template <class Take>
void each_choice(std::size_t count, std::size_t size, const Take& take) {
  std::vector<std::size_t> chosen(size);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  while (size <= count) {
    take(chosen);
    std::size_t i = size;
    while (i > 0 && chosen[i - 1] == count - size + i - 1) --i;
    if (i == 0) return;
    ++chosen[i - 1];
    for (; i < size; ++i) chosen[i] = chosen[i - 1] + 1;
  }
}

// The place where all the chosen ones are equal, in the free numbers of `place`.
std::optional<Place> meeting(const std::vector<Piece>& pieces,
                             const std::vector<std::size_t>& chosen,
                             const std::vector<std::size_t>& free, Place place) {
  const auto count = static_cast<Eigen::Index>(free.size());
  for (const std::size_t d : free) place[d] = 0;
  Eigen::MatrixXd slopes(count, count);
  Eigen::VectorXd apart(count);
  const Piece& first = pieces[chosen.front()];
  for (Eigen::Index row = 0; row < count; ++row) {
    const Piece& other = pieces[chosen[static_cast<std::size_t>(row) + 1]];
    for (Eigen::Index column = 0; column < count; ++column) {
      const std::size_t d = free[static_cast<std::size_t>(column)];
      slopes(row, column) = first.slopes[d] - other.slopes[d];
    }
    apart(row) = other.at(place) - first.at(place);
  }
  const Eigen::FullPivLU<Eigen::MatrixXd> solver(slopes);
  if (!solver.isInvertible()) return std::nullopt;
  const Eigen::VectorXd found = solver.solve(apart);
  for (Eigen::Index column = 0; column < count; ++column) {
    place[free[static_cast<std::size_t>(column)]] = found(column);
  }
  return place;
}

// Of one side of a box, where `free` numbers are not at an end of it.
void add_meetings(const std::vector<Piece>& pieces, const std::vector<std::size_t>& free,
                  const Place& side, const Place& low, const Place& high,
                  std::vector<Place>& places) {
  each_choice(pieces.size(), free.size() + 1, [&](const std::vector<std::size_t>& chosen) {
    const auto place = meeting(pieces, chosen, free, side);
    const auto is_inside = [&](std::size_t d) {
      return (*place)[d] > low[d] && (*place)[d] < high[d];
    };
    if (!place || !std::ranges::all_of(free, is_inside)) return;
    const double here = pieces[chosen.front()].at(*place);
    if (largest(pieces, *place) <= here * (1 + same_within)) places.push_back(*place);
  });
}

}  // namespace

// Sides are numbered in base 3 by number: at its low end, at its high end, free.
std::vector<Place> meeting_places(const std::vector<Piece>& pieces, const Place& low,
                                  const Place& high) {
  std::vector<Place> places;
  std::size_t sides = 1;
  for (std::size_t d = 0; d < low.size(); ++d) sides *= 3;
  for (std::size_t number = 0; number < sides; ++number) {
    Place side = low;
    std::vector<std::size_t> free;
    std::size_t left = number;
    for (std::size_t d = 0; d < low.size(); ++d, left /= 3) {
      if (left % 3 == 1) side[d] = high[d];
      if (left % 3 == 2) free.push_back(d);
    }
    if (free.empty()) {
      places.push_back(std::move(side));
    } else {
      add_meetings(pieces, free, side, low, high, places);
    }
  }
  return places;
}

LongestPath::LongestPath(Place least, Place most) : whole_{std::move(least), std::move(most)} {}

double LongestPath::Piece::at(const Place& place) const {
  double value = constant;
  for (std::size_t d = 0; d < place.size(); ++d) value += slopes[d] * place[d];
  return value;
}

double LongestPath::at(const Box& box, const Place& place) {
  if (box.state != Box::State::rough) return largest(box.pieces, place);
  const double between = between_values(box, place);
  return box.pieces.empty() ? between : std::min(between, largest(box.pieces, place));
}

double LongestPath::middle_of(const Box& box, std::size_t number) {
  return std::sqrt(box.low[number] * box.high[number]);
}

// In each number at the low end, in the middle and at the high end, the first number the fastest.
std::vector<Place> LongestPath::grid_of(const Box& box) {
  std::vector<Place> places(1);
  for (std::size_t d = 0; d < box.low.size(); ++d) {
    std::vector<Place> more;
    for (const double number : {box.low[d], middle_of(box, d), box.high[d]}) {
      for (const Place& place : places) more.emplace_back(place).push_back(number);
    }
    places = std::move(more);
  }
  return places;
}

double LongestPath::between_values(const Box& box, const Place& place) {
  const std::size_t numbers = place.size();
  std::size_t first = 0, stride = 1;  // of values around the place
  std::vector<double> parts;          // how far it is from them to the next
  std::vector<std::size_t> strides;
  for (std::size_t d = 0; d < numbers; ++d) {
    const double at = 2 * std::log(place[d] / box.low[d]) / std::log(box.high[d] / box.low[d]);
    const std::size_t half = at >= 1 ? 1 : 0;
    first += half * stride;
    parts.push_back(std::clamp(at - static_cast<double>(half), 0.0, 1.0));
    strides.push_back(stride);
    stride *= 3;
  }
  double sum = 0;
  for (std::size_t corner = 0; corner < std::size_t{1} << numbers; ++corner) {
    double weight = 1;
    std::size_t index = first;
    for (std::size_t d = 0; d < numbers; ++d) {
      const bool is_next = (corner >> d & 1) != 0;
      weight *= is_next ? parts[d] : 1 - parts[d];
      if (is_next) index += strides[d];
    }
    if (weight > 0) sum += weight * std::log(box.values[index]);
  }
  return std::exp(sum);
}

LongestPath::Piece LongestPath::piece_at(const Box& box, const Place& place, double here,
                                         const Value& value) {
  Piece piece{here, {}};
  for (std::size_t d = 0; d < place.size(); ++d) {
    Place beside = place;
    // Into the box: at its border another piece may begin.
    const double step = place[d] * (place[d] < box.high[d] ? slope_part : -slope_part);
    beside[d] += step;
    // No path is shorter over slower links.
    piece.slopes.push_back(std::max((value(beside).value - here) / step, 0.0));
    piece.constant -= piece.slopes.back() * place[d];
  }
  return piece;
}

// The piece of a place, in place of those that are too large there. Returns whether all was right.
bool LongestPath::learn(Box& box, const Place& place, const Value& value, double slack) {
  const Known here = value(place);
  const double within = here.within * slack;
  if (std::abs(largest(box.pieces, place) - here.value) <= within) return true;
  std::erase_if(box.pieces,
                [&](const Piece& piece) { return piece.at(place) > here.value + within; });
  box.pieces.push_back(piece_at(box, place, here.value, value));
  return false;
}

// Where pieces meet, and where other ones may be that nothing says of.
std::vector<Place> LongestPath::places_to_check(const Box& box) {
  std::vector<Place> places = meeting_places(box.pieces, box.low, box.high);
  Place& middle = places.emplace_back();
  for (std::size_t d = 0; d < box.low.size(); ++d) middle.push_back(middle_of(box, d));
  return places;
}

// Whether pieces learnt anew are right, within `slack` times what they may be off, in a convex box.
bool LongestPath::is_convex(Box& box, const Value& value, double slack) {
  box.pieces.clear();
  for (int pass = 0; pass < passes_max && box.pieces.size() <= pieces_max; ++pass) {
    bool is_right = true;
    for (const Place& place : places_to_check(box)) {
      is_right = learn(box, place, value, slack) && is_right;
    }
    if (is_right) return true;
  }
  return false;
}

void LongestPath::look_at(Box& box, const Value& value) {
  const std::size_t numbers = box.low.size();
  const auto is_right = [&](double slack) { return is_convex(box, value, slack); };
  const auto depth = static_cast<std::size_t>(box.depth);
  if (is_right(1) || (depth >= cuts_right * numbers && std::ranges::any_of(slacks, is_right))) {
    box.state = Box::State::right;
    return;
  }
  const auto width = [&](std::size_t d) { return box.high[d] / box.low[d]; };
  for (std::size_t d = 1; d < numbers; ++d) {
    if (width(d) > width(box.cut)) box.cut = d;
  }
  if (depth < cuts_max * numbers) {
    box.state = Box::State::cut;
    box.parts.assign(2, Box{box.low, box.high, box.depth + 1});
    box.parts[0].high[box.cut] = box.parts[1].low[box.cut] = middle_of(box, box.cut);
  } else {
    look_at_rough(box, value);
  }
}

// Lines between values lie above a bend; pieces that are above none of the values do not.
void LongestPath::look_at_rough(Box& box, const Value& value) {
  const std::vector<Place> places = grid_of(box);
  box.pieces.clear();
  box.values.clear();
  for (const Place& place : places) {
    box.values.push_back(value(place).value);
    box.pieces.push_back(piece_at(box, place, box.values.back(), value));
  }
  for (const Place& place : places) {
    const Known here = value(place);
    const double most = here.value + here.within * slacks.back();
    std::erase_if(box.pieces, [&](const Piece& piece) { return piece.at(place) > most; });
  }
  // Where a bend up follows on one down they are below some of the values: then they say nothing.
  const bool is_below = std::ranges::any_of(places, [&](const Place& place) {
    const Known here = value(place);
    return largest(box.pieces, place) < here.value - here.within * slacks.back();
  });
  if (is_below) box.pieces.clear();
  box.state = Box::State::rough;
}

double LongestPath::at(const Place& place, const Value& value) {
  Box* box = &whole_;
  while (true) {
    if (box->state == Box::State::new_) look_at(*box, value);
    if (box->state != Box::State::cut) return at(*box, place);
    box = &box->parts[place[box->cut] > box->parts[0].high[box->cut] ? 1 : 0];
  }
}

}  // namespace paceline::sim
