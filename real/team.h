#pragma once

#include <string>
#include <vector>

#include "real/backend.h"

namespace paceline::real {

// Control messages between the ranks of a run, apart from the traffic that is measured.
class Team : public Meeting {
 public:
  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual RankCount size() const = 0;
  // Rank 0's text, at every rank.
  [[nodiscard]] virtual std::string broadcast(std::string text) = 0;
  // All texts in rank order at rank 0; nothing elsewhere.
  [[nodiscard]] virtual std::vector<std::string> gather(std::string text) = 0;
  [[nodiscard]] std::vector<std::string> all_gather(std::string text) final;
  // By how much rank 0's steady clock is ahead of this rank's, and how wrong that may be.
  [[nodiscard]] virtual Seconds clock_offset() const = 0;
  [[nodiscard]] virtual Seconds clock_error() const = 0;
  // The local address over which the others were reached; empty where there is none.
  [[nodiscard]] virtual std::string address() const = 0;
};

}  // namespace paceline::real
