#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/predict/group_form.h"
#include "scenarios/predict/link_forms.h"
#include "scenarios/sweep/sweep.h"

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

// A night's work of a core, where a point takes some milliseconds.
constexpr std::uint64_t points_unasked = 10'000'000;

// It is read once and again, by every process.
void expect_file(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown) || std::filesystem::is_regular_file(path, unknown)) {
    return;
  }
  throw InputError({path}, "is not a regular file, and a sweep reads it several times",
                   "write it to one");
}

SweptFile swept_file(const std::string& path, const Request& request) {
  expect_file(path);
  SweptFile swept{path, request.settings, ""};
  swept.sha256 =
      ScenarioFile::read(path, swept.settings, ScenarioFile::points_max_one_by_one).sha256();
  return swept;
}

Walk walk_of(const ScenarioFile& file, const Request& request) {
  std::vector<std::uint64_t> sizes;
  std::vector<bool> fast;  // points that have a form together one after the other
  for (const ScenarioFile::Axis& axis : file.axes()) {
    sizes.push_back(axis.values.size());
    fast.push_back(is_of_links(axis));
  }
  return request.sample ? Walk::sample(sizes, *request.sample, request.seed)
                        : Walk::of_all(sizes, fast);
}

// How many of a file's points are asked for while their group's form is kept, from 0 to 1.
double part_asked(const ScenarioFile& file, const Walk& walk, const Request& request) {
  if (request.sample && LinkForms::groups_of(file) > LinkForms::groups_kept) return 0;
  return static_cast<double>(walk.count()) / static_cast<double>(file.point_count()) /
         static_cast<double>(request.shard.of);
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

Grids read_grids(const Request& request) {
  files::expect_each_once(request.paths);
  Grids grids;
  std::uint64_t points = 0;
  for (const std::string& path : request.paths) {
    SweptFile swept = swept_file(path, request);
    ScenarioFile file = swept.read();
    const Walk walk = walk_of(file, request);
    swept.part = part_asked(file, walk, request);
    grids.push_back(std::make_unique<Grid>(std::move(swept), std::move(file), walk, points));
    points += walk.count();
    if (points / request.shard.of > points_unasked) {
      throw InputError({path},
                       fmt::format("makes {} points, more than the {} that are looked at", points,
                                   points_unasked),
                       "add --sample N to look at N of them, or --shard 1/n for a part");
    }
  }
  return grids;
}

Cursor::Cursor(const Grids& grids, const Shard& shard, bool as_numbered)
    : grids_(grids),
      shard_(shard),
      as_numbered_(as_numbered && shard.of == 1),
      at_(shard.number - 1) {}

std::uint64_t Cursor::points() const {
  const std::uint64_t all = grids_.back()->before + grids_.back()->walk.count();
  return (all + shard_.of - shard_.number) / shard_.of;
}

std::optional<Task> Cursor::next() {
  while (at_ >= grids_[file_]->before + grids_[file_]->walk.count()) {
    if (file_ + 1 == grids_.size()) return std::nullopt;
    ++file_;
  }
  const Walk& walk = grids_[file_]->walk;
  const std::uint64_t k = at_ - grids_[file_]->before;
  const Task task{file_, as_numbered_ ? walk.as_numbered().at(k) : walk.at(k)};
  at_ += shard_.of;
  return task;
}

}  // namespace paceline::sweep
