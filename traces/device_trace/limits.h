#pragma once

#include <cstdint>
#include <string>

namespace paceline::traces {

// Ranks of a traced run: none that anyone has traced had more. A file that says more is refused
// before anything is made as large as it says.
inline constexpr std::uint32_t traced_ranks_most = 65'536;

// "100000, more than the 65536 that a run may have", for messages.
[[nodiscard]] inline std::string more_than_a_run_has(std::uint64_t ranks) {
  return std::to_string(ranks) + ", more than the " + std::to_string(traced_ranks_most) +
         " that a run may have";
}

}  // namespace paceline::traces
