#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/uncertain/belief.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/prepare/preparer.h"
#include "scenarios/process/progress.h"

namespace paceline {

// Finds the point that SimGrid simulates, too: of those folded on several GPUs with calls to
// simulate, the one with the fewest transfers; without any, the first on several GPUs.
class CheapestPoint {
 public:
  void look_at(std::size_t number, const ResolvedPoint& point);
  [[nodiscard]] std::optional<std::size_t> point() const { return point_; }

 private:
  std::optional<std::size_t> point_;
  double transfers_ = std::numeric_limits<double>::infinity();
};

// Simulates the step of a folded point once more by SimGrid, in a thread of its own, where that has
// at most 50,000 transfers. Precondition: predicted, with its trace.
[[nodiscard]] std::future<SimGridCheck> checked_by_simgrid(const PointOutcome& outcome);

struct RunOptions {
  std::size_t jobs = 1;
  bool keep_traces = false;  // of every point; for timelines
  bool force = false;        // predict however many transfers it takes (simulate.h)
  // Follow each rank (ResolvedPoint::each_rank), and simulate the CheapestPoint in SimGrid, too.
  bool check = false;
  TellProgress progress;
  // Refuse a point that does not fit its GPU's memory, as its strategy would, before it is
  // simulated.
  bool only_if_it_fits = false;
  // Of the machine, in place of what the file's known points say of it; null: these.
  std::shared_ptr<const uncertain::Belief> belief = nullptr;
};

// Predicts every point of the grid, in its order. Points are all looked at before one is simulated:
// throws InputError, BackendError and Stopped then, and the first two as long as none is done.
// After that a point that fails or is refused, and those that a stop leaves, are outcomes without a
// prediction. Known points are predicted by themselves first, and say what is believed of all.
[[nodiscard]] std::vector<PointOutcome> run_scenario(Preparer& points, const RunOptions& options);
[[nodiscard]] std::vector<PointOutcome> run_scenario(const ScenarioFile& file,
                                                     const RunOptions& options);

// Every point of the grid, without a prediction and without what the file says was measured: for
// measure_scenario. Its assumptions are those of the compute.
[[nodiscard]] std::vector<PointOutcome> points_to_measure(Preparer& points);

// One of several compared scenarios: that its strategy refuses the step is an answer, no error.
struct Attempt {
  std::optional<PointOutcome> outcome;  // with a prediction; empty: refused
  std::string refusal;                  // why

  [[nodiscard]] bool is_too_large() const { return outcome && outcome->is_too_large(); }
};

// Predicts the one point of the scenario that `read` reads. Throws InputError, also where it has
// several points, BackendError where its executor fails, and Stopped. Tells no progress.
[[nodiscard]] Attempt attempt(const std::function<ScenarioFile()>& read, const RunOptions& options);

// "21.3GiB of 16.0GiB". Precondition: the memory of the step and of its device are known.
[[nodiscard]] std::string memory_text(const PointOutcome& outcome);

}  // namespace paceline
