// A point's step with its interval, and calls that a calibration knows.

#include "scenarios/predict/predict_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "scenarios/calibration/calibration.h"
#include "scenarios/errors.h"
#include "scenarios/predict/run_scenario.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace predict_point_test {

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

PointOutcome outcome_of(const std::vector<ScenarioFile::Setting>& settings) {
  const test::Folder folder;
  const auto file = ScenarioFile::read(folder.write("scenario.yaml", one_call), settings);
  auto outcomes = run_scenario(file, {});
  EXPECT_TRUE(outcomes.front().predicted) << outcomes.front().failure->why;
  return outcomes.front();
}

const std::string calibration =
    std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/calibrations/abci-v100.yaml";

using uncertain::Unknown;

double high_of(const PointOutcome& outcome, Unknown quantity) {
  return outcome.predicted->believed.highs[static_cast<std::size_t>(quantity)];
}
double low_of(const PointOutcome& outcome, Unknown quantity) {
  return outcome.predicted->believed.lows[static_cast<std::size_t>(quantity)];
}

// The step's logarithm where a part of it takes e^by as long, for each `by`.
double slope(double part, double step, double by) {
  return std::log1p(part / step * std::expm1(by)) / by;
}

// 100 ms of compute, one call, and nothing beside each other: compute is sure to 3 %, calls of
// eight nodes over RDMA to what its class, two doublings and a row have, and the wrapper of 32
// ranks has five doublings. Steps are looked at where compute is e^0.25 as long, and the network
// e^0.3 and e^1.
TEST(Interval, IsComposedOfWhatEachQuantityLeaves) {
  const PointOutcome one = outcome_of({{"ranks.spread", "0"}});
  const double step = one.predicted->totals.step.value();
  const double call = one.predicted->totals.communication.value();
  const uncertain::Priors& priors = uncertain::known_priors();
  constexpr double to_end = 2.131846786;  // of Student's with 4 degrees

  const double compute_slope = slope(step - call, step, 0.25);
  EXPECT_NEAR(high_of(one, Unknown::compute), std::log(1.03) * compute_slope, 1e-6);
  const double wrapper = std::hypot(priors.wrapper, priors.wrapper_by_doubling * std::sqrt(5));
  // A chord has what the tail adds at its end.
  const double end = 1.3 * wrapper, cube = std::pow(end / uncertain::rare_from, 3);
  const double longer = 1 + uncertain::rare_overhead * cube / (1 + cube) / end;
  EXPECT_NEAR(high_of(one, Unknown::wrapper), to_end * wrapper * longer * compute_slope, 1e-6);

  const double rdma = priors.links[static_cast<std::size_t>(uncertain::LinkClass::rdma)];
  const double more = priors.links_by_doubling * std::sqrt(2);
  const double network = rdma * std::hypot(1, more, priors.links_of_row);
  ASSERT_LT(1.3 * network, 0.3);  // a chord to the first place
  EXPECT_NEAR(high_of(one, Unknown::network), to_end * network * slope(call, step, 0.3), 1e-6);
  // 100 MB over eight nodes of 1 GB/s take 175 ms at least: moves down end there.
  const double most = std::log(call / 0.175), chord = 1.3 * network;
  const double moved = most * -std::expm1(-chord / most) / chord;
  EXPECT_NEAR(low_of(one, Unknown::network), -to_end * network * slope(call, step, -0.3) * moved,
              1e-6);
  EXPECT_EQ(high_of(one, Unknown::node_links), 0);  // all calls leave their node
  EXPECT_EQ(high_of(one, Unknown::overlap), 0);     // no compute is beside them

  const double high =
      std::hypot(std::hypot(high_of(one, Unknown::compute), high_of(one, Unknown::wrapper)),
                 high_of(one, Unknown::network), to_end * priors.row);
  EXPECT_NEAR(std::log(one.predicted->interval.high / one.predicted->totals.step), high, 1e-6);
  EXPECT_EQ(one.predicted->believed.widest(), Unknown::network);
}

// In one node: boxes that lie far apart, boxes that do not, and calls that were measured on one.
// Of several nodes no call stays in its node.
TEST(Interval, IsAsWideAsTheClassOfItsBox) {
  const auto in_box = [](const std::vector<ScenarioFile::Setting>& more) {
    std::vector<ScenarioFile::Setting> box{{"gpus", "4"},
                                           {"cluster.intra_node.kind", "pcie"},
                                           {"cluster.intra_node.bandwidth", "1GBps"}};
    box.insert(box.end(), more.begin(), more.end());
    return outcome_of(box);
  };
  const ScenarioFile::Setting of_class{"cluster.intra_node.box_spread", "2"};
  const PointOutcome alike = in_box({of_class});
  const PointOutcome unlike = in_box({{"cluster.intra_node.box_spread", "4"}});
  EXPECT_EQ(alike.predicted->totals.step, unlike.predicted->totals.step);
  // log 4 is twice log 2, and the more calls are of a step, the more they lengthen it.
  const double wider = high_of(unlike, Unknown::node_links) / high_of(alike, Unknown::node_links);
  EXPECT_GT(wider, 2);
  EXPECT_LT(wider, 2.3);
  EXPECT_EQ(alike.predicted->believed.widest(), Unknown::node_links);
  const PointOutcome measured = in_box({of_class, {"cluster.calibration", calibration}});
  EXPECT_LT(high_of(measured, Unknown::node_links), high_of(alike, Unknown::node_links) / 2);
  EXPECT_EQ(high_of(outcome_of({of_class}), Unknown::node_links), 0);
}

// Hosts of 25 Gb/s of one's own; where what they move was measured, the step is the same and surer.
// Where calls begin to take as long as compute, both must be shorter for a shorter step: the lower
// end is nearer to the median there, and both ends go on evenly all the same.
TEST(Interval, OfAShardedModelHasEndsThatGoOnEvenlyWithGpus) {
  constexpr const char* sharded = R"(
schema: paceline/1
name: sharded
cluster: {preset: aws-p4d-24xlarge}
workload: {model: llama-2-7b, device: a100-sxm4-40gb, batch_per_gpu: 1, precision: bf16, sequence: 4096, fused_attention: true}
training: {strategy: fsdp, wrap: blocks, optimizer: {kind: adam}, activation_checkpointing: blocks}
simulation: {fidelity: folded}
gpus: 256
)";
  const test::Folder folder;
  const std::string path = folder.write("scenario.yaml", sharded);
  std::optional<StepInterval> before;
  double gpus_before = 0;
  for (const int gpus : {400, 512, 640, 800, 1024, 1280, 1600, 2048}) {
    const auto file = ScenarioFile::read(path, {{"gpus", std::to_string(gpus)}});
    const StepInterval here = run_scenario(file, {}).front().predicted->interval;
    if (before) {
      // Other numbers of nodes have other trees and rings.
      constexpr double least = 0.97;
      const double most = gpus / gpus_before;
      for (const double longer : {here.low / before->low, here.high / before->high}) {
        EXPECT_GE(longer, least) << gpus;
        EXPECT_LE(longer, most) << gpus;
      }
    }
    before = here;
    gpus_before = gpus;
  }
}

TEST(Interval, IsNarrowerWhereHostsWereMeasured) {
  const std::vector<ScenarioFile::Setting> hosts{{"cluster.network.bandwidth", "25Gbps"},
                                                 {"cluster.network.transport", "tcp"},
                                                 {"cluster.network.provider", "own"}};
  const PointOutcome one = outcome_of(hosts);
  auto measured = hosts;
  measured.emplace_back("cluster.network.stream_bandwidth", "1.98GBps");
  const PointOutcome known = outcome_of(measured);
  const double step = one.predicted->totals.step.value();
  EXPECT_NEAR(known.predicted->totals.step.value(), step, 1e-9);
  EXPECT_LT(high_of(known, Unknown::network), high_of(one, Unknown::network) / 2);
  EXPECT_LT(known.predicted->interval.high, one.predicted->interval.high);
  EXPECT_GT(known.predicted->interval.low, one.predicted->interval.low);
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
  for (const char* fidelity : {"flow", "folded"}) {
    steps.push_back(outcome_of({{"cluster.calibration", calibration},
                                {"simulation.fidelity", fidelity},
                                {"ranks.jitter", "5%"}})
                        .predicted->totals.step.value());
  }
  EXPECT_NEAR(steps[0], steps[1], 1e-9);
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

}  // namespace predict_point_test
}  // namespace paceline
