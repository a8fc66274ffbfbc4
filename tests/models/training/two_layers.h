#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/training/call_plan.h"
#include "models/training/strategy.h"
#include "tests/models/training/built_step.h"

namespace paceline::training {

// Layers of that many floats, whose kernels take no time worth counting. A megafloat is 4 MB.
inline workload::TimedLayer layer_of(const char* name, double forward_ms, double backward_ms,
                                     std::uint64_t floats) {
  return {name,
          Seconds(forward_ms * 1e-3),
          Seconds(backward_ms * 1e-3),
          {{std::string(name) + ".weight", ElementCount(floats), workload::DataType::float32}},
          {}};
}

inline workload::Workload workload_of(std::vector<workload::TimedLayer> layers) {
  workload::Workload workload;
  workload.layers = std::move(layers);
  workload.optimizer = Seconds(2e-3);
  workload.batch_per_gpu = 4;
  workload.device.memory_bandwidth = BytesPerSecond(1e24);
  workload.device.attained_memory = 1;
  return workload;
}

// a of 2 MB takes 1 + 1 ms, b of 4 MB takes 4 + 6 ms, the optimizer 2 ms.
inline workload::Workload two_layers() {
  return workload_of({layer_of("a", 1, 1, 500'000), layer_of("b", 4, 6, 1'000'000)});
}

// GPUs, each with a port of 1 GB/s without latency into its node's crossbar, and such a NIC.
inline ResolvedPoint point_of(const Strategy& strategy, const workload::Workload& workload,
                              const Told& told) {
  ResolvedPoint point;
  point.cluster = cluster_of(told);
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);
  point.cluster.network.bandwidth = BytesPerSecond(1e9);
  point.cluster.network.nics_per_node = told.ranks;
  point.program = with_algorithms_named(build(strategy, workload, told));
  for (const Operation& operation : point.program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr) continue;
    point.cluster.servers = std::max(point.cluster.servers, servers_of_root(point.cluster, *call));
  }
  return point;
}

}  // namespace paceline::training
