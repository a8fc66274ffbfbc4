#include "scenarios/report/page/page.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <stdexcept>

#include "models/contract.h"
#include "models/shipped_file.h"
#include "scenarios/build_label.h"

namespace paceline {

// Each of one file, embedded by scenarios/CMakeLists.txt.
std::span<const ShippedFile> shipped_page_template();
std::span<const ShippedFile> shipped_page_script();
std::span<const ShippedFile> shipped_page_style();

namespace page {
namespace {

using nlohmann::ordered_json;

// Parsed first: what is not JSON would leave the whole page empty.
ordered_json json_of(const Document& document) {
  try {
    return {{"name", document.name}, {"content", ordered_json::parse(document.json)}};
  } catch (const ordered_json::parse_error& error) {
    throw std::invalid_argument(document.name + " is not JSON: " + error.what());
  }
}

// Inside a script element "</script" would end it, and "<!--" change how its end is found. In JSON
// "<" stands in strings alone, where it may be spelled as an escape (HTML Living
// Standard, 4.12.1.3, "Restrictions for contents of script elements").
std::string inside_script(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

std::string inside_element(std::string_view plain) {
  std::string text;
  for (const char c : plain) {
    switch (c) {
      case '<': text += "&lt;"; break;
      case '>': text += "&gt;"; break;
      case '&': text += "&amp;"; break;
      default: text += c;
    }
  }
  return text;
}

std::string made_by() {
  return "paceline " + std::string(build_label.version) + " (" + std::string(build_label.commit) +
         ")";
}

std::string payload_of(const Contents& contents) {
  ordered_json documents = ordered_json::array();
  for (const Document& document : contents.documents) documents.push_back(json_of(document));
  const ordered_json all{
      {"schema", "paceline.report/1"},
      {"title", contents.title},
      {"command", contents.command},
      {"made_by", made_by()},
      {"scenario", contents.scenario ? ordered_json(*contents.scenario) : ordered_json()},
      {"documents", std::move(documents)}};
  return inside_script(all.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

// The title as UTF-8, by way of JSON, which replaces what is not.
std::string title_of(const Contents& contents) {
  const ordered_json title = contents.title;
  const std::string dumped = title.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return inside_element(ordered_json::parse(dumped).get<std::string>());
}

}  // namespace

std::string_view template_text() { return shipped_page_template().front().text; }
std::string_view script_text() { return shipped_page_script().front().text; }
std::string_view style_text() { return shipped_page_style().front().text; }

void write_page(std::ostream& out, const Contents& contents) {
  const std::string title = title_of(contents), payload = payload_of(contents);
  const struct {
    std::string_view mark, text;
  } parts[] = {{"{{title}}", title},
               {"{{css}}", style_text()},
               {"{{payload}}", payload},
               {"{{js}}", script_text()}};
  // In the template's order, each once: what is filled in is not looked at again.
  std::string_view left = template_text();
  for (const auto& [mark, text] : parts) {
    const auto at = left.find(mark);
    PACELINE_EXPECTS(at != std::string_view::npos);
    out << left.substr(0, at) << text;
    left.remove_prefix(at + mark.size());
  }
  out << left;
}

}  // namespace page
}  // namespace paceline
