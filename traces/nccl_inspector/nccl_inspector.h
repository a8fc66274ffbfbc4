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
// object per collective that a rank has ended, a file per process. A rank's time holds its waiting
// for others: files of all ranks, joined, part the two.
namespace paceline::traces {

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

// Whether a line begins an object, and the first 64 KiB have the inspector's keys.
[[nodiscard]] bool is_nccl_inspector(std::string_view text);

// An object may take several lines, and stand in a list. Those that break off, or cannot be
// measurements, are skipped; other kinds than collectives passed over. Throws FormatError, with the
// line, where a communicator has more than traced_ranks_most ranks, or nothing is a collective.
//
// The inspector counts the bytes of one rank's share of all-gathers and reduce-scatters; whether a
// size is of a share or of the whole follows from its bandwidth, which is of the whole.
[[nodiscard]] InspectedFile parse_nccl_inspector(std::string_view text);

// A table for each kind, number of ranks and of nodes, with a row for each size: the median over
// calls, each as long as on its quickest rank. A call on several ranks is one by communicator, kind
// and number. Notes count calls that lack ranks, and name communicators that shared a host at a
// time.
[[nodiscard]] std::vector<CollectiveLog> joined_logs(const std::vector<InspectedFile>& files);

[[nodiscard]] std::unique_ptr<JoinedLog> join_nccl_inspector();

}  // namespace paceline::traces
