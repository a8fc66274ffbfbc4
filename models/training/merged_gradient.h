#pragma once

#include <vector>

#include "models/training/buckets.h"
#include "models/training/strategy.h"

namespace paceline::training {

// The model by which gradients are merged: an all-reduce of M bytes takes startup + M / bandwidth.
struct MergeSettings {
  Seconds startup{500e-6};
  BytesPerSecond bandwidth{1e9};
};

// Groups tensors that are reduced together, in the order of their reduction: a gradient joins those
// before it when it comes within the startup that they would spend alone (Shi, Chu and Li, MG-WFBP,
// INFOCOM 2019, algorithm 1).
[[nodiscard]] std::vector<Bucket> merged_gradients(const workload::Workload& workload,
                                                   const MergeSettings& merge);

}  // namespace paceline::training
