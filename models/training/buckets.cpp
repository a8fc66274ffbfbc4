#include "models/training/buckets.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "models/contract.h"

namespace paceline::training {

using workload::ParameterTensor;

std::vector<Bucket> assign_buckets(std::span<const ParameterTensor> tensors,
                                   std::span<const Bytes> limits) {
  PACELINE_EXPECTS(!limits.empty());
  struct Open {
    Bucket bucket;
    Bytes size;
    std::size_t limit = 0;
  };
  std::map<std::pair<workload::DataType, std::uint32_t>, Open> open_of;
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Open& open = open_of[{tensors[i].type, tensors[i].device}];
    open.bucket.push_back(i);
    open.size += tensors[i].count * element_size(tensors[i].type);
    if (open.size < limits[open.limit]) continue;
    buckets.push_back(std::exchange(open.bucket, {}));
    open.size = Bytes(0);
    open.limit = std::min(open.limit + 1, limits.size() - 1);
  }
  const auto closed = static_cast<std::ptrdiff_t>(buckets.size());
  for (auto& [key, open] : open_of) {
    if (!open.bucket.empty()) buckets.push_back(std::move(open.bucket));
  }
  std::sort(buckets.begin() + closed, buckets.end());
  return buckets;
}

LaunchOrder::LaunchOrder(std::span<const Bucket> buckets, std::size_t tensors)
    : bucket_of_(tensors) {
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    missing_.push_back(buckets[b].size());
    for (const std::size_t tensor : buckets[b]) bucket_of_[tensor] = b;
  }
}

std::optional<std::size_t> LaunchOrder::next() {
  if (launched_ == missing_.size() || missing_[launched_] > 0) return std::nullopt;
  return launched_++;
}

Bytes DdpSettings::first_bucket_limit() const {
  constexpr Bytes first_bucket_default(1 << 20);
  if (first_bucket) return *first_bucket;
  const bool cap_holds_from_the_first = !torch_is_before(2, 5) && bucket_cap_was_set;
  return cap_holds_from_the_first ? bucket_cap : first_bucket_default;
}

bool DdpSettings::torch_is_before(std::uint32_t major, std::uint32_t minor) const {
  return std::pair{torch_major, torch_minor} < std::pair{major, minor};
}

bool DdpSettings::buckets_are_initial() const {
  if (looks_for_unused()) return true;
  return torch_is_before(1, 6) || (first_iteration && torch_is_before(1, 12));
}

std::vector<Bucket> ddp_buckets(std::span<const ParameterTensor> tensors,
                                const DdpSettings& settings) {
  const Bytes no_limit(std::numeric_limits<std::uint64_t>::max());
  const std::vector<Bytes> limits{settings.first_bucket_limit(), settings.bucket_cap};
  if (settings.buckets_are_initial()) {
    auto buckets = assign_buckets(tensors, limits);
    // The initial build is sorted by the smallest index in a bucket, then reversed.
    std::sort(buckets.begin(), buckets.end());
    std::reverse(buckets.begin(), buckets.end());
    return buckets;
  }
  if (settings.first_iteration) {
    auto buckets = assign_buckets(tensors, std::vector{no_limit});
    std::reverse(buckets.begin(), buckets.end());
    return buckets;
  }
  const std::vector<ParameterTensor> ready(tensors.rbegin(), tensors.rend());
  auto buckets = assign_buckets(ready, limits);
  for (Bucket& bucket : buckets) {
    for (std::size_t& i : bucket) i = tensors.size() - 1 - i;
  }
  return buckets;
}

Bytes bucket_size(std::span<const ParameterTensor> tensors, const Bucket& bucket) {
  Bytes size;
  for (const std::size_t i : bucket) size += tensors[i].count * element_size(tensors[i].type);
  return size;
}

ElementCount bucket_count(std::span<const ParameterTensor> tensors, const Bucket& bucket) {
  ElementCount count;
  for (const std::size_t i : bucket) count += tensors[i].count;
  return count;
}

}  // namespace paceline::training
