#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/device_trace/device_trace.h"
#include "traces/execution_trace/node.h"
#include "traces/execution_trace/recorded_calls.h"

namespace paceline::traces::execution_trace {

// Turns nodes, in any order, into a trace. What nodes have stays where it is until the end.
class Gathering {
 public:
  void take(const Node& node);
  void take_broken() { ++trace_.events, ++trace_.skipped; }  // an element that is no node
  void take_group(Group group);

  // Precondition: once.
  [[nodiscard]] DeviceTrace trace();

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Place {
    std::uint64_t id, parent;  // a parent of 0 is none
    std::size_t node;          // in nodes_, of those that record a collective
    std::size_t call = none;   // the one that it is, or is inside of
  };
  // Of the calls of trace_, the nodes that record each.
  using CallNodes = std::vector<std::vector<std::size_t>>;

  [[nodiscard]] CallNodes find_calls();
  void describe(const CallNodes& call_nodes);

  DeviceTrace trace_;
  std::vector<Place> places_;
  std::vector<Node> nodes_;
  std::vector<Group> groups_;
};

}  // namespace paceline::traces::execution_trace
