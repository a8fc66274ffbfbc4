#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/real/worker/programs/program.h"

namespace paceline::test {

// Steps of some 60 ms, that many a point. No wait is as long as its limit unless a test is about
// that.
inline std::string measured_scenario(const std::string& backend, const std::string& steps) {
  return R"(schema: paceline/1
name: measured
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: block, repeat: 4, forward: 5ms, backward: 10ms, parameters: [100000]}
cluster:
  nodes: 3
  gpus_per_node: 1
  network: {bandwidth: 1GBps, latency: 50us, transport: tcp}
training: {strategy: ddp, bucket_cap: 1MiB, torch_version: "1.13", optimizer: {time: 1ms}}
simulation: {fidelity: folded}
sweep: {gpus: [1, 2, 3]}
real: {backend: )" +
         backend + ", mode: plan, warmup: 2, timeout: 30s, steps: " + steps + "}\n";
}

// The command that measures it and writes `json`.
inline std::vector<std::string> measure_command(const std::string& scenario,
                                                const std::string& json) {
  return {PACELINE_BINARY, "run", scenario, "--measure", "--quiet", "--json", json};
}

}  // namespace paceline::test
