#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "scenarios/document/section.h"

// The tables of a job's file, schema paceline.job/1.
namespace paceline::loader {

[[nodiscard]] std::span<const Key> job_file_keys();
[[nodiscard]] std::span<const Key> measured_on_keys();  // of an entry of its list
[[nodiscard]] std::span<const Key> nodes_keys();        // of limits.nodes as a map

// All but what replays traces.
[[nodiscard]] std::vector<std::string_view> strategies_of_jobs();

// A key of a scenario's section that a job says elsewhere.
struct SaidElsewhere {
  const char* key;
  const char* why;
  const char* hint;
};

inline constexpr std::array workload_elsewhere{
    SaidElsewhere{"batch_per_gpu", "is what a job looks for",
                  "write batch_per_gpu: {at_most: 256} beside workload"},
    SaidElsewhere{"input_rate", "is of a node, and machines differ",
                  "write input: {per_core: 120 samples/s} beside workload"},
    SaidElsewhere{"device", "is the machines'", "leave it out; limits.devices chooses some"},
    SaidElsewhere{"trace", "is of one device and batch, and a job looks for both",
                  "write model: resnet50"},
    SaidElsewhere{"single_gpu_throughput", "stands in measured_on, with its device and batch",
                  "write measured_on: [{device: v100-sxm2-16gb, batch: 256, throughput: ..}]"},
    SaidElsewhere{"single_gpu_batch", "stands in measured_on", "write it as batch there"},
    SaidElsewhere{"measured_on", "stands beside workload in a job", "write it there"},
};

inline constexpr std::array training_elsewhere{
    SaidElsewhere{"strategy", "is what a job looks for", "write strategies: [ddp] beside training"},
    SaidElsewhere{"bucket_cap", "is what a job looks for",
                  "write bucket_caps: [25MiB] beside training"},
    SaidElsewhere{"gradient_accumulation", "is what a job looks for",
                  "write gradient_accumulation: {at_most: 8} beside training"},
};

}  // namespace paceline::loader
