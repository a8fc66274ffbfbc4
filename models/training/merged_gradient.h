#pragma once

#include <vector>

#include "models/training/buckets.h"
#include "models/training/strategy.h"

namespace paceline::training {

// What merging reckons an all-reduce of M bytes to take: startup + M / bandwidth.
struct MergeSettings {
  Seconds startup{500e-6};
  BytesPerSecond bandwidth{1e9};
};

// Which tensors are reduced together, in the order of their reduction: a gradient joins the ones
// before it when it comes before what they would spend on starting alone (Shi, Chu and Li, MG-WFBP,
// INFOCOM 2019, algorithm 1).
[[nodiscard]] std::vector<Bucket> merged_gradients(const workload::Workload& workload,
                                                   const MergeSettings& merge);

// Those, each when its last gradient is ready.
extern const Strategy merged_gradient_strategy;

}  // namespace paceline::training
