#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/collectives/plan.h"

namespace paceline::traces {

// What one of the comments says that may stand before any table: "# GPUs: 8", "# nodes: 1" or
// "# collective: all_reduce". Nothing of what it does not say.
struct Comment {
  std::optional<std::uint32_t> ranks, nodes;  // above 0
  std::optional<collectives::Collective> collective;

  friend bool operator==(const Comment&, const Comment&) = default;

  [[nodiscard]] bool says_something() const { return ranks || nodes || collective; }
};

[[nodiscard]] Comment comment_of(const std::vector<std::string_view>& words);

// More are a slip: no such group was ever measured.
inline constexpr std::uint32_t ranks_most = 1'000'000;

}  // namespace paceline::traces
