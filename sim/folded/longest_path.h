#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace paceline::sim {

// Learns, from its values, a function that is the largest of several linear ones.
//
// The time of a collective call is such a function of its links' latencies and seconds per byte: a
// path through its transfers takes a sum of them, and the call takes as long as its longest path
// (max-plus linear; Baccelli et al., Synchronization and Linearity, 1992). The function is convex,
// so linear pieces that are right at the corners of a box, and wherever several of them meet, are
// right in all of it. Shared links can make it not convex: then the box is cut, and a small box may
// be several times as far off, or is interpolated between values, linearly in logarithms.
class LongestPath {
 public:
  using Place = std::vector<double>;  // each number above 0
  // A value, and how far off what is learnt may be.
  struct Known {
    double value, within;
  };
  using Value = std::function<Known(const Place&)>;

  // For places between these, in each number.
  LongestPath(Place least, Place most);

  // Calls `value` for values it needs, perhaps again for the same place.
  [[nodiscard]] double at(const Place& place, const Value& value);

  struct Piece {  // a linear function
    double constant;
    std::vector<double> slopes;

    [[nodiscard]] double at(const Place& place) const;
  };

 private:
  struct Box {
    Place low, high;
    int depth = 0;
    enum class State { new_, right, cut, rough } state = State::new_;
    std::vector<Piece> pieces = {};
    std::vector<double> values = {};  // of a rough one, at grid_of
    std::size_t cut = 0;              // the number that is cut
    std::vector<Box> parts = {};      // two, or none
  };

  [[nodiscard]] static double at(const Box& box, const Place& place);
  [[nodiscard]] static double between_values(const Box& box, const Place& place);
  [[nodiscard]] static double middle_of(const Box& box, std::size_t number);
  [[nodiscard]] static std::vector<Place> grid_of(const Box& box);
  [[nodiscard]] static std::vector<Place> places_to_check(const Box& box);
  [[nodiscard]] static Piece piece_at(const Box& box, const Place& place, double here,
                                      const Value& value);
  [[nodiscard]] static bool learn(Box& box, const Place& place, const Value& value, double slack);
  [[nodiscard]] static bool is_convex(Box& box, const Value& value, double slack);
  static void look_at(Box& box, const Value& value);
  static void look_at_rough(Box& box, const Value& value);

  Box whole_;
};

// Returns the corners of a box, and the places on its sides and in it where so many of the largest
// pieces are equal that they meet in a single place.
[[nodiscard]] std::vector<LongestPath::Place> meeting_places(
    const std::vector<LongestPath::Piece>& pieces, const LongestPath::Place& low,
    const LongestPath::Place& high);

}  // namespace paceline::sim
