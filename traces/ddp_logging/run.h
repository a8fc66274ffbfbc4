#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/units/units.h"
#include "traces/ddp_logging/reports.h"

namespace paceline::traces::ddp_logging {

// Of one rank. What torch did not measure, without a backward pass or under no_sync, is absent.
struct RankTimes {
  std::optional<Seconds> forward;        // to the start of the backward
  std::optional<Seconds> backward;       // to its last gradient
  std::optional<Seconds> communication;  // the first bucket's start to the last one's end
  std::optional<Seconds> overlap;        // the first bucket's start to the last gradient

  // Overlap is a part of communication.
  [[nodiscard]] bool is_contradictory() const;
  // Communication after the backward; nullopt where that is not told.
  [[nodiscard]] std::optional<Seconds> exposed() const;
};

struct RankReport {
  std::optional<std::uint64_t> iteration;
  RankTimes average, last;
};

// What the reports of a run's ranks say together, the later ones of a rank over the earlier.
struct Run {
  std::optional<std::uint64_t> world_size, tensors;
  std::optional<Bytes> gradients, bucket_cap, first_bucket, unused;
  std::string module, library, types, hook;
  std::vector<Bytes> first_buckets, rebuilt_buckets;
  std::optional<bool> find_unused_parameters, gradient_as_bucket_view, static_graph,
      broadcast_buffers;
  std::map<std::optional<std::uint32_t>, RankReport> ranks;  // nullopt: not told
  std::size_t runs = 0;                                      // in the text; the last is here
  std::size_t cut_off = 0, mixed = 0, unreadable = 0;
};

// Throws FormatError where there is no report, or of more ranks than traced_ranks_most.
[[nodiscard]] Run run_of(const Reports& reports);

}  // namespace paceline::traces::ddp_logging
