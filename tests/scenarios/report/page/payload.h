#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace paceline::test {

// What a page of scenarios/report/page shows.
inline nlohmann::json payload_of(const std::string& page) {
  constexpr std::string_view begin = R"(id="paceline-report">)";
  const auto at = page.find(begin);
  if (at == std::string::npos) throw std::runtime_error("no page");
  const auto first = at + begin.size();
  return nlohmann::json::parse(page.substr(first, page.find("</script>", first) - first));
}

// Of its documents the one of that schema.
inline nlohmann::json document_of(const std::string& page, const std::string& schema) {
  const nlohmann::json payload = payload_of(page);
  for (const auto& document : payload.at("documents")) {
    if (document.at("content").at("schema") == schema) return document.at("content");
  }
  throw std::runtime_error("no document of " + schema);
}

}  // namespace paceline::test
