#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/predict/link_axes.h"
#include "scenarios/predict/link_forms.h"
#include "scenarios/sweep/sweep.h"

namespace paceline::sweep {
namespace {

// A night's work of a core, where a point takes some milliseconds.
constexpr std::uint64_t points_unasked = 10'000'000;

// It is read once and again, by every process.
void expect_file(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown) || std::filesystem::is_regular_file(path, unknown)) {
    return;
  }
  throw InputError({path, 0, 0}, "is not a regular file, and a sweep reads it several times",
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
      throw InputError({path, 0, 0},
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
