#include "models/training/deepspeed_buckets.h"

#include <algorithm>
#include <utility>

namespace paceline::training {

using workload::ParameterTensor;

ZeroSettings zero_settings(const settings::Settings& settings) {
  constexpr std::uint64_t parameters = 3;
  const auto stage = settings.get<std::uint64_t>("stage");
  // config.py, overlap_comm_valid
  const bool overlaps = settings.find<bool>("overlap_comm").value_or(stage == parameters);
  return {stage,
          ElementCount(settings.get<std::uint64_t>("reduce_bucket_size")),
          overlaps,
          settings.get<bool>("contiguous_gradients"),
          settings.get<bool>("reduce_scatter"),
          settings.get<bool>("use_multi_rank_bucket_allreduce")};
}

ElementCount fullest_bucket(const ZeroSettings& zero, std::span<const ParameterTensor> tensors,
                            workload::DataType type) {
  ElementCount all, largest;
  for (const ParameterTensor& tensor : tensors) {
    if (tensor.type != type) continue;
    all += tensor.count;
    largest = std::max(largest, tensor.count);
  }
  return std::max(largest, std::min(all, zero.bucket_size));
}

void ZeroBuckets::collect(std::size_t tensor) {
  const ParameterTensor& gradient = step_.tensors()[tensor];
  Open& open = open_[gradient.type];
  if (!open.tensors.empty() && open.count + gradient.count > zero_.bucket_size) {
    reduce_(std::exchange(open, {}).tensors);
  }
  open.tensors.push_back(tensor);
  open.count += gradient.count;
  if (zero_.is_contiguous && gradient.count <= zero_.bucket_size) {
    step_.copies(gradient.name + " to bucket", std::span(&gradient, 1), 2, {});
  }
}

void ZeroBuckets::collect_layer(const workload::TimedLayer& layer, std::size_t first_tensor) {
  for (std::size_t i = layer.parameters.size(); i-- > 0;) collect(first_tensor + i);
}

void ZeroBuckets::flush() {
  for (auto& [type, open] : open_) {
    if (!open.tensors.empty()) reduce_(std::exchange(open, {}).tensors);
  }
}

}  // namespace paceline::training
