#include "scenarios/sweep/walk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "models/contract.h"

namespace paceline::sweep {
namespace {

__extension__ typedef unsigned __int128 Wide;

// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t most) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31U)) % most;
  }

 private:
  std::uint64_t state_;
};

// Of the first points of a lattice, but for what all have in common. How far two points are apart
// depends on the difference of their numbers alone, and the product over axes on that.
double discrepancy(std::span<const std::uint64_t> sizes, std::uint64_t all, std::uint64_t step) {
  constexpr std::uint64_t points_max = 512;
  const std::uint64_t points = std::min(points_max, all);
  double sum = 0;
  for (std::uint64_t k = 1; k < points; ++k) {
    const auto number = static_cast<std::uint64_t>(Wide{k} * step % all);
    double product = 1;
    std::uint64_t period = all;  // of an axis's coordinate
    for (const std::uint64_t size : sizes) {
      if (size == 1) continue;
      const double x = static_cast<double>(number % period) / static_cast<double>(period);
      product *= 1.5 - x * (1 - x);
      period /= size;
    }
    sum += static_cast<double>(points - k) * product;
  }
  return sum;
}

}  // namespace

Walk Walk::of_all(std::span<const std::uint64_t> sizes, const std::vector<bool>& fast) {
  PACELINE_EXPECTS(sizes.size() == fast.size());
  std::vector<Axis> fast_ones, slow_ones;
  std::uint64_t stride = 1;
  for (std::size_t a = sizes.size(); a-- > 0;) {
    (fast[a] ? fast_ones : slow_ones).push_back({sizes[a], stride});
    stride *= sizes[a];
  }
  Walk walk(stride);
  walk.fastest_first_ = std::move(fast_ones);
  walk.fastest_first_.insert(walk.fastest_first_.end(), slow_ones.begin(), slow_ones.end());
  return walk;
}

Walk Walk::sample(std::span<const std::uint64_t> sizes, std::uint64_t count, std::uint64_t seed) {
  std::uint64_t all = 1;
  for (const std::uint64_t size : sizes) all *= size;
  PACELINE_EXPECTS(all > 0);
  Walk walk(all);
  walk.count_ = std::min(count, all);
  if (all < 3) return walk;
  Draws draws(seed);
  walk.start_ = draws.below(all);
  constexpr int tried = 32;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tried; ++i) {
    std::uint64_t step = 1 + draws.below(all - 1);
    while (std::gcd(step, all) != 1) step = step + 1 < all ? step + 1 : 1;
    const double found = discrepancy(sizes, all, step);
    if (found < least) {
      least = found;
      walk.step_ = step;
    }
  }
  return walk;
}

std::uint64_t Walk::at(std::uint64_t k) const {
  PACELINE_EXPECTS(k < count_);
  if (!fastest_first_.empty()) {
    std::uint64_t number = 0;
    for (const Axis& axis : fastest_first_) {
      number += k % axis.size * axis.stride;
      k /= axis.size;
    }
    return number;
  }
  return static_cast<std::uint64_t>((start_ + Wide{k} * step_) % all_);
}

}  // namespace paceline::sweep
