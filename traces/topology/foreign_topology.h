#pragma once

#include <string>
#include <string_view>

namespace paceline::traces {

// What another tool printed that shows a node: "is what rocm-smi --showtopo prints"; empty where
// the text is none that is known.
[[nodiscard]] std::string foreign_topology(std::string_view text);

}  // namespace paceline::traces
