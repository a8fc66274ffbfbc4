#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace paceline::sim {

// A function of some numbers that is the largest of several linear ones, learnt from its values.
//
// What a collective call takes is one in latencies and seconds a byte of links: a path through its
// transfers takes a sum of these, the call as long as its longest path (max-plus linear; Baccelli
// et al., Synchronization and Linearity, 1992). Such a function is convex. So where its largest
// linear ones are right at all places where several of them meet, and at the ends of a box of
// numbers, they are right in all of the box. A box where it is not convex, which shared links can
// make it, is cut; a small one may then be some times as far off, or has straight lines between its
// values, in their logarithms.
class LongestPath {
 public:
  using Place = std::vector<double>;  // each number above 0
  // What it is at a place, and how far from that it may be found.
  struct Known {
    double value, within;
  };
  using Value = std::function<Known(const Place&)>;

  // Between these places, in each number.
  LongestPath(Place least, Place most);

  // Asks `value` where it has to, the same place perhaps again.
  [[nodiscard]] double at(const Place& place, const Value& value);

  // A linear one of them.
  struct Piece {
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

// Where linear functions meet that are the largest of all there, so many that nothing but one place
// is left, on the sides of a box or in it.
[[nodiscard]] std::vector<LongestPath::Place> meeting_places(
    const std::vector<LongestPath::Piece>& pieces, const LongestPath::Place& low,
    const LongestPath::Place& high);

}  // namespace paceline::sim
