#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/assumption.h"
#include "models/training/buckets.h"
#include "models/training/memory.h"
#include "models/training/step_builder.h"
#include "models/training/strategy.h"

namespace paceline::training {

// Of the keys of ddp_strategy.
[[nodiscard]] DdpSettings ddp_settings(const settings::Settings& settings);
[[nodiscard]] Assumptions ddp_assumptions(const DdpSettings& ddp);

// PyTorch's powerSGD_hook of DistributedDataParallel (torch/distributed/algorithms/ddp_comm_hooks/
// powerSGD_hook.py, 1.13 and pytorch/pytorch until 2026); Vogels, Karimireddy, Jaggi, PowerSGD,
// NeurIPS 2019 (arXiv 1905.13727). Past start_powerSGD_iter.
// - A gradient is a matrix of its first dimension n by the rest m. One of rank r = min(n, m,
//   matrix_approximation_rank) with (n + m) r min_compression_rate < n m is sent as P (n by r) and
//   Q (m by r); the others of its bucket, vectors among them, are sent whole.
// - Of a bucket: the errors of the step before are added and a copy kept (use_error_feedback); Q of
//   the step before is made orthogonal (warm_start), P = M Q. One all-reduce of all that is whole,
//   which is unpacked and divided; one of all P, which are made orthogonal, Q = M^T P; one of all
//   Q, which are divided; M = P Q^T, and the errors. Each waits for the one before it.
// - The hook waits for the device (torch.cuda.synchronize) before it returns: the backward goes on
//   when a bucket is decompressed, and no call is beside it.
// - A product takes what it reads and writes, M among it, or its 2 n m r operations at the part of
//   the type's peak that training attains, whichever is longer.
// - Orthogonal by Gram-Schmidt, a kernel at a time (_orthogonalize_gram_schmidt): of column i its
//   norm, its division, and, with columns behind it, a product, a sum, a product and a subtraction
//   with those. torch takes torch.linalg.qr for fp32 and r > 2, whose time must be given.

// Of the keys of ddp_strategy.
struct PowerSgd {
  std::uint64_t rank = 1;           // at least 1
  double min_compression_rate = 2;  // not negative
  bool uses_error_feedback = true;
  std::optional<Seconds> orthogonalization = {};  // of one P or Q; nullopt: Gram-Schmidt's kernels
};

// What takes the place of a gradient's matrix: P of rows by rank, Q of columns by rank.
struct LowRank {
  std::uint64_t rows, columns, rank;

  friend bool operator==(const LowRank&, const LowRank&) = default;
};

// A bucket as it is sent.
struct CompressedBucket {
  std::vector<LowRank> matrices;    // in the bucket's order
  std::vector<ElementCount> whole;  // elements of the others

  [[nodiscard]] ElementCount whole_count() const;
  [[nodiscard]] ElementCount p_count() const;
  [[nodiscard]] ElementCount q_count() const;
};

// Precondition: the rows of its tensors are known, and divide their elements.
[[nodiscard]] CompressedBucket compressed(std::span<const workload::ParameterTensor> tensors,
                                          const Bucket& bucket, const PowerSgd& hook);

// The hook on a bucket whose gradients are there. Returns its last operation, a compute.
OperationId reduce_compressed(StepBuilder& step, const workload::Device& device,
                              const std::string& name, const Bucket& bucket, const PowerSgd& hook);

// Errors and all P and Q; of the largest bucket, the copy for its errors and what is sent whole.
[[nodiscard]] Bytes compression_memory(std::span<const workload::ParameterTensor> tensors,
                                       std::span<const Bucket> buckets, const PowerSgd& hook);

// PyTorch's ZeroRedundancyOptimizer (torch/distributed/optim/zero_redundancy_optimizer.py, 2.1): of
// DistributedDataParallel's parameters each rank updates some, whose optimizer states it alone has,
// and broadcasts them. ZeRO's stage 1 (Rajbhandari et al., SC 2020), but for whole tensors.

// By rank, what it owns, in the order in which it got it: the tensors from the largest to the
// smallest, in the order of registration where they are alike, each to the rank that has the fewest
// elements by then, the first of them (_partition_parameters).
[[nodiscard]] std::vector<Bucket> partition_parameters(
    std::span<const workload::ParameterTensor> tensors, RankCount ranks);

// Ends a step: the optimizer, which takes the part of the rank that owns the most, then, by rank,
// a broadcast of each tensor or, as views of a bucket, of each type at once (_sync_params).
void update_in_parts(StepBuilder& step, const StrategyRequest& request, bool are_bucket_views,
                     std::vector<OperationId> after);

// The optimizer's states, of the rank that has the most.
[[nodiscard]] Bytes fullest_states(const StrategyRequest& request);

}  // namespace paceline::training
