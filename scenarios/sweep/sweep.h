#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/process/progress.h"
#include "scenarios/sweep/crew.h"
#include "scenarios/sweep/store.h"

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

// A part of a sweep that others do the rest of: every `of`-th point, from the `number`-th on.
struct Shard {
  std::uint64_t number = 1, of = 1;
};

struct Request {
  std::vector<std::string> paths;
  std::vector<ScenarioFile::Setting> settings;
  std::optional<std::uint64_t> sample;  // so many of each file's points
  std::uint64_t seed = 1;               // of the sample
  Shard shard;
  bool force = false;
  std::size_t jobs = 0;  // 0: as the crew finds right
  TellProgress progress;
};

// A file's points, and those of them that are looked at.
struct Grid {
  SweptFile swept;
  ScenarioFile file;
  PointKeys keys;
  Walk walk;
  std::uint64_t before;  // points of the walks of earlier files

  Grid(SweptFile of, ScenarioFile read, const Walk& walked, std::uint64_t points_before)
      : swept(std::move(of)),
        file(std::move(read)),
        keys(file),
        walk(walked),
        before(points_before) {}
  Grid(const Grid&) = delete;  // keys know the file
  Grid& operator=(const Grid&) = delete;
};
using Grids = std::vector<std::unique_ptr<Grid>>;

// Reads a request's files. Throws InputError, also for more points than are looked at unasked.
[[nodiscard]] Grids read_grids(const Request& request);

// The points of all grids that a shard has, one after the other.
class Cursor {
 public:
  // `as_numbered`: in the order of the grids where it has all of them.
  Cursor(const Grids& grids, const Shard& shard, bool as_numbered = false);

  [[nodiscard]] std::uint64_t points() const;
  [[nodiscard]] std::optional<Task> next();

 private:
  const Grids& grids_;
  Shard shard_;
  bool as_numbered_;
  std::uint64_t at_;  // the point's place in all walks, one behind the other
  std::uint32_t file_ = 0;
};

struct Best {
  Task task;
  double throughput_per_s = 0, step_s = 0;
};

struct Summary {
  std::uint64_t asked = 0;  // of this shard
  std::uint64_t added = 0;  // to the store, with a prediction
  std::uint64_t known = 0;  // that had one
  std::uint64_t failed = 0, refused = 0;
  std::string first_failure;  // and the point it is of
  // By the number of GPUs, the highest throughput.
  std::map<std::int64_t, Best> best;
};

// Predicts what the store lacks and writes it there at least twice a second; only then a point
// counts. Throws BackendError and Stopped, once what is done is written and in the summary.
void predict(const Request& request, const Grids& grids, Store& store, Summary& summary);

// For people; and as JSON (paceline.sweep/1, STORE.md).
void write_summary(std::ostream& out, const Request& request, const Grids& grids,
                   const Summary& summary, const Store& store);
void write_summary_json(std::ostream& out, const Grids& grids, const Summary& summary,
                        const Store& store);

// All points that were asked for, in the order of the files and their grids, of a sample in its
// own: a header line, then a line a point. Throws InputError where a point has no row.
void write_csv(std::ostream& out, const Request& request, const Grids& grids, Store& store);

// Points as one JSON object, a column each field (schema paceline.points/1, STORE.md): those that
// were asked for, as write_csv lists them;
void write_points_json(std::ostream& out, const Request& request, const Grids& grids, Store& store);

// or all of a store, also of one that another version of Paceline wrote, in the order of its files
// and their grids. Throws InputError for what is no store, or is one of another schema.
void write_points_json(std::ostream& out, const std::string& store);

// Whether the file begins as one of SQLite does. False where it cannot be read.
[[nodiscard]] bool is_database(const std::string& path);

}  // namespace paceline::sweep
