#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/units/units.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/sweep/row.h"

namespace paceline::sweep {

// A scenario file as a sweep reads it.
struct SweptFile {
  std::string path;
  std::vector<ScenarioFile::Setting> settings;
  std::string sha256;
  double part = 1;  // how many of its points are asked for, from 0 to 1

  // Throws BackendError where its text is another one by now.
  [[nodiscard]] ScenarioFile read() const;
};

// What all points of a sweep have in common.
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
