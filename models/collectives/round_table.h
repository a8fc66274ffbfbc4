#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/collectives/plan.h"

namespace paceline::collectives {

// One round written out for all endpoints of a plan, for executors that follow every one: what the
// round's functions say, asked once and indexed from both ends.
class RoundTable {
 public:
  struct Transfer {
    Rank from;
    Rank to;
    ChunkRule chunk;
    Arrival arrival;
  };

  // `endpoints`: those of the plan, its servers included.
  RoundTable(const Round& round, RankCount endpoints);

  [[nodiscard]] std::uint64_t repeats() const { return repeats_; }
  [[nodiscard]] std::span<const Transfer> transfers() const { return transfers_; }
  // Indices into transfers().
  [[nodiscard]] std::span<const std::uint32_t> sent_by(Rank rank) const {
    return row(sends_, send_begin_, rank);
  }
  [[nodiscard]] std::span<const std::uint32_t> received_by(Rank rank) const {
    return row(arrivals_, arrival_begin_, rank);
  }

 private:
  static std::span<const std::uint32_t> row(const std::vector<std::uint32_t>& entries,
                                            const std::vector<std::uint32_t>& begin, Rank rank) {
    const std::uint32_t first = begin[index(rank)];
    return std::span(entries).subspan(first, begin[index(rank) + 1] - first);
  }

  std::uint64_t repeats_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> sends_, send_begin_;        // sends_ of rank r from send_begin_[r]
  std::vector<std::uint32_t> arrivals_, arrival_begin_;  // likewise
};

}  // namespace paceline::collectives
