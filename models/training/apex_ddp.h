#pragma once

#include <span>
#include <vector>

#include "models/training/buckets.h"
#include "models/training/strategy.h"

namespace paceline::training {

// Assigns buckets as apex learns them in its first backward: gradients join the open bucket of
// their type as they become ready, from the last registered tensor to the first, and a bucket with
// `message_size` elements or more is closed. Returns buckets in the order in which they closed,
// then the open ones: fp16, fp32, fp64.
[[nodiscard]] std::vector<Bucket> apex_buckets(std::span<const workload::ParameterTensor> tensors,
                                               ElementCount message_size);

}  // namespace paceline::training
