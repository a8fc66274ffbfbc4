#include "models/cost/calls_alone.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "models/collectives/registry.h"
#include "models/cost/auto_choice.h"
#include "models/training/step_program.h"

namespace paceline::cost {
namespace {

using training::CollectiveCall;

// The time before a call's first messages is its own, whatever other calls of its kind have.
CollectiveCall without_start(CollectiveCall call) {
  training::SimulatedCall simulated = *call.simulated();
  simulated.wire.start = Seconds(0);
  call.how = std::move(simulated);
  return call;
}

// The different counts of elements of the calls that differ in nothing else.
class Sizes {
 public:
  explicit Sizes(const training::StepProgram& program) {
    for (const CollectiveCall* call : calls_in(program)) {
      if (call->simulated() != nullptr) of_kind_[kind(*call)].insert(call->count);
    }
  }
  [[nodiscard]] bool is_only(const CollectiveCall& call) const {
    return of_kind_.at(kind(call)).size() == 1;
  }

 private:
  static CollectiveCall kind(const CollectiveCall& call) {
    CollectiveCall of_kind = without_start(call);
    of_kind.count = ElementCount(0);
    return of_kind;
  }
  std::map<CollectiveCall, std::set<ElementCount>> of_kind_;
};

constexpr std::uint32_t followed_nodes_max = 64;
constexpr std::uint32_t shallow_levels = 5;  // of the smaller trees

// Edges from the root of ncclGetBtree's tree over so many nodes, above 0, to its deepest one.
std::uint32_t levels_of(std::uint32_t nodes) {
  return static_cast<std::uint32_t>(std::bit_width(nodes - 1));
}

// The nearest to nodes / 2^halvings that is even or odd as `nodes` is.
std::uint32_t scaled_down(std::uint32_t nodes, std::uint32_t halvings) {
  const std::uint32_t rest = nodes % 2;
  const double pairs = (std::ldexp(nodes, -static_cast<int>(halvings)) - rest) / 2;
  const auto near = 2 * static_cast<std::uint32_t>(std::lround(pairs)) + rest;
  // Trees over least to most nodes have that many levels.
  const std::uint32_t levels = levels_of(nodes) - halvings;
  const std::uint32_t least = (1U << (levels - 1)) + 1, most = 1U << levels;
  return std::clamp(near, least + (least + rest) % 2, most - (most + rest) % 2);
}

}  // namespace

std::size_t time_calls_alone(ResolvedPoint& point,
                             const std::function<Seconds(const ResolvedPoint&)>& predict) {
  const Sizes sizes(point.program);
  std::map<CollectiveCall, Seconds> known;
  const auto time_at = [&](CollectiveCall call, std::uint64_t count) {
    call.count = ElementCount(count);
    const auto [entry, is_new] = known.try_emplace(call);
    if (is_new) entry->second = predict(alone(point, call));
    return entry->second;
  };
  const auto time_after_start = [&](const CollectiveCall& call) {
    const std::uint64_t count = std::max<std::uint64_t>(call.count.value(), 1);
    const std::uint64_t below = std::bit_floor(count);
    if (count == below || sizes.is_only(call)) return time_at(call, count);
    const double part = static_cast<double>(count - below) / static_cast<double>(below);
    const Seconds least = time_at(call, below);
    return least + (time_at(call, 2 * below) - least) * part;
  };
  for (CollectiveCall* call : calls_in(point.program)) {
    if (call->simulated() == nullptr) continue;
    const Seconds time = call->simulated()->wire.start + time_after_start(without_start(*call));
    call->how = training::KnownCall{time, std::string(algorithm_of(*call))};
  }
  return known.size();
}

Seconds ShallowTrees::extrapolated(Seconds with_fewer, Seconds with_more) const {
  const Seconds each = std::max(with_more - with_fewer, Seconds(0));
  return with_more + each * static_cast<double>(levels_left);
}

std::optional<ShallowTrees> shallow_trees(const ResolvedPoint& point) {
  const std::uint32_t nodes = point.cluster.nodes;
  auto calls = calls_in(point.program);
  const CollectiveCall* const call = calls.empty() ? nullptr : calls.front();
  if (call == nullptr || call->simulated() == nullptr) return std::nullopt;
  const training::SimulatedCall& simulated = *call->simulated();
  const auto* row = collectives::find_algorithm(call->collective, simulated.algorithm);
  if (row == nullptr || !row->traits.trees_over_nodes) return std::nullopt;
  if (nodes <= followed_nodes_max || call->group == training::Group::node) return std::nullopt;
  const auto& core = point.cluster.network.fat_tree;
  if (core && (core->oversubscription > 1 || !simulated.wire.has_no_hops)) return std::nullopt;
  const std::uint32_t levels = levels_of(nodes);
  ShallowTrees trees{point, point, levels - shallow_levels - 1};
  trees.fewer.cluster.nodes = scaled_down(nodes, levels - shallow_levels);
  trees.more.cluster.nodes = scaled_down(nodes, levels - shallow_levels - 1);
  return trees;
}

}  // namespace paceline::cost
