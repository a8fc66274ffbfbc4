#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/training/buckets.h"
#include "models/training/memory.h"
#include "models/training/step_builder.h"

namespace paceline::training {

// PyTorch's powerSGD_hook of DistributedDataParallel (torch/distributed/algorithms/ddp_comm_hooks/
// powerSGD_hook.py, 1.13 and pytorch/pytorch until 2026); Vogels, Karimireddy, Jaggi, PowerSGD,
// NeurIPS 2019 (arXiv 1905.13727). Past start_powerSGD_iter, before which buckets are all-reduced
// as without it.
// - A gradient is a matrix of its first dimension n by the rest m. One of rank r = min(n, m,
//   matrix_approximation_rank) with (n + m) r min_compression_rate < n m is sent as P (n by r) and
//   Q (m by r); the others of its bucket, vectors among them, are sent whole.
// - Of a bucket: the errors of the step before are added and a copy kept (use_error_feedback); Q of
//   the step before is made orthogonal (warm_start), P = M Q. One all-reduce of all that is whole,
//   which is unpacked and divided; one of all P, which are made orthogonal, Q = M^T P; one of all
//   Q, which are divided; M = P Q^T, and the errors. Each waits for the one before it.
// - The hook waits for the device (torch.cuda.synchronize) before it returns: the backward goes on
//   when a bucket has been decompressed, so that all kernels are on the compute lane and no call is
//   beside it.
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

// The hook on a bucket whose gradients are there. Returns the last of its operations, which is on
// the compute lane.
OperationId reduce_compressed(StepBuilder& step, const workload::Device& device,
                              const std::string& name, const Bucket& bucket, const PowerSgd& hook);

// What it keeps from step to step, errors and all P and Q; and, of the largest bucket, the copy for
// its errors and what is sent whole.
[[nodiscard]] Bytes compression_memory(std::span<const workload::ParameterTensor> tensors,
                                       std::span<const Bucket> buckets, const PowerSgd& hook);

}  // namespace paceline::training
