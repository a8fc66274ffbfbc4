#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/words.h"
#include "scenarios/claims/claim.h"
#include "scenarios/claims/trial.h"

namespace paceline::claims {

enum class Verdict { holds, holds_if, does_not_hold, cannot_be_told };

constexpr auto words_of(Verdict) {
  return words_up_to<Verdict::cannot_be_told>("holds", "holds if", "does not hold",
                                              "cannot be told");
}

// A set of conditions, given by values on one or two axes, at all of which a claim holds.
struct Where {
  std::string text;            // "latency is 5ms or more and gpus is 8"
  std::vector<bool> is_there;  // by trial
  std::size_t count = 0;       // of the trials that count and are there
};

// Finds the largest such set; among equal ones, that of fewer axes. nullopt where a claim holds
// nowhere. Precondition: trials of the whole grid.
[[nodiscard]] std::optional<Where> where_it_holds(const std::vector<ClaimAxis>& axes,
                                                  const std::vector<Trial>& trials);

struct Finding {
  Claim claim;
  std::vector<Trial> trials;
  std::size_t counted = 0, held = 0;  // trials
  std::optional<double> least, most;  // predicted; empty when no trial counts
  std::optional<Where> where;         // of those that it holds at some, but not all of
  Verdict verdict = Verdict::cannot_be_told;
  std::string reason;  // one line
};

// A claim holds if all trials that count do, and holds where some do and a range of conditions says
// where. What decides and is not modelled cannot be told, whatever was predicted.
[[nodiscard]] Finding judge(Claim claim, std::vector<Trial> trials);

// "50 % to 70 %", "3.00x or more".
[[nodiscard]] std::string to_text(Quantity quantity, const Range& range);

}  // namespace paceline::claims
