#pragma once

#include <cstdint>

namespace paceline::traces {

// Ranks of a traced run: none that anyone has traced had more. A file that says more is refused
// before anything is made as large as it says.
inline constexpr std::uint32_t traced_ranks_most = 65'536;

}  // namespace paceline::traces
