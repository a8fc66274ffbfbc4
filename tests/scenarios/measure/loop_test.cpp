#include "scenarios/measure/loop.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/process.h"

namespace paceline {
namespace loop_test {

constexpr const char* steps = R"(schema: paceline/1
name: steps
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 5ms, backward: 10ms, parameters: [4096]}
    - {name: b, forward: 5ms, backward: 10ms, parameters: [2000000]}
cluster: {nodes: 6, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 20us, transport: tcp}}
training: {strategy: wait_free, optimizer: {time: 1ms}}
collective: {library: plan, algorithm: ring}
sweep: {gpus: [2, 3]}
)";

// Calls simulated on a network that the scenario does not have, as if they had been measured.
TEST(NetworkFit, FindsTheNetworkThatMadeTheCalls) {
  const test::Folder folder;
  const std::string path = folder.write("scenario.yaml", steps);
  const std::vector<ScenarioFile::Setting> truth{{"cluster.network.latency", "700us"},
                                                 {"cluster.network.bandwidth", "300MBps"}};
  RunOptions options;
  auto measured = run_scenario(ScenarioFile::read(path, truth), options);
  for (PointOutcome& outcome : measured) outcome.calls_measured = outcome.predicted->calls;
  const auto file = ScenarioFile::read(path, {});
  Preparer points(file);
  const NetworkFit fit = fit_network(points, options, measured);
  EXPECT_EQ(fit.section, "cluster.network");
  EXPECT_EQ(fit.calls, 4U);
  EXPECT_NEAR(fit.latency.value() / 700e-6, 1, 0.02);
  EXPECT_NEAR(fit.bandwidth.value() / 300e6, 1, 0.02);
  EXPECT_LT(fit.residual, 0.01);
}

}  // namespace loop_test
}  // namespace paceline
