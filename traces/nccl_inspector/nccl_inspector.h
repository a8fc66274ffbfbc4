#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/collective_log/collective_log.h"

// What NCCL's inspector writes (ext-profiler/inspector of NCCL 2.28, output format v4.0): a JSON
// object a line for each collective that a rank has ended, a file a process. A rank's time holds
// its waiting for others: files of all ranks, joined, part the two.
namespace paceline::traces {

// A collective on one rank.
struct InspectedCall {
  std::size_t line = 0;
  std::string communicator;  // its id
  std::uint32_t rank = 0, ranks = 0, nodes = 0;
  collectives::Collective collective{};
  std::uint64_t sequence = 0;  // of its kind, in its communicator
  Bytes size;                  // of the whole buffer
  Seconds time;
  // Of its metadata, where these are: when it was written, and on which host.
  std::optional<std::uint64_t> dumped_us = std::nullopt;
  std::string host = {};
};

struct InspectedFile {
  std::vector<InspectedCall> calls;  // in the order of lines
  std::vector<CollectiveLog::Skipped> skipped;
};

// A text with a line that begins an object, whatever was put before it, and with the inspector's
// keys in its first 64 KiB.
[[nodiscard]] bool is_nccl_inspector(std::string_view text);

// An object may take several lines, as tools print JSON for people, and stand in a list. Those that
// break off, or cannot be measurements, are skipped; objects of other kinds than
// collectives are passed over. Throws FormatError, with the line, where a communicator has more
// than traced_ranks_most ranks (traces/device_trace/limits.h), or nothing is a collective.
//
// The inspector counts the bytes of one rank's share of all-gathers and reduce-scatters; whether a
// size is of a share or of the whole follows from its bandwidth, which is of the whole.
[[nodiscard]] InspectedFile parse_nccl_inspector(std::string_view text);

// A table for each kind, number of ranks and number of nodes, with a row for each size: the median
// over calls, of which each takes as long as on the rank that was in it shortest. A call on several
// ranks is one by communicator, kind and number. Notes say how many calls lack ranks, and which
// communicators of a table were on one host at the same time.
[[nodiscard]] std::vector<CollectiveLog> joined_logs(const std::vector<InspectedFile>& files);

[[nodiscard]] std::unique_ptr<JoinedLog> join_nccl_inspector();

}  // namespace paceline::traces
