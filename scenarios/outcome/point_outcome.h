#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/cost/contention.h"
#include "models/run/call_times.h"
#include "models/run/resolved_point.h"
#include "models/training/memory.h"
#include "models/uncertain/belief.h"
#include "scenarios/loader/scenario.h"
#include "scenarios/outcome/losses.h"

namespace paceline {

struct PreparedPoint;  // scenarios/prepare/resolve.h

// Why a point has no result: `refused` as input, `stopped` by scenarios/process/stop_request.h.
enum class FailureCause { failed, refused, stopped };

struct PointFailure {
  FailureCause cause = FailureCause::failed;
  std::string why;  // in one line
};

struct StepInterval {
  Seconds low, high;
};
// The 90 % interval around a step.
[[nodiscard]] StepInterval to_interval(Seconds step, const uncertain::Believed& believed);

// A step as its description alone has it, and how it moves as far as that may be wrong.
struct DescribedStep {
  Seconds step;
  uncertain::Response response;
  uncertain::Curve kernels;  // to what devices compute, beside what hosts take
};

// What was predicted of a point: all of one pass, the last.
struct Prediction {
  StepTotals totals;
  StepTrace trace;  // empty unless it is kept (RunOptions)
  Fidelity fidelity = Fidelity::folded;
  std::uint64_t transfers = 0;
  StepInterval interval;                                // of the step, 90 %
  uncertain::Response response;                         // to what the description leaves open
  uncertain::Belief belief{uncertain::known_priors()};  // of the machine and workload
  uncertain::Believed believed;                         // of that; the step has its values
  DescribedStep described;                              // response.place is as above
  // KnownRow::composed, where a row was measured; empty without the trace.
  std::function<double(const std::array<double, uncertain::quantities>& values)> composed;
  StepTotals totals_alone;  // simulated, before contention and belief
  std::vector<CallTimes> calls;
  Seconds compute_spread;  // call_times.h
  std::vector<std::string> assumptions;
  // With the trace: the point as its strategy decided last, before compute and collectives slow
  // each other down, and how much they do; nullopt: they do not.
  std::shared_ptr<const PreparedPoint> alone;
  std::optional<cost::SideBySide> contention;

  void drop_trace() {
    trace = {};
    alone = nullptr;
    composed = nullptr;
  }
};

// A folded prediction compared with SimGrid, which follows every transfer of the same step.
struct SimGridCheck {
  std::uint64_t gpus = 0, transfers = 0;  // no transfers: every call is known or calibrated
  std::string why_not;                    // empty: SimGrid simulated it
  StepTotals folded, flow;                // before contention and belief

  [[nodiscard]] bool is_done() const { return transfers > 0 && why_not.empty(); }
  // Whether step and communication are equal to a millionth.
  [[nodiscard]] bool agrees() const;
  // "SimGrid agrees at 8 GPUs"
  [[nodiscard]] std::string sentence() const;
};

// What a rank reduces in a step, with one group of ranks and in elements of one type.
struct Reduced {
  training::Group group{};
  std::string_view type;  // as scenarios spell it; empty: not known
  Bytes size;
  std::uint64_t calls = 0;
};

// What a run says of one point, measured beside predicted.
struct PointOutcome {
  std::vector<AxisValue> axes;
  std::uint32_t gpus = 1, nodes = 1;
  std::uint32_t servers = 0;  // machines beside the nodes
  Fidelity fidelity = Fidelity::folded;
  Seconds one_gpu_step;
  std::optional<Seconds> launches;  // by the host, of that step, where they bound it
  BytesPerSecond nic;               // that is described, of one NIC; its data sheet's
  double nic_efficiency = 1;        // the part of it that flows reach: hosts over TCP
  double samples_per_step = 0;
  PointSetup setup;
  std::vector<std::string> assumptions, remarks;  // remarks are among them
  // At most one of the two; neither of a point that is to be measured alone.
  std::optional<Prediction> predicted;
  std::optional<PointFailure> failure;
  std::optional<Losses> losses;       // of a prediction for several GPUs
  std::optional<SimGridCheck> check;  // of the run's cheapest point of several GPUs
  std::optional<training::GpuMemory> memory;
  std::optional<Bytes> device_memory;
  std::optional<MeasuredPoint> measured;
  std::optional<SamplesPerSecond> measured_one_gpu;  // of the point that differs in gpus only
  // Of a run on hardware (scenarios/measure/measure_scenario.h).
  std::optional<Result> measurement;
  std::vector<CallTimes> calls_measured;
  Seconds compute_spread_measured;
  std::vector<Seconds> steps_measured;  // also of a measurement that failed later
  std::optional<PointFailure> measure_failure;

  // By the calls that were predicted, or else measured.
  [[nodiscard]] std::vector<Reduced> reduced() const;
  // What it is called beside others of its sweep: "8 GPUs, cluster.network.latency=5us".
  [[nodiscard]] std::string name() const;
  // Why it has not all that was asked for; null: it has.
  [[nodiscard]] const PointFailure* missing() const;
  // False also where nobody tells the memory of the step.
  [[nodiscard]] bool is_too_large() const {
    return memory && device_memory && memory->total() > *device_memory;
  }
  void take(Prediction made);
  // Precondition of these: predicted.
  [[nodiscard]] Seconds step() const { return predicted->totals.step; }
  [[nodiscard]] Seconds step_low() const { return predicted->interval.low; }
  [[nodiscard]] Seconds step_high() const { return predicted->interval.high; }
  [[nodiscard]] Seconds exposed_communication() const {
    return predicted->totals.exposed_communication;
  }
  [[nodiscard]] SamplesPerSecond predicted_throughput() const;
  [[nodiscard]] SamplesPerSecond predicted_one_gpu() const;  // without a wrapper
  [[nodiscard]] double predicted_speedup() const;
  [[nodiscard]] std::optional<double> measured_speedup() const;
  // Per second; nullopt: samples have none.
  [[nodiscard]] std::optional<double> tokens_of(SamplesPerSecond throughput) const;
  // 100 x (predicted - measured) / measured of throughput.
  [[nodiscard]] std::optional<double> error_percent() const;
  // Whether the error tests the model: predicted, measured, several GPUs, not a known point.
  [[nodiscard]] bool counts() const;
};

// Gives every point what was measured on one GPU at the point that differs in gpus only.
void find_measured_one_gpu(std::vector<PointOutcome>& outcomes);

}  // namespace paceline
