// What was measured here, on threads, calibrates: the whole way from `measure` to `calibrate`.

#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace calibrate_measured_test {

// Gradients of six sizes, 1 KiB to 1 MiB, each reduced by itself.
constexpr const char* six_sizes = R"(schema: paceline/1
name: six sizes
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 1ms, backward: 2ms, parameters: [256, 1024, 4096, 16384, 65536, 262144]}
cluster: {gpus_per_node: 3, intra_node: {kind: nvswitch, bandwidth: 1GBps, latency: 50us}}
training: {strategy: wait_free, optimizer: {time: 1ms}}
collective: {library: plan, algorithm: ring}
sweep: {gpus: [2, 3]}
real: {backend: memory, mode: plan, steps: 3, warmup: 2}
)";

TEST(CalibrateMeasured, TakesWhatMeasureWrote) {
  const Folder folder;
  const std::string scenario = folder.write("s.yaml", six_sizes);
  const Ended measured =
      paceline({"measure", scenario, "--json", "m.json", "--quiet"}, folder.path());
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const Ended made = paceline({"calibrate", "m.json", "-o", "c.yaml"}, folder.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("m.json  all_reduce      1             2     6     6        0"),
            std::string::npos)
      << made.out;
  const Ended run = paceline(
      {"run", scenario, "--assumptions", "--set", "cluster.calibration=c.yaml"}, folder.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("calibrated: all_reduce takes the times in the logs"), std::string::npos)
      << run.out;
}

}  // namespace calibrate_measured_test
}  // namespace paceline::test
