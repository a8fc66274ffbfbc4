#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/device_trace/device_trace.h"
#include "traces/execution_trace/node.h"

namespace paceline::traces::execution_trace {

// A process group, as the trace's "## process_group:init ##" tells it.
struct Group {
  std::string name;
  std::string number;  // of its backend, by which files of before 1.1.0 name it; may be empty
  bool is_whole_world = false;
  std::uint32_t size = 0;   // 0: not recorded
  std::vector<Rank> ranks;  // as far as they are listed
};

// What one node records of a collective, times left at 0; nullopt for a node that is no call: those
// that wait for one, and all names but record_param_comms, nccl:... and c10d::...
[[nodiscard]] std::optional<TracedCollective> call_of(const Node& node,
                                                      const std::vector<Group>& groups);

// Which of the nodes of one call records most: record_param_comms 0, then nccl:..., then c10d::...
[[nodiscard]] int preference_of(const Node& node);

}  // namespace paceline::traces::execution_trace
