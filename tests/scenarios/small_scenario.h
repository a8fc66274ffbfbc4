#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace paceline::test {

// Two nodes of two GPUs and two layers of round numbers; predicted without a simulation.
inline constexpr std::string_view small_scenario =
    R"(schema: paceline/1
name: two nodes
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 1ms, backward: 2ms, parameters: [1000, 20]}
    - {name: b, forward: 1ms, backward: 2ms, parameters: [3000]}
cluster:
  nodes: 2
  gpus_per_node: 2
  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}
  network: {bandwidth: 10Gbps, latency: 5us}
training: {strategy: bulk_synchronous, optimizer: {kind: sgd, time: 1ms}}
collective: {library: plan, algorithm: ring}
simulation: {fidelity: folded}
)";

// The text with the one place where `from` stands changed to `to`; an empty `from` appends.
inline std::string changed(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  if (from.empty()) return result.append(to);
  const auto place = result.find(from);
  if (place == std::string::npos || result.find(from, place + 1) != std::string::npos) {
    throw std::logic_error("a test changes a text that is not there once: " + std::string(from));
  }
  return result.replace(place, from.size(), to);
}

}  // namespace paceline::test
