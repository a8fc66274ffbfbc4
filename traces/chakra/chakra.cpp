#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "traces/chakra/node.h"
#include "traces/device_trace/readers.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using chakra::File;
using chakra::Node;
using chakra::Role;

DeviceTrace::Work work_of(Role role) {
  if (role == Role::copy) return DeviceTrace::Work::copy;
  return role == Role::set ? DeviceTrace::Work::set : DeviceTrace::Work::kernel;
}

class Launches {
 public:
  explicit Launches(const File& file) {
    for (const Node& node : file.nodes) {
      if (node.role == Role::host) starts_.emplace(node.id, node.start);
    }
  }

  [[nodiscard]] std::optional<TraceTime> of(const Node& node) const {
    std::optional<TraceTime> latest;
    for (const auto* deps : {&node.data_deps, &node.ctrl_deps}) {
      for (const std::uint64_t id : *deps) {
        const auto found = starts_.find(id);
        if (found != starts_.end() && (!latest || *latest < found->second)) {
          latest = found->second;
        }
      }
    }
    return latest;
  }

 private:
  std::unordered_map<std::uint64_t, TraceTime> starts_;
};

TraceTime time_zero(const File& file) {
  TraceTime earliest = std::numeric_limits<TraceTime>::max();
  for (const Node& node : file.nodes) earliest = std::min(earliest, node.start);
  return file.origin ? std::min(earliest, *file.origin) : earliest;
}

// What Chakra's feeder also takes: nodes without sizes of collectives.
bool is_graph_in_json(std::string_view text) {
  if (!begins_as_json(text)) return false;
  const auto inside = behind(text, "{");
  const std::size_t first = inside ? inside->find_first_not_of(" \t\r\n") : text.npos;
  return first != text.npos && inside->substr(first).starts_with("\"workload_graph\"");
}

DeviceTrace trace_of(File file) {
  DeviceTrace trace;
  trace.rank = file.rank;
  trace.world_size = file.world_size;
  trace.events = file.nodes.size();
  const TraceTime zero = time_zero(file);
  const Launches launches(file);
  for (const Node& node : file.nodes) {
    const TraceTime start = node.start, end = start + node.duration;
    if (node.role == Role::host) continue;
    const auto launched = launches.of(node);
    if (node.role != Role::collective) {
      trace.tasks.push_back({start, end, node.stream, work_of(node.role), launched, node.name});
      continue;
    }
    TracedCollective call = std::move(file.calls[node.call]);
    call.called = call.returned = launched.value_or(start);
    call.device = {start, end};
    // Without groups all ranks are one.
    if (call.group.empty()) call.group_size = file.world_size;
    trace.collectives.push_back(std::move(call));
  }
  trace.names = std::move(file.names);
  count_from(trace, zero);
  return trace;
}

}  // namespace

bool is_chakra(std::string_view bytes) {
  return is_graph_in_json(bytes) || chakra::begins_as_file(bytes);
}

DeviceTrace read_chakra(std::string_view bytes) {
  if (is_graph_in_json(bytes)) {
    throw FormatError(0, "is a Chakra graph in JSON, which is not read",
                      "give the .et of Protocol Buffers that it was made of");
  }
  File file = chakra::parse_file(bytes);
  if (!file.has_starts) chakra::schedule(file);
  return trace_of(std::move(file));
}

}  // namespace paceline::traces
