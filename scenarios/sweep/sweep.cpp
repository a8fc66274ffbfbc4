#include "scenarios/sweep/sweep.h"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/process/stop_request.h"

namespace paceline::sweep {
namespace {

using Clock = std::chrono::steady_clock;

// A batch is written when it is this old, or this large: what a power cut or a full disk costs.
constexpr std::chrono::milliseconds batch_age(500);
constexpr std::size_t batch_rows = 2000;
constexpr std::size_t looked_up_together = 256;
constexpr Seconds crew_has{0.05};  // until progress is told, and stops are seen

double number_in(const Row& row, std::string_view column) {
  const Cell& cell = row.cells[column_of(column)];
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  const auto* whole = std::get_if<std::int64_t>(&cell);
  return whole == nullptr ? 0 : static_cast<double>(*whole);
}

std::int64_t gpus_of(const Row& row) { return static_cast<std::int64_t>(number_in(row, "gpus")); }

class Sweep {
 public:
  Sweep(const Request& request, const Grids& grids, Store& store, Summary& summary)
      : request_(request), grids_(grids), store_(store), summary_(summary) {
    for (const auto& grid : grids_) scenarios_.push_back(store_.add(grid->file));
  }

  void run() {
    const ProgressEnd end(request_.progress);
    Job job{{}, request_.force};
    for (const auto& grid : grids_) job.files.push_back(grid->swept);
    const auto crew = crew_maker()(job, request_.jobs);
    Cursor cursor(grids_, request_.shard);
    summary_.asked = cursor.points();
    written_ = Clock::now();
    while (!all_seen_ || !given_.empty()) {
      try {
        StopRequest::check();
        feed(cursor, *crew);
        take(crew->take(given_.empty() ? Seconds(0) : crew_has));
      } catch (...) {
        write();
        throw;
      }
      if (is_batch_due()) write();
    }
    write();
  }

 private:
  struct Open {  // a point that is neither known nor written
    Task task;
    PointKey key;
  };

  // Of the next points of the grids those to predict; what is known already is counted.
  std::vector<Open> next_unknown(Cursor& cursor) {
    std::vector<Open> seen;
    while (seen.size() < looked_up_together) {
      const auto task = cursor.next();
      all_seen_ = !task;
      if (!task) break;
      seen.push_back({*task, grid_of(*task).keys.of(task->point)});
    }
    seen_ += seen.size();
    std::vector<PointKey> keys;
    for (const Open& one : seen) keys.push_back(one.key);
    const auto rows = store_.find_done(keys);
    std::vector<Open> unknown;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (rows[i]) {
        ++summary_.known;
        count(seen[i].task, *rows[i]);
      } else if (open_.insert(keys[i]).second) {
        unknown.push_back(seen[i]);
      } else {
        ++summary_.known;  // two files have it
      }
    }
    return unknown;
  }

  [[nodiscard]] bool is_batch_due() const {
    return Clock::now() - written_ >= batch_age || waiting_.size() >= batch_rows;
  }

  void feed(Cursor& cursor, Crew& crew) {
    while (!all_seen_ && !is_batch_due() && crew.wanted() > 0) {
      const std::vector<Open> unknown = next_unknown(cursor);
      std::vector<Task> tasks;
      for (const auto& [task, key] : unknown) {
        given_.emplace(task, key);
        tasks.push_back(task);
      }
      crew.give(tasks);
      StopRequest::check();
      tell();
    }
  }

  void take(std::vector<Done> done) {
    for (auto& [task, row] : done) {
      const auto given = given_.find(task);
      if (given == given_.end()) continue;
      waiting_.push_back({given->second, scenarios_[task.file], task.point, std::move(row)});
      waiting_tasks_.push_back(task);
      given_.erase(given);
      ++done_here_;
    }
  }

  // What is written counts.
  void write() {
    written_ = Clock::now();
    if (waiting_.empty()) return;
    const std::vector<bool> are_new = store_.write(waiting_);
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const Row& row = waiting_[i].row;
      open_.erase(waiting_[i].key);
      count(waiting_tasks_[i], row);
      if (row.is_done()) {
        // Another sweep may have been faster.
        ++(are_new[i] ? summary_.added : summary_.known);
        continue;
      }
      ++(row.cause == "refused" ? summary_.refused : summary_.failed);
      if (!summary_.first_failure.empty()) continue;
      std::string axes;
      for (const AxisValue& axis : grid_of(waiting_tasks_[i]).file.axes_of(waiting_[i].point)) {
        axes += fmt::format("{}{}={}", axes.empty() ? "" : ", ", axis.path, axis.text);
      }
      summary_.first_failure =
          (axes.empty() ? "" : axes + ": ") + text_in(row.cells[column_of("failure")]);
    }
    waiting_.clear();
    waiting_tasks_.clear();
    tell();
  }

  void count(const Task& task, const Row& row) {
    if (!row.is_done()) return;
    const double throughput = number_in(row, "predicted_throughput_per_s");
    Best& best = summary_.best[gpus_of(row)];
    // Of equal ones the first in the grid, whichever was done first.
    const bool is_better = throughput > best.throughput_per_s ||
                           (throughput == best.throughput_per_s && task < best.task);
    if (is_better) best = {task, throughput, number_in(row, "predicted_step_s")};
  }

  void tell() {
    if (!request_.progress) return;
    const std::uint64_t done = seen_ - given_.size() - waiting_.size();
    request_.progress({.done = done, .all = summary_.asked, .known = done - done_here_});
  }

  [[nodiscard]] const Grid& grid_of(const Task& task) const { return *grids_[task.file]; }

  const Request& request_;
  const Grids& grids_;
  Store& store_;
  Summary& summary_;
  bool all_seen_ = false;
  std::vector<std::int64_t> scenarios_;  // of the store, by file
  std::map<Task, PointKey> given_;       // to the crew
  std::set<PointKey> open_;              // given, or waiting to be written
  std::vector<PlacedRow> waiting_;
  std::vector<Task> waiting_tasks_;
  Clock::time_point written_;
  std::uint64_t seen_ = 0, done_here_ = 0;
};

}  // namespace

void predict(const Request& request, const Grids& grids, Store& store, Summary& summary) {
  Sweep(request, grids, store, summary).run();
}

}  // namespace paceline::sweep
