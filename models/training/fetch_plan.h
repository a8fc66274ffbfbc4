#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "models/training/buckets.h"
#include "models/workload/checkpoints.h"

namespace paceline::training {

// How DeepSpeed's stage 3 was told to fetch, in elements of parameters.
struct FetchRule {
  ElementCount prefetch;   // stage3_prefetch_bucket_size; 0: nothing is fetched ahead
  ElementCount live;       // stage3_max_live_parameters
  ElementCount reuse;      // stage3_max_reuse_distance
  ElementCount threshold;  // stage3_param_persistence_threshold: no larger tensor is let go
};

enum class VisitKind { forward, recompute, backward };

// One run of a layer in a pass, or the beginning of the model's forward or backward. What it
// fetches are indices of the plan's fetches.
struct Visit {
  std::optional<std::size_t> layer;  // nullopt: the model, which has no parameters of its own
  VisitKind kind = VisitKind::forward;
  std::optional<std::size_t> own;    // fetched for it, as nothing before did
  std::optional<std::size_t> ahead;  // fetched behind that, for those that come after it
  std::vector<std::size_t> awaited;  // it has to wait for, and nothing before has
};

// A pass, forward and backward, of a model whose parameters are sharded.
struct FetchPlan {
  std::vector<Visit> visits;
  std::vector<Bucket> fetches;      // tensors that come at once, in registration order
  std::vector<bool> is_persistent;  // by tensor: on every rank throughout the pass
  Bytes live;                       // the most that is fetched at once, without padding
};

// What is fetched in a pass, and when, of layers each of which is a module in one that is the model
// (modules between them, which give it more occasions, are left out): DeepSpeed's coordinator
// (PartitionedParameterCoordinator.fetch_sub_module and release_sub_module,
// deepspeed/runtime/zero/partitioned_param_coordinator.py of deepspeedai/DeepSpeed at 00a31c99)
// once it has seen a pass (ZeRoTraceMode.COMPLETE).
// - A layer's parameters that are not there are fetched at once when it is to run.
// - Then those of the layers to come, in the order of their use, backward included, until so many
//   are on their way: prefetch, or what is left below live. The last one may take it above that.
//   One that is there, or on its way, is passed over.
// - When it has run a layer lets go of its parameters, but for those that were passed over for a
//   later use, or that come again within the next `reuse` elements (__params_to_release).
[[nodiscard]] FetchPlan plan_fetches(std::span<const workload::TimedLayer> layers,
                                     workload::Checkpoints checkpoints, const FetchRule& rule);

}  // namespace paceline::training
