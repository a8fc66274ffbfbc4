#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "models/workload/workload.h"

namespace paceline::training {

// Indices into the list of tensors, in the order in which they joined the bucket.
using Bucket = std::vector<std::size_t>;

// PyTorch's rule (compute_bucket_assignment_by_size, torch/csrc/distributed/c10d/reducer.cpp): walk
// the tensors in order with one open bucket per (type, device); add a tensor's bytes, and when the
// bucket has then reached the limit, close it and go to that key's next limit (the last repeats).
// So a bucket exceeds its limit by up to one tensor, and a tensor is never split. Buckets come in
// the order in which they closed, then the open ones by their first tensor (PyTorch: by hash).
// Precondition: at least one limit, all above 0.
[[nodiscard]] std::vector<Bucket> assign_buckets(std::span<const workload::ParameterTensor> tensors,
                                                 std::span<const Bytes> limits);

// Which buckets may be launched as gradients come: in order, each when all its gradients are there.
class LaunchOrder {
 public:
  // Precondition: every one of `tensors` is in one bucket.
  LaunchOrder(std::span<const Bucket> buckets, std::size_t tensors);

  // Precondition: its gradient has not come yet.
  void gradient_came(std::size_t tensor) { --missing_[bucket_of_[tensor]]; }
  // The next bucket, which counts as launched; nullopt: it misses a gradient, or none is left.
  [[nodiscard]] std::optional<std::size_t> next();

 private:
  std::vector<std::size_t> bucket_of_;  // by tensor
  std::vector<std::size_t> missing_;    // by bucket: gradients that it waits for
  std::size_t launched_ = 0;
};

// How DistributedDataParallel was called.
struct DdpSettings {
  Bytes bucket_cap = Bytes(25 << 20);  // kDefaultBucketBytesCap, reducer.hpp
  bool bucket_cap_was_set = false;     // by the user, even to the default
  std::optional<Bytes> first_bucket;   // nullopt: by torch version
  std::uint32_t torch_major = 2, torch_minor = 1;
  bool gradient_as_bucket_view = false;
  bool find_unused_parameters = false;
  bool static_graph = false;
  bool broadcast_buffers = true;
  bool first_iteration = false;  // before the buckets are rebuilt
  bool no_sync = true;           // around all passes of a step but the last
  Seconds unused_search_time;    // a parameter

  // 1 MiB (kDefaultFirstBucketBytes) unless given; from torch 2.5 on a cap that was set holds for
  // the first bucket too. The change is pytorch PR #121640 (2024); 2.5 is assumed to have it first.
  [[nodiscard]] Bytes first_bucket_limit() const;

  // In every pass that reduces; a static graph is searched once.
  [[nodiscard]] bool looks_for_unused() const { return find_unused_parameters && !static_graph; }

  [[nodiscard]] bool torch_is_before(std::uint32_t major, std::uint32_t minor) const;
  // Whether the buckets of this iteration are those of the initial build. Rebuilding is pytorch PR
  // #35137 (2020), assumed to come with 1.6; one bucket in the first iteration is PR #72843 (2022),
  // assumed to come with 1.12.
  [[nodiscard]] bool buckets_are_initial() const;
};

// The buckets of one iteration over tensors in registration order, in the order of their launch.
//
// Rebuilt (the steady state): gradients become ready in the reverse order of registration, and the
// buckets follow that order with limits {first bucket, cap}. First iteration: one bucket per (type,
// device). Initial: limits run over the definition order and the list is reversed, so the small
// bucket holds the first parameters and is launched last; so it stays with find_unused_parameters
// (and no static_graph), and before rebuilding came to torch.
[[nodiscard]] std::vector<Bucket> ddp_buckets(std::span<const workload::ParameterTensor> tensors,
                                              const DdpSettings& settings);

[[nodiscard]] Bytes bucket_size(std::span<const workload::ParameterTensor> tensors,
                                const Bucket& bucket);
[[nodiscard]] ElementCount bucket_count(std::span<const workload::ParameterTensor> tensors,
                                        const Bucket& bucket);

// Assigns buckets as apex learns them in its first backward: gradients join the open bucket of
// their type as they become ready, from the last registered tensor to the first, and a bucket with
// `message_size` elements or more is closed. Returns buckets in the order in which they closed,
// then the open ones: fp16, fp32, fp64.
[[nodiscard]] std::vector<Bucket> apex_buckets(std::span<const workload::ParameterTensor> tensors,
                                               ElementCount message_size);

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
