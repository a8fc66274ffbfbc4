#include <algorithm>

#include "scenarios/loader/scenario.h"

namespace paceline {

PointSetup setup_of(const Scenario& scenario) {
  const topology::Cluster& cluster = scenario.cluster;
  const bool has_bf16 =
      std::ranges::any_of(training::gradient_tensors(scenario.workload), [&](const auto& one) {
        return type_on_wire(scenario.training, one.type) == DataType::bfloat16;
      });
  return {.workload = scenario.workload.name,
          .device = scenario.workload.device.name,
          .strategy = scenario.strategy->name,
          .precision = scenario.traced ? "" : to_text(scenario.precision),
          .half = scenario.traced ? ""
                  : has_bf16      ? "bf16"
                                  : "fp16",
          .batch_per_gpu = scenario.workload.batch_per_gpu,
          .passes = scenario.training.gradient_accumulation,
          .gpus_per_node = cluster.gpus_per_node,
          .nics_per_node = cluster.network.nics_per_node,
          .sequence = scenario.network ? scenario.network->sequence : 0,
          .intra_node = cluster.intra_node.kind,
          .transport = cluster.network.transport,
          .is_as_traced = is_as_traced(scenario)};
}

}  // namespace paceline
