#include "traces/collective_log/collective_log.h"

#include "traces/text/lines.h"

namespace paceline::traces {

Comment comment_of(const std::vector<std::string_view>& words) {
  Comment said;
  if (words.size() < 3 || words[0] != "#") return said;
  const auto number = number_of<std::uint32_t>(words[2]);
  if (number && *number > 0 && *number <= ranks_most) {
    if (words[1] == "GPUs:") said.ranks = number;
    if (words[1] == "nodes:") said.nodes = number;
  }
  if (words[1] == "collective:") said.collective = from_text<collectives::Collective>(words[2]);
  return said;
}

}  // namespace paceline::traces
