#pragma once

#include <functional>
#include <map>
#include <span>

#include "models/assumption.h"
#include "models/training/step_builder.h"

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

}  // namespace paceline::training
