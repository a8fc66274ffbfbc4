#include <algorithm>
#include <array>
#include <map>

#include "models/training/buckets.h"
#include "models/training/step_builder.h"
#include "models/training/strategies.h"

// MG-WFBP: each group of merged_gradients is all-reduced when its last gradient is ready.
namespace paceline::training {
namespace {

struct Ready {
  std::size_t tensor;
  Seconds at;  // after the start of the backward
};

// As gradients come: layers from the last, within a layer the last registered tensor first.
std::vector<Ready> in_order(const workload::Workload& workload, std::size_t tensors) {
  std::vector<Ready> order;
  Seconds now;
  for (auto layer = workload.layers.rbegin(); layer != workload.layers.rend(); ++layer) {
    now += layer->backward;
    for (std::size_t i = layer->parameters.size(); i-- > 0;) order.push_back({--tensors, now});
  }
  return order;
}

MergeSettings merge_settings(const StrategyRequest& request) {
  return {request.settings.get<Seconds>("merge_startup"),
          request.settings.get<BytesPerSecond>("merge_bandwidth")};
}

// A gradient that is reduced alone is reduced in place.
ModelMemory merged_gradient_memory(const StrategyRequest& request) {
  const auto tensors = gradient_tensors(request.workload);
  ModelMemory memory = model_and_wire_copies(request);
  for (const Bucket& group : merged_gradients(request.workload, merge_settings(request))) {
    if (group.size() > 1) memory.buckets += bucket_size(tensors, group);
  }
  return memory;
}

BuiltStep build_merged_gradient(const StrategyRequest& request) {
  StepBuilder step(request);
  const MergeSettings merge = merge_settings(request);
  const std::vector<Bucket> groups = merged_gradients(request.workload, merge);
  step.forward({});
  std::map<std::size_t, std::size_t> group_of_last;  // by the tensor that completes it
  for (std::size_t g = 0; g < groups.size(); ++g) group_of_last[groups[g].back()] = g;
  const auto tensors_of = [&](const Bucket& group) {
    std::vector<workload::ParameterTensor> all;
    for (const std::size_t tensor : group) all.push_back(step.tensors()[tensor]);
    return all;
  };
  std::vector<OperationId> reduced;
  step.backward([&](const workload::TimedLayer& layer, std::size_t first, OperationId ready) {
    for (std::size_t i = layer.parameters.size(); i-- > 0;) {
      const auto complete = group_of_last.find(first + i);
      if (complete == group_of_last.end()) continue;
      const Bucket& group = groups[complete->second];
      const OperationId before =
          group.size() > 1 ? step.copies("merge", tensors_of(group), 2, {ready}) : ready;
      reduced.push_back(step.all_reduce(layer.parameters[i].name, group, {before}));
    }
  });
  for (std::size_t g = 0; g < groups.size(); ++g) step.cast_back(groups[g], reduced[g]);
  step.copies("divide and take apart", step.tensors(), 2, reduced);
  return {step.finish({}), {}};
}

constexpr MergeSettings merge_defaults;
constexpr std::array merged_gradient_keys{
    settings::Key{"merge_startup", settings::Time{}, settings::Value(merge_defaults.startup),
                  "what it reckons an all-reduce to take before its first byte"},
    settings::Key{"merge_bandwidth", settings::Bandwidth{},
                  settings::Value(merge_defaults.bandwidth), "and for its bytes"},
};

}  // namespace

std::vector<Bucket> merged_gradients(const workload::Workload& workload,
                                     const MergeSettings& merge) {
  const auto tensors = gradient_tensors(workload);
  std::vector<Bucket> groups;
  Seconds free, ready;  // of the network; of the last group
  Bytes size;
  for (const Ready& next : in_order(workload, tensors.size())) {
    const workload::ParameterTensor& tensor = tensors[next.tensor];
    const Bytes bytes = tensor.count * element_size(tensor.type);
    const Seconds start = std::max(free, ready);
    const bool waits = !groups.empty() && tensors[groups.back().front()].type == tensor.type &&
                       next.at - start < merge.startup;
    if (!waits) {
      if (!groups.empty()) free = start + merge.startup + size / merge.bandwidth;
      groups.emplace_back();
      size = Bytes(0);
    }
    groups.back().push_back(next.tensor);
    size += bytes;
    ready = next.at;
  }
  return groups;
}

constinit const Strategy merged_gradient_strategy{
    .name = "merged_gradient",
    .summary = "all-reduces of gradients merged as startup costs suggest",
    .keys = merged_gradient_keys,
    .build = build_merged_gradient,
    .memory = merged_gradient_memory,
    .is_measured = true,
};

}  // namespace paceline::training
