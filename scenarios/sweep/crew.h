#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/units/units.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/report/fields.h"

namespace paceline::sweep {

// What the store has of a point beside its key and its place in a grid.
struct Row {
  std::string axes;         // a JSON object: path to value, in SI units where it has one
  std::vector<Cell> cells;  // by point_columns()
  std::string cause;        // of a failure: "failed" or "refused"; empty: there is a prediction
  std::string assumed;      // a JSON list of sentences

  [[nodiscard]] bool is_done() const { return cause.empty(); }
};

// Of an outcome that was not stopped.
[[nodiscard]] Row row_of(const PointOutcome& outcome);

// A row as one text, and back: for other processes. Throws std::exception for what is none.
[[nodiscard]] std::string to_text(const Row& row);
[[nodiscard]] Row row_from(const std::string& text);

// Empty where it is no text.
[[nodiscard]] std::string text_in(const Cell& cell);

[[nodiscard]] const char* type_of(const PointColumn& column);
// The number of the column of that name. Precondition: there is one.
[[nodiscard]] std::size_t column_of(std::string_view name);

// A scenario file as a sweep reads it.
struct SweptFile {
  std::string path;
  std::vector<ScenarioFile::Setting> settings;
  std::string sha256;
  double part = 1;  // how many of its points are asked for, from 0 to 1

  // Throws BackendError where its text is another one by now.
  [[nodiscard]] ScenarioFile read() const;
};

struct Job {
  std::vector<SweptFile> files;
  bool force = false;
};

struct Task {
  std::uint32_t file = 0;   // of the job's
  std::uint64_t point = 0;  // of its grid
  friend auto operator<=>(const Task&, const Task&) = default;
};

struct Done {
  Task task;
  Row row;
};

// Who predicts the points of a sweep: threads of this process, or other processes.
class Crew {
 public:
  virtual ~Crew() = default;
  // How many more points it would take now.
  [[nodiscard]] virtual std::size_t wanted() = 0;
  virtual void give(std::span<const Task> tasks) = 0;
  // What is done by now; waits for the first so long. A task comes back at least once. Throws what
  // ended the crew: BackendError, Stopped.
  [[nodiscard]] virtual std::vector<Done> take(Seconds longest) = 0;
};

// `jobs`: threads of each process; 0: as many as the crew finds right.
using CrewMaker = std::function<std::unique_ptr<Crew>(const Job& job, std::size_t jobs)>;

// The crew of this process's threads; without `jobs`, one a core.
[[nodiscard]] std::unique_ptr<Crew> make_threads(const Job& job, std::size_t jobs);

// Makes the crews of this program: threads, unless it says otherwise before its first sweep.
[[nodiscard]] CrewMaker& crew_maker();

}  // namespace paceline::sweep
