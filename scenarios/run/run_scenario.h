#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/run/call_times.h"
#include "scenarios/run/interval.h"
#include "scenarios/run/preparer.h"
#include "scenarios/run/progress.h"

namespace paceline {

// Why a point has no result: the machine failed, it was refused as input is, or the run was stopped
// (stop_request.h).
enum class FailureCause { failed, refused, stopped };

// What a run says of one point, measured beside predicted.
struct PointOutcome {
  std::vector<AxisValue> axes;
  std::uint32_t gpus = 1, nodes = 1;
  std::uint32_t servers = 0;  // machines beside the nodes
  Fidelity fidelity = Fidelity::flow;
  Seconds one_gpu_step;
  double samples_per_step = 0;
  std::vector<std::string> assumptions;
  std::optional<Result> predicted;            // empty when the executor failed, or was not asked
  std::string failure;                        // why it failed
  FailureCause cause = FailureCause::failed;  // of either failure
  std::optional<StepInterval> interval;       // of the predicted step, 90 %
  std::optional<IntervalParts> parts;         // that it is made of
  Seconds communication_alone;  // predicted, as if compute beside it did not slow it down
  std::vector<CallTimes> calls_predicted;
  Seconds compute_spread_predicted;  // call_times.h
  std::optional<training::GpuMemory> memory;
  std::optional<Bytes> device_memory;
  std::optional<MeasuredPoint> measured;
  std::optional<SamplesPerSecond> measured_one_gpu;  // of the point that differs in gpus only
  // Of a run on hardware (measure_scenario.h).
  std::optional<Result> measurement;
  std::vector<CallTimes> calls_measured;
  Seconds compute_spread_measured;
  std::vector<Seconds> steps_measured;  // also of a measurement that failed later
  std::string measure_failure;

  // What it is called beside others of its sweep: "8 GPUs, cluster.network.latency=5us".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool prediction_failed() const { return !predicted && !failure.empty(); }
  // Why it has not all that was asked for; empty: it has.
  [[nodiscard]] const std::string& why_failed() const {
    return prediction_failed() ? failure : measure_failure;
  }
  [[nodiscard]] SamplesPerSecond predicted_throughput() const;  // precondition: predicted
  [[nodiscard]] SamplesPerSecond predicted_one_gpu() const;     // without a wrapper
  [[nodiscard]] double predicted_speedup() const;               // precondition: predicted
  [[nodiscard]] std::optional<double> measured_speedup() const;
  // 100 x (predicted - measured) / measured of throughput.
  [[nodiscard]] std::optional<double> error_percent() const;
  // Whether the error says something of the model: predicted and measured, on more than one GPU,
  // and not a point that the scenario was fitted to.
  [[nodiscard]] bool counts() const;
};

struct RunOptions {
  std::size_t jobs = 1;
  bool keep_traces = false;  // of every point; for timelines
  bool force = false;        // predict however many transfers it takes (effort.h)
  TellProgress progress;
};

// Predicts every point of the grid, in its order. Points are all looked at before one is simulated:
// throws InputError, BackendError and Stopped then, and the first two as long as none is done.
// After that a point that fails or is refused, and those that a stop leaves, are outcomes without a
// prediction.
[[nodiscard]] std::vector<PointOutcome> run_scenario(Preparer& points, const RunOptions& options);
[[nodiscard]] std::vector<PointOutcome> run_scenario(const ScenarioFile& file,
                                                     const RunOptions& options);

// Every point of the grid, without a prediction and without what the file says was measured: for
// measure_scenario. Its assumptions are those of the compute.
[[nodiscard]] std::vector<PointOutcome> points_to_measure(Preparer& points);

// Gives every point what was measured on one GPU at the point that differs in gpus only.
void find_measured_one_gpu(std::vector<PointOutcome>& outcomes);

}  // namespace paceline
