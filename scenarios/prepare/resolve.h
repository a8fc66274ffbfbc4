#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/assumption.h"
#include "models/run/resolved_point.h"
#include "models/training/memory.h"
#include "models/uncertain/response.h"
#include "scenarios/calibration/calibration.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// Says which class of links the scenario's point depends on, and how sure its compute is.
[[nodiscard]] uncertain::Place place_of(const Scenario& scenario);

// The same, as if no figures of its links were measured.
[[nodiscard]] uncertain::Place described_place_of(const Scenario& scenario);
// The place of a described point on a machine whose file says `network: measured`, or does not.
[[nodiscard]] uncertain::Place said_place_of(uncertain::Place described, bool is_measured);

// A point that is ready for an executor, with all that reports and measurements need of it.
struct PreparedPoint {
  ResolvedPoint point;
  Seconds one_gpu_step;     // the plain model on one GPU, without a wrapper
  Seconds time_at_peak;     // workload::time_at_peak of one GPU's step; 0: not known
  double samples_per_step;  // of all ranks
  Seconds load = {};        // until a node's CPUs have its samples of a step; 0: at once
  PointSetup setup;
  Assumptions assumptions = {};
  RatioRange traced = {};  // what a replay's interval has at least: how much traced steps differ
  std::optional<Seconds> launches;  // of one GPU's step, where they bound it
  uncertain::Place place;           // among points of its machine
  // How the logarithm of compute on several GPUs moves with Unknown::host: what kernels do not hide
  // of longer hooks, and of shorter ones where the step has theirs.
  uncertain::Curve longer_hooks = {};
  bool is_measured = false;  // its file, or the command line, has a measured row of it
  Contention contention;
  double channels = 0;  // of its collectives, that contention counts
  workload::Device device;
  std::optional<training::GpuMemory> memory;  // of one GPU
  RealSettings real;
  // Prepares the point again for a strategy that decides by times, which are then those predicted.
  // Empty for other strategies. Any thread may call it.
  std::function<PreparedPoint(const StepTrace& predicted)> decided_by = nullptr;
};

// The purpose that the strategy builds a step for (models/training/strategy.h).
struct Occasion {
  training::Purpose purpose = training::Purpose::prediction;
  const training::EarlierStep* earlier = nullptr;
};

// Builds the step of the scenario's strategy (plain on one GPU) and plans its calls: with the times
// and links of a calibration, unless that is null.
[[nodiscard]] PreparedPoint resolve(const Scenario& scenario, std::uint64_t id,
                                    const Calibration* calibration, const Occasion& occasion = {});

// A point of a single call.
struct PreparedCall {
  ResolvedPoint point;
  std::string protocol;  // of the library that chose it, as that spells it; empty without one
};

struct PreparedCalls {
  std::vector<PreparedCall> calls;
  Assumptions assumptions;
};

// Plans calls, each a point of its own, as the scenario's library runs them on the scenario's
// cluster, without its calibration; or by an algorithm of the registry, or the one predicted to be
// the fastest (collectives::automatic), unless `algorithm` is empty. Points are numbered from 0.
[[nodiscard]] PreparedCalls prepare_calls(const Scenario& scenario,
                                          std::vector<training::CollectiveCall> calls,
                                          const std::string& algorithm);

// Plans each call of unknown time as the scenario's library runs it; says what was assumed.
void plan_calls(const Scenario& scenario, PreparedPoint& prepared);

// Gives automatic calls their algorithms by folded times, so that a prediction and a measurement
// take the same ones; says so among the assumptions.
void choose_automatic_calls(PreparedPoint& prepared);

}  // namespace paceline
