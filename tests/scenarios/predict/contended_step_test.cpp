// What contention makes of steps, in every fidelity.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "scenarios/errors.h"
#include "scenarios/predict/run_scenario.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace contended_step_test {

constexpr double ms = 1e-3;

// 25 MB over a link of 1 GB/s, beside a backward of 100 ms after the first layer's gradient.
constexpr const char* overlapped = R"(schema: paceline/1
name: overlapped
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: first, forward: 10ms, backward: 100ms}
    - {name: last, forward: 10ms, backward: 10ms, parameters: [6250000]}
cluster: {nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 1us}}
training: {strategy: wait_free, optimizer: {time: 0ms}}
collective: {library: plan, algorithm: ring}
gpus: 2
)";

PointOutcome outcome_of(const std::string& fidelity, const std::string& contention,
                        const std::string& of_calls = "1") {
  const test::Folder folder;
  const auto file = ScenarioFile::read(folder.write("scenario.yaml", overlapped),
                                       {{"simulation.fidelity", fidelity},
                                        {"contention", contention},
                                        {"call_contention", of_calls}});
  return run_scenario(file, {}).front();
}

// The call takes 25 ms, all of them beside the backward, which lasts 25 (1 - 1/2) ms longer.
TEST(Contention, LengthensAStepInEveryFidelity) {
  for (const char* fidelity : {"flow", "folded"}) {
    const double off = outcome_of(fidelity, "off").predicted->totals.step.value();
    const PointOutcome slowed = outcome_of(fidelity, "2");
    EXPECT_NEAR(slowed.predicted->totals.step.value() - off, 12.5 * ms, 0.01 * ms) << fidelity;
    EXPECT_EQ(std::count_if(slowed.assumptions.begin(), slowed.assumptions.end(),
                            [](const std::string& one) { return one.starts_with("contention: "); }),
              1);
  }
}

// The call of 25 ms has 100 ms of backward beside it, in which it does 20: 5 ms are left after it.
TEST(Contention, HoldsCallsUpInEveryFidelity) {
  for (const char* fidelity : {"flow", "folded"}) {
    const PointOutcome off = outcome_of(fidelity, "off");
    const PointOutcome held = outcome_of(fidelity, "off", "5");
    EXPECT_NEAR((held.predicted->totals.step - off.predicted->totals.step).value(), 5 * ms,
                0.01 * ms)
        << fidelity;
    EXPECT_NEAR(held.predicted->totals.exposed_communication.value(), 5 * ms, 0.01 * ms);
    EXPECT_EQ(held.predicted->totals_alone.communication, off.predicted->totals.communication);
    EXPECT_EQ(std::count(held.assumptions.begin(), held.assumptions.end(),
                         "contention: collectives run 5.00x slower while overlapped with compute"),
              1);
    EXPECT_LT(held.predicted->interval.low, held.predicted->totals.step);
    EXPECT_GT(held.predicted->interval.high, held.predicted->totals.step);
    // A call that is not all hidden any more makes the step as unsure as its links.
    EXPECT_GT(held.predicted->interval.high / held.predicted->totals.step,
              off.predicted->interval.high / off.predicted->totals.step);
  }
}

// 3 x 1 GB/s of 900 GB/s: 0.3 % of 25 ms. A plan has no channels.
TEST(Contention, IsAssumedByMemoryTraffic) {
  const double off = outcome_of("folded", "off").predicted->totals.step.value();
  const double assumed = outcome_of("folded", "assumed").predicted->totals.step.value();
  EXPECT_GT(assumed, off);
  EXPECT_NEAR(assumed - off, 25 * ms * 3 / 900, 0.02 * 25 * ms * 3 / 900);
}

// What is assumed above is 1 + 3 / 900, less two millionths of latency.
TEST(Contention, IsAssumedAndSoMuchMore) {
  const auto step = [](const char* contention) {
    return outcome_of("folded", contention).predicted->totals.step.value();
  };
  EXPECT_NEAR(step("assumed+0.1"), step("1.103333"), 1e-3 * ms);
  EXPECT_EQ(step("assumed+0"), step("assumed"));
  const auto said = outcome_of("folded", "assumed+0.1").assumptions;
  EXPECT_EQ(std::count(said.begin(), said.end(),
                       "contention: compute runs 1.10x slower while overlapped with a "
                       "collective, because of channels and memory traffic, and 0.1 more"),
            1);
}

TEST(Contention, RefusesOtherWords) {
  EXPECT_THROW((void)outcome_of("folded", "some"), InputError);
  EXPECT_THROW((void)outcome_of("folded", "0.5"), InputError);
}

}  // namespace contended_step_test
}  // namespace paceline
