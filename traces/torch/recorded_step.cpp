#include "traces/torch/recorded_step.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace paceline::traces::torch {
namespace {

enum Layer : std::size_t { wait, backward, forward, optimizer, layers };

// Where something begins or ends, or backward is cut.
struct Edge {
  TraceTime at;
  std::optional<Layer> layer;  // nullopt: a cut
  int change;
};

std::vector<Edge> edges_of(const RecordedStep& step) {
  std::vector<Edge> edges{{step.all.begin, std::nullopt, 0}, {step.all.end, std::nullopt, 0}};
  const std::array lists{&step.waits, &step.backward, &step.forward, &step.optimizer};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (const RecordedStep::Interval& interval : *lists[layer]) {
      edges.push_back({interval.begin, static_cast<Layer>(layer), 1});
      edges.push_back({interval.end, static_cast<Layer>(layer), -1});
    }
  }
  for (const auto& gradient : step.gradients) edges.push_back({gradient.ready, std::nullopt, 0});
  for (const auto& bucket : step.buckets) edges.push_back({bucket.launched, std::nullopt, 0});
  std::ranges::stable_sort(edges, {}, &Edge::at);
  return edges;
}

// What runs while layers are open; nullopt while the rank waits.
std::optional<TaskName> name_of(const std::array<int, layers>& open) {
  if (open[wait] > 0) return std::nullopt;
  if (open[backward] > 0) return backward_work;
  if (open[forward] > 0) return forward_work;
  return open[optimizer] > 0 ? optimizer_work : between_work;
}

}  // namespace

std::vector<DeviceTrace::Task> tasks_of(const RecordedStep& step) {
  std::vector<DeviceTrace::Task> tasks;
  std::array<int, layers> open{};
  TraceTime since = step.all.begin;
  for (const Edge& edge : edges_of(step)) {
    const auto name = name_of(open);
    if (name && edge.at > since) {
      const bool goes_on = !tasks.empty() && *name != backward_work && tasks.back().name == *name &&
                           tasks.back().end == since;
      if (goes_on) {
        tasks.back().end = edge.at;
      } else {
        tasks.push_back({since, edge.at, 0, DeviceTrace::Work::kernel, since, *name});
      }
    }
    since = edge.at;
    if (edge.layer) open[*edge.layer] += edge.change;
  }
  return tasks;
}

}  // namespace paceline::traces::torch
