#include "traces/execution_trace/gathering.h"

#include <algorithm>
#include <utility>

#include "traces/pytorch/nccl_names.h"

namespace paceline::traces::execution_trace {

void Gathering::take(const Node& node) {
  ++trace_.events;
  if (!node.id || node.name.empty()) {
    ++trace_.skipped;
    return;
  }
  const bool may_be_call = node.name != groups_node && needs_operands(node.name);
  places_.push_back({*node.id, node.parent.value_or(0), may_be_call ? nodes_.size() : none});
  if (may_be_call) nodes_.push_back(node);
}

void Gathering::take_group(Group group) {
  if (group.is_whole_world) trace_.world_size = group.size;
  groups_.push_back(std::move(group));
}

// Nodes are numbered as they begin, a parent before its children: in that order one pass finds the
// outermost call that each is in. A parent that is not before its child is no parent.
Gathering::CallNodes Gathering::find_calls() {
  std::ranges::stable_sort(places_, {}, &Place::id);
  CallNodes call_nodes;
  for (std::size_t at = 0; at < places_.size(); ++at) {
    Place& place = places_[at];
    if (at > 0 && places_[at - 1].id == place.id) {
      ++trace_.skipped;  // an id that another node has
      continue;
    }
    const auto parent = std::lower_bound(
        places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(at), place.parent,
        [](const Place& one, std::uint64_t id) { return one.id < id; });
    if (place.parent < place.id && parent->id == place.parent) place.call = parent->call;
    if (place.node == none || !call_of(nodes_[place.node], {})) continue;
    if (place.call == none) {
      place.call = call_nodes.size();
      call_nodes.emplace_back();
      TracedCollective call;
      call.called = call.returned = static_cast<TraceTime>(at);
      trace_.collectives.push_back(std::move(call));
    }
    trace_.collectives[place.call].returned = static_cast<TraceTime>(at);
    call_nodes[place.call].push_back(place.node);
  }
  return call_nodes;
}

void Gathering::describe(const CallNodes& call_nodes) {
  // A file of a few bytes a call may list thousands of ranks for each.
  std::size_t ranks_left = std::size_t{1} << 24U;
  for (std::size_t i = 0; i < call_nodes.size(); ++i) {
    std::vector<std::size_t> by_preference = call_nodes[i];
    std::ranges::stable_sort(by_preference, {},
                             [&](std::size_t node) { return preference_of(nodes_[node]); });
    TracedCollective call;
    for (const std::size_t node : by_preference) {
      if (auto more = call_of(nodes_[node], groups_)) pytorch::complete(call, *std::move(more));
    }
    if (call.ranks.size() > ranks_left) call.ranks.clear();
    ranks_left -= call.ranks.size();
    call.called = trace_.collectives[i].called;
    call.returned = trace_.collectives[i].returned;
    trace_.collectives[i] = std::move(call);
  }
}

DeviceTrace Gathering::trace() {
  trace_.has_times = false;
  describe(find_calls());
  return std::move(trace_);
}

}  // namespace paceline::traces::execution_trace
