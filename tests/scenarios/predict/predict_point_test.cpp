// Intervals of steps, and calls that a calibration knows.

#include "scenarios/predict/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "scenarios/calibration/calibration.h"
#include "scenarios/errors.h"
#include "scenarios/predict/run_scenario.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

// 100 ms of compute, then one all-reduce of 100 MB: nothing is hidden.
constexpr const char* one_call = R"(schema: paceline/1
name: one call
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers: [{name: a, forward: 30ms, backward: 70ms, parameters: [25000000]}]
cluster:
  nodes: 8
  gpus_per_node: 4
  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 1us}
  network: {bandwidth: 1GBps, latency: 10us}
training: {strategy: wait_free, optimizer: {time: 0ms}}
gpus: 32
)";

PointOutcome outcome_of(const std::vector<ScenarioFile::Setting>& settings,
                        const PredictionOptions& options = {}) {
  const test::Folder folder;
  const auto file = ScenarioFile::read(folder.write("scenario.yaml", one_call), settings);
  Preparer points(file, options);
  auto outcomes = run_scenario(points, {});
  EXPECT_TRUE(outcomes.front().predicted) << outcomes.front().failure->why;
  return outcomes.front();
}

const std::string calibration =
    std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/calibrations/abci-v100.yaml";

// Of a class of boxes all of the calls may be so many times as long, or as short, on top of what
// else is not known; what is of several nodes, or of one GPU each, is not in it.
TEST(Interval, IsAsWideAsTheClassOfItsBox) {
  const std::vector<ScenarioFile::Setting> box{{"gpus", "4"},
                                               {"ranks.spread", "0"},
                                               {"cluster.intra_node.kind", "pcie"},
                                               {"cluster.intra_node.bandwidth", "1GBps"}};
  auto of_class = box;
  of_class.push_back({"cluster.intra_node.box_spread", "2"});
  const PointOutcome known = outcome_of(box), unknown = outcome_of(of_class);
  const double step = known.predicted->totals.step.value();
  const double call = known.predicted->totals.communication.value();
  EXPECT_DOUBLE_EQ(unknown.predicted->totals.step.value(), step);
  EXPECT_NEAR(unknown.predicted->parts.links_high, std::log1p(call / step), 1e-6);
  EXPECT_NEAR(unknown.predicted->parts.links_low, std::log1p(-0.5 * call / step), 1e-6);
  EXPECT_EQ(known.predicted->parts.links_high, 0);
  EXPECT_GT(unknown.predicted->interval.high, known.predicted->interval.high);
  // Measured calls are the box's own.
  of_class.push_back({"cluster.calibration", calibration});
  EXPECT_EQ(outcome_of(of_class).predicted->parts.links_high, 0);
  EXPECT_EQ(outcome_of({{"cluster.intra_node.box_spread", "2"}}).predicted->parts.links_high, 0);
}

// The three parts of interval.h: compute, calls, the whole.
TEST(Interval, IsComposedOfItsParts) {
  const PointOutcome one = outcome_of({{"ranks.spread", "0"}}, {.call_uncertainty = 0.1});
  const double step = one.predicted->totals.step.value();
  const double call = one.predicted->totals.communication.value();
  const double compute = step - call;
  const auto part = [&](double more) { return std::log1p(more / step); };
  const double share = call / (0.1 + call);  // of it and one GPU's step
  const IntervalWidths& w = interval_widths;
  const double up = std::hypot(part(compute * 0.03), w.calls * part(call * 0.1),
                               w.slower + w.slower_by_share * share);
  EXPECT_NEAR(std::log(one.predicted->interval.high.value() / step), up, 1e-6);
  const double down =
      std::hypot(part(compute * (1 / 1.03 - 1)), w.calls * part(call * (1 / 1.1 - 1)),
                 w.faster + w.faster_by_share * share);
  EXPECT_NEAR(std::log(one.predicted->interval.low.value() / step), -down, 1e-6);
}

// Virtual hosts of 25 Gb/s move 0.58 GB/s, from 1 / 1.6 of it to 1.6 times: nothing else of the
// call is as slow, so that is what the call takes more and less. The factor's part counts whole.
TEST(Interval, HoldsWhatHostsMayMoveThroughTcp) {
  const std::vector<ScenarioFile::Setting> hosts{{"cluster.network.bandwidth", "25Gbps"},
                                                 {"cluster.network.transport", "tcp"},
                                                 {"cluster.network.provider", "azure"}};
  const PointOutcome one = outcome_of(hosts);
  const IntervalParts& parts = one.predicted->parts;
  const double step = one.predicted->totals.step.value();
  const double call = one.predicted->totals.communication.value();
  EXPECT_NEAR(parts.links_high, std::log1p(call * 0.6 / step), 1e-6);
  EXPECT_NEAR(parts.links_low, std::log1p(call * (1 / 1.6 - 1) / step), 1e-6);
  const StepEnds ends = ends_of(parts, interval_widths);
  EXPECT_EQ(ends.links_high, parts.links_high);
  EXPECT_GT(ends.high(), ends.links_high);

  auto measured = hosts;
  measured.emplace_back("cluster.network.stream_bandwidth", "0.58GBps");
  const PointOutcome known = outcome_of(measured);
  EXPECT_NEAR(known.predicted->totals.step.value(), step, 1e-9);
  EXPECT_EQ(known.predicted->parts.links_high, 0);
  EXPECT_LT(known.predicted->interval.high, one.predicted->interval.high);
}

TEST(Interval, OfOneGpuIsThatOfItsCompute) {
  const PointOutcome one = outcome_of({{"gpus", "1"}});
  const double step = one.predicted->totals.step.value();
  EXPECT_NEAR(one.predicted->interval.high.value() / step, 1.03, 1e-6);
  EXPECT_NEAR(one.predicted->interval.low.value() / step, 1 / 1.03, 1e-6);
}

TEST(Calibrated, CallsTakeWhatTheirFitSays) {
  const PointOutcome one = outcome_of({{"cluster.calibration", calibration}});
  const Calibration fit = read_calibration(calibration);
  const cost::CollectiveShape shape{collectives::Collective::all_reduce, 8, 4};
  const auto predicted = fit.find(shape.collective)->predict(shape, Bytes(100'000'000));
  EXPECT_NEAR(one.predicted->totals.communication.value(), predicted.time.value(), 1e-9);
  EXPECT_EQ(one.predicted->transfers, 0U);
  const auto said = [&](const std::string& text) {
    return std::any_of(one.assumptions.begin(), one.assumptions.end(),
                       [&](const std::string& all) { return all.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(said("extrapolated to this number of GPUs"));
}

// Whatever executes a step, calls of a known time take that time.
TEST(Calibrated, StepsAreTheSameInEveryFidelity) {
  std::vector<double> steps;
  for (const char* fidelity : {"flow", "folded", "closed"}) {
    steps.push_back(outcome_of({{"cluster.calibration", calibration},
                                {"simulation.fidelity", fidelity},
                                {"ranks.jitter", "5%"}})
                        .predicted->totals.step.value());
  }
  EXPECT_NEAR(steps[0], steps[1], 1e-9);
  EXPECT_NEAR(steps[0], steps[2], 1e-9);
}

// Logs are of one call alone.
TEST(Calibrated, CallsRunOneAtATime) {
  std::vector<double> steps;
  for (const char* in_flight : {"1", "2"}) {
    steps.push_back(outcome_of({{"cluster.calibration", calibration},
                                {"workload.layers",
                                 "[{name: a, forward: 1ms, backward: 1ms, "
                                 "parameters: [5000000, 5000000]}]"},
                                {"training.collectives_in_flight", in_flight}})
                        .predicted->totals.step.value());
  }
  EXPECT_EQ(steps[0], steps[1]);
}

TEST(Calibrated, AFileThatIsNotThereIsBadInput) {
  EXPECT_THROW((void)outcome_of({{"cluster.calibration", "absent.yaml"}}), InputError);
}

}  // namespace
}  // namespace paceline
