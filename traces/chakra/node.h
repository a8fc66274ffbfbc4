#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces::chakra {

enum class Role : std::uint8_t { host, kernel, copy, set, collective };

struct Node {
  std::uint64_t id;
  std::uint32_t name;  // in File::names
  Role role;
  std::uint32_t stream = 0;  // on the host its thread
  TraceTime start = 0;       // 0 where it is not recorded
  TraceTime duration = 0;
  std::uint32_t call = 0;                                     // in File::calls, of a collective
  std::vector<std::uint64_t> data_deps = {}, ctrl_deps = {};  // ids
};

struct File {
  std::optional<Rank> rank;
  std::uint32_t world_size = 0;
  std::optional<TraceTime> origin;  // the moment that is time 0
  std::vector<std::string> names;
  std::vector<Node> nodes;  // in the order of the file
  std::vector<TracedCollective> calls;
  bool has_starts = false;
};

// A message that is Metadata, alone or before a message that is a Node.
[[nodiscard]] bool begins_as_file(std::string_view bytes);

// Throws FormatError, with the byte or the node in its message, for what is cut off, no message or
// longer than schema.h allows, and for a node without an id or an id twice.
[[nodiscard]] File parse_file(std::string_view bytes);

// Gives every node the earliest start that its dependencies allow, from 0 on. Nodes are walked in
// the order of their ids as far as dependencies allow, so that the same file has the same times. A
// node waits
//   - for the end of its data_deps;
//   - for that of its ctrl_deps, the calls that it is inside of: converters split those into parts
//     before and after it, so a node may wait for itself. Where no node can go on, the lowest id
//     whose data_deps are done does not wait for these; nor does any for those that the file lacks;
//   - for the one before it on its stream, or its thread of the host, in the order of the walk.
// Throws FormatError for data_deps that the file lacks or that wait for each other, naming nodes,
// and for what ends later than a trace can.
void schedule(File& file);

}  // namespace paceline::traces::chakra
