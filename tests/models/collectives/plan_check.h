#pragma once

#include <optional>
#include <string>

#include "models/collectives/plan.h"

namespace paceline::collectives {

// Follows every element of a plan symbolically: which ranks' contributions each rank holds.
// Elements that all transfers of the plan treat alike are followed together.
//
// Returns nullopt when the plan is right, else one sentence that names channel, round and rank.
// Right means: at the end every rank that should hold a result holds each due contribution exactly
// once; no rank sends what it does not hold at that point (arrivals of the last window-1 rounds do
// not count), nor elements that are still arriving; nothing is added twice; sends and sources
// agree; endpoints and ranges exist; no element is moved by two channels. Servers and switches hold
// nothing at first, may add to that, and may end with anything; a switch has only ranks of its node
// to send to and to hear from, and loses what it sends.
// Cost: O(transfers * distinct ranges * ranks / 64); meant for tests and up to some hundred ranks.
[[nodiscard]] std::optional<std::string> find_fault(const Plan& plan);

// False only where one of the two is a switch, and the other no rank, or none of its node.
[[nodiscard]] bool joins(const Plan& plan, Rank from, Rank to);

// What each endpoint sends in the whole plan.
[[nodiscard]] std::vector<ElementCount> elements_sent(const Plan& plan);

// Transfers of at least one element in the whole plan.
[[nodiscard]] std::uint64_t transfer_count(const Plan& plan);

}  // namespace paceline::collectives
