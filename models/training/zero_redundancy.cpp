#include "models/training/zero_redundancy.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace paceline::training {
namespace {

using workload::DataType;
using workload::ParameterTensor;

ElementCount owned_by(std::span<const ParameterTensor> tensors, const Bucket& owned) {
  ElementCount count;
  for (const std::size_t i : owned) count += tensors[i].count;
  return count;
}

CollectiveCall broadcast_of(ElementCount count, DataType type, Rank owner) {
  return {collectives::Collective::broadcast, count, element_size(type), owner};
}

}  // namespace

std::vector<Bucket> partition_parameters(std::span<const ParameterTensor> tensors,
                                         RankCount ranks) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return tensors[i].count; });
  std::vector<Bucket> owned(ranks.value());
  std::vector<ElementCount> counts(ranks.value());
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(counts);
    *least += tensors[i].count;
    owned[static_cast<std::size_t>(least - counts.begin())].push_back(i);
  }
  return owned;
}

void update_in_parts(StepBuilder& step, const StrategyRequest& request, bool are_bucket_views,
                     std::vector<OperationId> after) {
  const auto& tensors = step.tensors();
  const auto parts = partition_parameters(tensors, request.cluster.ranks());
  std::uint64_t all = 0, most = 0;
  for (const Bucket& part : parts) {
    const std::uint64_t count = owned_by(tensors, part).value();
    all += count;
    most = std::max(most, count);
  }
  const double share = all == 0 ? 1 : static_cast<double>(most) / static_cast<double>(all);
  const OperationId updated = step.operation("optimizer", OperationKind::optimizer,
                                             request.workload.optimizer * share, std::move(after));
  for (std::uint32_t owner = 0; owner < parts.size(); ++owner) {
    std::map<DataType, ElementCount> buckets;
    for (const std::size_t i : parts[owner]) {
      const ParameterTensor& tensor = tensors[i];
      buckets[tensor.type] += tensor.count;
      if (are_bucket_views) continue;
      step.call(tensor.name, broadcast_of(tensor.count, tensor.type, Rank(owner)), {updated});
    }
    if (!are_bucket_views) continue;
    for (const auto& [type, count] : buckets) {
      step.call("parameters of rank " + std::to_string(owner),
                broadcast_of(count, type, Rank(owner)), {updated});
    }
  }
}

Bytes fullest_states(const StrategyRequest& request) {
  const auto tensors = gradient_tensors(request.workload);
  Bytes most;
  for (const Bucket& part : partition_parameters(tensors, request.cluster.ranks())) {
    Bytes states;
    for (const std::size_t i : part) {
      states +=
          optimizer_memory(request.workload.optimizer_states, tensors[i].count, tensors[i].type);
    }
    most = std::max(most, states);
  }
  return most;
}

}  // namespace paceline::training
