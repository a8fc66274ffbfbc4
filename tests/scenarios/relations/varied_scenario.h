#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <sstream>
#include <string>

#include "scenarios/calibration/calibration.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/relations/random_scenario.h"
#include "tests/scenarios/relations/tried_scenario.h"

namespace paceline::test {

// A random scenario with what machines in use have beside: shipped networks and presets, logs.
[[nodiscard]] inline Values varied_scenario(std::uint64_t seed);

namespace drawn {

inline void model(Random& random, Values& values) {
  values.take_out_layers();
  for (const std::string& path : values.below("training.host.")) values.take_out(path);
  values.take_out("training.optimizer.time");
  values.set("workload.model", random.any({"resnet18", "resnet50", "resnet50", "vgg16", "bert-base",
                                           "bert-large", "gpt2", "gpt2-medium"}));
  values.set("workload.device", random.any({"v100-sxm2-16gb", "a100-sxm4-40gb", "h100-sxm5-80gb",
                                            "tesla-t4", "rtx-3090", "l40s", "p100-pcie-16gb"}));
  values.set("workload.precision", random.any({"fp32", "tf32", "amp", "amp", "bf16", "fp16"}));
  if (random.chance(0.3)) values.set("training.optimizer.kind", "adam");
}

inline void preset(Random& random, Values& values) {
  for (const std::string& path : values.below("cluster.")) values.take_out(path);
  values.set("cluster.preset",
             random.any({"dgx-a100", "dgx-h100", "aws-p4d-24xlarge", "aws-p3-16xlarge",
                         "aws-p5-48xlarge", "aws-g5-48xlarge", "dgx1-v100", "pcie-tree-8",
                         "pcie-tree-8-no-p2p", "rtx-3090-pcie-8", "rtx-a6000-pcie-8",
                         "azure-nd-a100-v4", "dgx-h100-superpod", "v100-pcie-4"}));
  values.set("gpus", random.any({"2", "4", "8", "16", "24"}));
}

inline void rarer(Random& random, Values& values) {
  if (values.has("cluster.network.nodes_per_leaf") && random.chance(0.3)) {
    values.set("cluster.network.rails", "true");
  }
  if (!values.has("cluster.network.transport")) {
    if (random.chance(0.15)) values.set("cluster.network.sharp", "true");
    if (random.chance(0.1)) values.set("cluster.network.transport", "efa");
  }
  if (values.is("cluster.intra_node.peer_to_peer", "false") && random.chance(0.5)) {
    values.set("cluster.intra_node.staging_bandwidth", random.spread(3, 40), "GBps");
  }
  if (values.is("training.strategy", "ddp") && random.chance(0.1)) {
    values.set("training.comm_hook", "powersgd");
  }
  if (random.chance(0.05)) values.set("other_jobs.count", "1");
}

// Sizes of a log of all-reduces whose busbw tends to a rate.
inline LogTable log_of(const cost::CollectiveShape& shape, double seconds_a_byte, double latency) {
  LogTable table;
  table.file = "log.csv";
  table.sha256 = "0a";
  table.shape = shape;
  for (std::uint64_t bytes = 1 << 12; bytes <= (1U << 28); bytes *= 4) {
    const double time = latency + static_cast<double>(bytes) * seconds_a_byte;
    table.samples.push_back({shape, Bytes(bytes), Seconds(time), 0.01});
  }
  return table;
}

}  // namespace drawn

inline Values varied_scenario(std::uint64_t seed) {
  Values values = random_scenario(seed);
  Random random(seed + (1ULL << 40));
  if (random.chance(0.35)) drawn::model(random, values);
  if (random.chance(0.2)) drawn::preset(random, values);
  drawn::rarer(random, values);
  values.set("simulation.fidelity", "folded");
  return values;
}

// The same on one GPU and up to four larger numbers of them, so that some may be known.
inline Values swept_scenario(std::uint64_t seed) {
  Values values = varied_scenario(seed);
  // Of a network of hundreds of gradients each row takes seconds to be learnt from.
  Random random(seed + (1ULL << 41));
  if (values.has("workload.model") && random.chance(0.8)) {
    values.set("workload.model", random.any({"resnet18", "vgg16"}));
  }
  const bool is_preset = values.has("cluster.preset");
  const auto in_node =
      is_preset ? 8U : static_cast<std::uint32_t>(values.number("cluster.gpus_per_node"));
  std::string gpus = "1";
  for (std::uint32_t count = 2; count <= 4 * in_node && count <= 16; count *= 2) {
    if (values.is("training.strategy", "data_parallel") && count > in_node) break;
    if (count <= in_node || count % in_node == 0) gpus += fmt::format(", {}", count);
  }
  values.take_out("gpus");
  values.set("sweep.gpus", "[" + gpus + "]");
  return values;
}

// A calibration of a log of all-reduces in the job, or on the first of its nodes alone, which take
// 1 to 4 times what their wires allow: `least` seconds of a gigabyte.
inline std::string calibration_of(Random& random, const topology::Cluster& logged, double least) {
  const cost::CollectiveShape shape{collectives::Collective::all_reduce, logged.nodes,
                                    logged.gpus_per_node};
  const double seconds_a_byte = least * random.spread(1, 4) / 1e9;
  std::ostringstream text;
  write_calibration(
      text, calibrate({drawn::log_of(shape, seconds_a_byte, random.spread(5e-6, 3e-4))}, {}));
  return text.str();
}

}  // namespace paceline::test
