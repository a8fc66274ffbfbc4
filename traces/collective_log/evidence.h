#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/collectives/plan.h"

namespace paceline::traces {

// What the rows of a table say of their collective beside its times. nccl-tests print the operation
// of those that reduce, the root of those that have one, and as busbw what links carry: algbw times
// a factor of the collective and its ranks (nccl-tests, doc/PERFORMANCE.md).
struct Evidence {
  std::optional<bool> reduces;       // nullopt: no operation is printed
  std::optional<std::int64_t> root;  // -1: none; nullopt: not printed
  double bus_factor = 0;             // busbw / algbw; 0: not recorded
  double bus_factor_off = 0;         // at most, by the decimals of the two

  [[nodiscard]] bool says_something() const { return bus_factor > 0 || reduces || root; }
  // Adds another row's: the factor whose decimals tell most is kept.
  void take(const Evidence& row);
};

// What most rows of a table say, and whether one of them says no other factor.
[[nodiscard]] Evidence agreed(const std::vector<Evidence>& rows);
[[nodiscard]] bool agrees(const Evidence& row, const Evidence& table);

// Whether rows that say this may be of a collective on so many ranks; 0: not known.
[[nodiscard]] bool allows(const Evidence& evidence, collectives::Collective collective,
                          std::uint32_t ranks);

// Whether they may be of pairs that exchange (sendrecv_perf), whose factor is 1.
[[nodiscard]] bool allows_exchange(const Evidence& evidence);

// Of those that are allowed; none where the evidence says nothing of busbw.
[[nodiscard]] std::vector<collectives::Collective> may_be(const Evidence& evidence,
                                                          std::uint32_t ranks);

// "all_gather or all_to_all".
[[nodiscard]] std::string listed(const std::vector<collectives::Collective>& collectives);

// On how many ranks the collective has the factor; 0 where that is open, or there is none.
[[nodiscard]] std::uint32_t ranks_by_factor(const Evidence& evidence,
                                            collectives::Collective collective);

// Why not, as a message says it: "busbw is 0.875 of algbw, an all_reduce's on 8 GPUs 1.75".
// Precondition: not allowed.
[[nodiscard]] std::string why_not(const Evidence& evidence, collectives::Collective collective,
                                  std::uint32_t ranks);

}  // namespace paceline::traces
