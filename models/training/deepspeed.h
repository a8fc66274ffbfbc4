#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "models/assumption.h"
#include "models/training/buckets.h"
#include "models/training/step_builder.h"
#include "models/training/strategy.h"
#include "models/workload/checkpoints.h"

namespace paceline::training {

// What DeepSpeed's stages of ZeRO share.

inline constexpr AssumptionKind zero_without_norm{
    "{}: overflow checks and the gradient norm are assumed to take no time"};

// How DeepSpeed was configured: zero_optimization of its file.
struct ZeroSettings {
  std::uint64_t stage;
  ElementCount bucket_size;
  bool overlaps, is_contiguous, reduces_to_owners, owners_share_calls;
};

// Of the keys of deepspeed_zero_strategy.
[[nodiscard]] ZeroSettings zero_settings(const settings::Settings& settings);

// The most elements of a type in one bucket.
[[nodiscard]] ElementCount fullest_bucket(const ZeroSettings& zero,
                                          std::span<const workload::ParameterTensor> tensors,
                                          workload::DataType type);

// Gradients of one type collect in a bucket, each copied there with contiguous_gradients if it
// fits; before one that would take it above bucket_size elements `reduce` takes it
// (reduce_independent_p_g_buckets_and_remove_grads of stage_1_and_2.py and of stage3.py).
class ZeroBuckets {
 public:
  using Reduce = std::function<void(const Bucket&)>;
  // All outlive it.
  ZeroBuckets(StepBuilder& step, const ZeroSettings& zero, Reduce reduce)
      : step_(step), zero_(zero), reduce_(std::move(reduce)) {}

  // By its index in registration order.
  void collect(std::size_t tensor);
  // Of a layer's gradients, the last first, as they come.
  void collect_layer(const workload::TimedLayer& layer, std::size_t first_tensor);
  // Reduces what is left.
  void flush();

 private:
  StepBuilder& step_;
  const ZeroSettings& zero_;
  Reduce reduce_;
  struct Open {
    Bucket tensors;
    ElementCount count;
  };
  std::map<workload::DataType, Open> open_;
};

// How DeepSpeed's stage 3 was told to fetch, in elements of parameters.
struct FetchRule {
  ElementCount prefetch;   // stage3_prefetch_bucket_size; 0: nothing is fetched ahead
  ElementCount live;       // stage3_max_live_parameters
  ElementCount reuse;      // stage3_max_reuse_distance
  ElementCount threshold;  // stage3_param_persistence_threshold: no larger tensor is let go
};

enum class VisitKind { forward, recompute, backward };

// One run of a layer in a pass, or the beginning of a model's; with indices of the plan's fetches.
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

// ZeRO's stage 3 as DeepSpeed has it: of each parameter, its gradient and its optimizer's states
// every rank keeps 1/n, padded to a multiple of the ranks. deepspeed/runtime/zero/stage3.py at
// 007cca6a of deepspeedai/DeepSpeed, partition_parameters.py at 0031ae39, parameter_offload.py at
// 042b847a, config.py at 1b88ac36; runtime/comm/coalesced_collectives.py at 17b3b557.
// - A layer is a module; plan_fetches says what is gathered for it and ahead of it. What comes at
//   once is one all-gather a type (all_gather_coalesced); of several tensors it is copied out of
//   their common array when the first of them is waited for.
// - A layer's calls are issued when what is before it has computed: the host keeps step. Without
//   overlap_comm that is so, as they are in the stream of compute; with it a host that runs ahead
//   would have more gathered than stage3_max_live_parameters, which it counts as it issues.
// - All calls are on the one communication stream of their process group, in the order of issue.
// - Tensors of stage3_param_persistence_threshold elements or fewer are whole on every rank. After
//   the optimizer each is all-gathered by a call of its own (_post_step).
// - Gradients collect in buckets as in stage 2. A bucket is copied into one array in the order of
//   ranks, its tensors padded, divided and reduce-scattered (reduce_scatter_coalesced; one tensor
//   that needs no padding is not copied); with reduce_scatter: false, contiguous_gradients and
//   tensors that fit in the buffer it is divided and all-reduced where it is. Then the shard is
//   copied or, in passes after the first, added.
// - With overlap_comm a bucket waits for the third one before it (max_param_reduce_events: 2), and
//   the end of a pass for all; without it compute waits for each.
// - Every pass gathers and reduces. A checkpointed block is gathered for its second forward and its
//   backward, as modules that run.
// Left out: offloading (before stage 3: offload_optimizer), hierarchical partitions (ZeRO++),
// stage3_model_persistence_threshold.
[[nodiscard]] BuiltStep build_stage3(const StrategyRequest& request);

// Shards; whole persistent tensors, the most parameters that are there at once and the largest
// array that they are copied out of; the buffer of reduce_bucket_size and a bucket's copy.
[[nodiscard]] ModelMemory stage3_memory(const StrategyRequest& request);

}  // namespace paceline::training
