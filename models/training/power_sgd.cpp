#include <algorithm>

#include "models/contract.h"
#include "models/training/ddp.h"
#include "models/workload/attained.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using workload::DataType;
using workload::ParameterTensor;

LowRank low_rank_of(const ParameterTensor& tensor, const PowerSgd& hook) {
  PACELINE_EXPECTS(tensor.rows && tensor.count.value() % tensor.rows->value() == 0);
  const std::uint64_t rows = tensor.rows->value(), columns = tensor.count.value() / rows;
  return {rows, columns, std::min({rows, columns, hook.rank})};
}

// _should_compress
bool is_worth_it(const LowRank& matrix, const PowerSgd& hook) {
  const auto sent = static_cast<double>((matrix.rows + matrix.columns) * matrix.rank);
  const double whole = static_cast<double>(matrix.rows) * static_cast<double>(matrix.columns);
  return sent * hook.min_compression_rate < whole;
}

// The kernels of a bucket of one type.
class HookKernels {
 public:
  HookKernels(const StepBuilder& step, const workload::Device& device, DataType type,
              const PowerSgd& hook)
      : step_(step), device_(device), type_(type), hook_(hook) {}

  [[nodiscard]] Seconds moves(ElementCount count, std::uint64_t passes) const {
    return step_.kernel(count, type_, passes);
  }

  // Any of the three products: it reads two of M, P and Q and writes the third.
  [[nodiscard]] Seconds product(const LowRank& matrix) const {
    const std::uint64_t whole = matrix.rows * matrix.columns;
    const std::uint64_t factors = (matrix.rows + matrix.columns) * matrix.rank;
    const Seconds traffic = moves(ElementCount(whole + factors), 1);
    if (device_.speed(precision()).peak <= FlopsPerSecond(0)) return traffic;
    const Flops operations(2.0 * static_cast<double>(whole) * static_cast<double>(matrix.rank));
    return std::max(traffic,
                    workload::arithmetic_time(operations, workload::Work::product, precision(),
                                              device_, workload::known_attained()));
  }

  [[nodiscard]] Seconds products(const CompressedBucket& bucket) const {
    Seconds time;
    for (const LowRank& matrix : bucket.matrices) time += product(matrix);
    return time;
  }

  // Of `vectors` of that many elements each.
  [[nodiscard]] Seconds orthogonalization(std::uint64_t elements, std::uint64_t vectors) const {
    if (hook_.orthogonalization) return *hook_.orthogonalization;
    Seconds time;
    for (std::uint64_t behind = vectors; behind-- > 0;) {
      const ElementCount one(elements), rest(elements * behind);
      time += moves(one, 1) + moves(one, 2);
      if (behind == 0) break;
      time += moves(one + rest + rest, 1) + moves(rest, 1) + moves(one + rest, 1) + moves(rest, 3);
    }
    return time;
  }

 private:
  [[nodiscard]] workload::Precision precision() const {
    if (type_ == DataType::float16) return workload::Precision::fp16;
    if (type_ == DataType::bfloat16) return workload::Precision::bf16;
    return workload::Precision::fp32;
  }

  const StepBuilder& step_;
  const workload::Device& device_;
  DataType type_;
  const PowerSgd& hook_;
};

}  // namespace

ElementCount CompressedBucket::whole_count() const {
  ElementCount sum;
  for (const ElementCount count : whole) sum += count;
  return sum;
}

ElementCount CompressedBucket::p_count() const {
  ElementCount sum;
  for (const LowRank& matrix : matrices) sum += ElementCount(matrix.rows * matrix.rank);
  return sum;
}

ElementCount CompressedBucket::q_count() const {
  ElementCount sum;
  for (const LowRank& matrix : matrices) sum += ElementCount(matrix.columns * matrix.rank);
  return sum;
}

CompressedBucket compressed(std::span<const ParameterTensor> tensors, const Bucket& bucket,
                            const PowerSgd& hook) {
  CompressedBucket sent;
  for (const std::size_t i : bucket) {
    const LowRank matrix = low_rank_of(tensors[i], hook);
    if (is_worth_it(matrix, hook)) {
      sent.matrices.push_back(matrix);
    } else {
      sent.whole.push_back(tensors[i].count);
    }
  }
  return sent;
}

OperationId reduce_compressed(StepBuilder& step, const workload::Device& device,
                              const std::string& name, const Bucket& bucket, const PowerSgd& hook) {
  const DataType type = step.tensors()[bucket.front()].type;
  const ElementCount all = bucket_count(step.tensors(), bucket);
  const CompressedBucket sent = compressed(step.tensors(), bucket, hook);
  const HookKernels kernels(step, device, type, hook);
  const auto compute = [&](const char* what, Seconds time, std::vector<OperationId> after) {
    return step.compute(name + what, OperationKind::copy, time, std::move(after));
  };
  const auto call = [&](const char* what, ElementCount count, OperationId after) {
    return step.call(name + what, {Collective::all_reduce, count, element_size(type)}, {after});
  };

  Seconds ahead;
  if (hook.uses_error_feedback) ahead += kernels.moves(all, 3) + kernels.moves(all, 2);
  const ElementCount whole = sent.whole_count();
  if (whole > ElementCount(0)) ahead += kernels.moves(whole, 2);
  for (const LowRank& matrix : sent.matrices) {
    ahead += kernels.orthogonalization(matrix.columns, matrix.rank);
  }
  OperationId last = compute(" compress", ahead + kernels.products(sent), {});
  if (whole > ElementCount(0)) {
    Seconds unpacking = kernels.moves(whole, 2);  // the division
    for (const ElementCount count : sent.whole) unpacking += kernels.moves(count, 2);
    last = compute(" unpack", unpacking, {call("", whole, last)});
  }
  Seconds behind;
  std::vector<OperationId> after;
  if (!sent.matrices.empty()) {
    Seconds between = kernels.products(sent);
    for (const LowRank& matrix : sent.matrices) {
      between += kernels.orthogonalization(matrix.rows, matrix.rank);
    }
    last = compute(" product", between, {call(" P", sent.p_count(), last)});
    after = {call(" Q", sent.q_count(), last)};
    behind = kernels.moves(sent.q_count(), 2) + kernels.products(sent);
  }
  if (hook.uses_error_feedback) behind += kernels.moves(all, 3);
  return compute(" decompress", behind, std::move(after));
}

Bytes compression_memory(std::span<const ParameterTensor> tensors, std::span<const Bucket> buckets,
                         const PowerSgd& hook) {
  Bytes kept, largest;
  for (const Bucket& bucket : buckets) {
    const CompressedBucket sent = compressed(tensors, bucket, hook);
    const ElementSize size = element_size(tensors[bucket.front()].type);
    const Bytes all = hook.uses_error_feedback ? bucket_size(tensors, bucket) : Bytes(0);
    kept += all + (sent.p_count() + sent.q_count()) * size;
    largest = std::max(largest, all + sent.whole_count() * size);
  }
  return kept + largest;
}

}  // namespace paceline::training
