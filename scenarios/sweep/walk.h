#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::sweep {

// Which points of a grid are looked at, and in which order: no point twice, and none is held.
//
// A sample is a rank-1 lattice (Korobov, 1959): the k-th point is number (start + k * step) modulo
// the grid's points, for a step that has no divisor in common with them. The coordinates of a
// number along each axis are linear in it, so that all are a lattice. The step is the one of 32
// drawn ones whose first points have the least wrap-around discrepancy (Hickernell, Lattice Rules:
// How Well Do They Measure Up?, 1998). A larger sample begins with a smaller one of the same seed.
class Walk {
 public:
  // All of them, in their order.
  explicit Walk(std::uint64_t points) : all_(points), count_(points) {}
  // All points of a grid of so many values along each axis, those of `fast` axes faster than
  // others; else, and in a point's number, the last one fastest.
  static Walk of_all(std::span<const std::uint64_t> sizes, const std::vector<bool>& fast);
  // Of a grid of so many values along each axis, the last one fastest; at most all points.
  static Walk sample(std::span<const std::uint64_t> sizes, std::uint64_t count, std::uint64_t seed);

  [[nodiscard]] std::uint64_t all() const { return all_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t at(std::uint64_t k) const;  // precondition: below count()
  // Its points in the order of their numbers, where these are all points; else as they are.
  [[nodiscard]] Walk as_numbered() const { return fastest_first_.empty() ? *this : Walk(all_); }

 private:
  std::uint64_t all_, count_;
  std::uint64_t start_ = 0, step_ = 1;
  struct Axis {
    std::uint64_t size, stride;
  };
  std::vector<Axis> fastest_first_;  // of an order that is not the numbers'
};

}  // namespace paceline::sweep
