#include "scenarios/report/contradictions_json.h"

#include <nlohmann/json.hpp>

namespace paceline {

nlohmann::ordered_json json_of(const FoundContradiction& found) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array(),
                         causes = nlohmann::ordered_json::array();
  for (const auto& row : found.rows) {
    rows.push_back({{"point", row.point}, {"known", row.known}, {"times", row.times}});
  }
  for (const auto& cause : found.explained_by) {
    causes.push_back(
        {{"cause", to_text(cause.kind)}, {"value", cause.value}, {"words", cause.words}});
  }
  return {{"rows", std::move(rows)}, {"explained_by", std::move(causes)}};
}

}  // namespace paceline
